import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Check } from '../../domain/doctor-check.ts';
import { printable } from '../../domain/printable-text.ts';
import { placeOf } from '../../installation.mjs';
import { InvalidArgument } from '../../sdk/client.ts';
import { type AddCommands, addCommand, type OptionsFor } from '../command.ts';
import type { Section } from '../doctor/examine.ts';
import { EXIT_CODES, isOnThisMachine } from '../failure.ts';
import { wrap } from '../output.ts';
import { bad, good, strong, warning } from '../paint.ts';
import type { Session } from '../session.ts';

type DoctorOptions = { readonly host?: boolean; readonly remote?: boolean; readonly claims?: string };

const OPTIONS: OptionsFor<DoctorOptions> = {
  host: { flag: '--host', help: "also check the service's host (default if the URL is on this machine)" },
  remote: { flag: '--remote', help: 'check only what can be checked from here', conflicts: ['host'] },
  claims: {
    flag: '--claims <file>',
    help: 'also say which roles a person with this token, or these claims as JSON, would have',
    conflicts: ['remote'],
  },
};

const NOTES = `
Checks this machine, the connection, what responds at the URL, and the key.
On the service's host it also checks the settings, port, data directory,
database, schema, operator key, approvers, backups and OpenID provider, with the
settings of this shell. It changes nothing. Exits with 1 if there is a problem,
but not for warnings.`;

const MARKS: Readonly<Record<Check['outcome'], string>> = {
  ok: good('ok'.padEnd(7)),
  warning: warning('warning'),
  problem: bad('problem'),
};

/** The width of a check's outcome and name, which come before its message. */
const NAME_WIDTH = 16;
const INDENT = ' '.repeat('problem  '.length);

export const addDoctor: AddCommands = (program, context) =>
  addCommand<DoctorOptions>(program, context, {
    name: 'doctor',
    description: 'check the connection, the key and the service, and say what to do',
    options: OPTIONS,
    notes: NOTES,
    run: async (session, { host = false, remote = false, claims }) => {
      const { url, json, write, showText, exitWith } = session;
      // Loaded on demand: no other command opens its own sockets.
      const { examine } = await import('../doctor/examine.ts');
      const withHost = host || claims !== undefined || (!remote && isOnThisMachine(url));
      const sections: Section[] = [];
      for await (const section of examine(session, session.hasKey, { withHost, claims })) {
        sections.push(section);
        if (!json) write(textOf(section, sections.length === 1, session));
      }
      const checks = sections.flatMap((section) => section.checks);
      const count = (outcome: Check['outcome']) => checks.filter((check) => check.outcome === outcome).length;
      const [problems, warnings] = [count('problem'), count('warning')];
      const summary = `\n${plural(problems, 'problem')}, ${plural(warnings, 'warning')}, ${count('ok')} ok\n`;
      showText({ problems, warnings, sections }, summary);
      if (problems > 0) exitWith(EXIT_CODES.requestError);
    },
  });

function plural(count: number, word: string): string {
  return `${count === 0 ? 'no' : count} ${word}${count === 1 ? '' : 's'}`;
}

function textOf({ name, checks }: Section, isFirst: boolean, session: Session): string {
  const lines = checks.map((check) => {
    const label = `${check.name}:`.padEnd(NAME_WIDTH);
    const indent = `${INDENT}${' '.repeat(NAME_WIDTH)} `;
    const [first = '', ...rest] = wrap(printable(check.message), `${INDENT}${label} `, indent, session.width ?? 80)
      .trimEnd()
      .split('\n');
    const page = check.runbook === null ? [] : [`${indent}${runbookOf(check, check.runbook, session, name)}`];
    return [`${MARKS[check.outcome]}  ${first.slice(INDENT.length)}`, ...rest, ...page, ''].join('\n');
  });
  return `${isFirst ? '' : '\n'}${strong(name)}\n${lines.join('')}`;
}

/** If the service responds, it serves the runbook. Otherwise, this program prints the pages. */
function runbookOf({ name }: Check, path: string, { url, command }: Session, section: string): string {
  const page = printable(pageOf(path));
  return section === 'Service' && name !== 'service'
    ? `Runbook: ${url}/guides/runbook/${page}`
    : `Runbook: ${command} runbook ${page}`;
}

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
