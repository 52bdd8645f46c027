import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { placeOf } from '../../installation.mjs';
import { InvalidArgument } from '../../sdk/client.ts';
import type { AddCommands } from '../command.ts';

const PAGES = placeOf('docs/runbook');

/** Adds `runbook`. Its pages come with this program, so they can be read in a container or where no service runs. */
export const addRunbook: AddCommands = (program, { write }) => {
  program
    .command('runbook')
    .description('print a page of the runbook, without a request to the service')
    .argument('<page>', 'the page that a message names, such as disk-full')
    .addHelpText('after', '\nThe page README lists all pages, with the messages that they explain.')
    .action((page: string) => {
      const names = readdirSync(PAGES).map((file) => file.replace(/\.md$/, ''));
      if (!names.includes(page)) throw new InvalidArgument(`there is no page '${page}'; README lists all of them`);
      write(readFileSync(join(PAGES, `${page}.md`), 'utf8'));
    });
};

/** The name of a page, from its path in the project. Other text, which only another service can send, is returned unchanged. */
export function pageOf(path: string): string {
  return path.replace(/^docs\/runbook\/([a-z-]+)\.md$/, '$1');
}
