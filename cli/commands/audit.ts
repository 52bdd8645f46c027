import type { Command } from 'commander';
import type { AuditEntryRecord } from '../../sdk/client.ts';
import { administer } from '../host.ts';
import type { Column } from '../output.ts';
import {
  type AddCommands,
  addPageOptions,
  addTimeOptions,
  openSession,
  type PageOptions,
  showList,
} from '../session.ts';

type ListOptions = PageOptions & { readonly action?: string; readonly from?: string; readonly to?: string };

const COLUMNS: readonly Column<AuditEntryRecord>[] = [
  { heading: 'position', show: (entry) => String(entry.position), right: true },
  { heading: 'created_at', show: (entry) => entry.created_at },
  { heading: 'actor', show: (entry) => entry.actor },
  { heading: 'action', show: (entry) => entry.action },
  { heading: 'program_id', show: (entry) => entry.program_id },
  { heading: 'subject_id', show: (entry) => entry.subject_id },
];

const NOTED = `
It works on the database, on the host of the service and with its settings,
while the service runs or not. It ends with 1 if anything was changed or
removed.
What it prints as position and head, keep somewhere else: --expect <head> tells
whether that entry is still there. Without it, entries that were cut off at the
end go unseen when the head of the log was set back with them.`;

/** Adds `audit list | verify`. */
export const addAudit: AddCommands = (program, surroundings) => {
  const noun = program.command('audit').description('what operators did, and which keys were refused');
  const list = noun
    .command('list')
    .description('list it, newest first')
    .option('--action <name>', 'only this action, such as change_switch');
  addPageOptions(addTimeOptions(list, 'what was done')).action(async (options: ListOptions, command: Command) => {
    const session = openSession(command, surroundings);
    const filter = { action: options.action, created_from: options.from, created_to: options.to };
    await showList(session, COLUMNS, options, (page) => session.service.audit.list({ ...filter, ...page }));
  });
  noun
    .command('verify')
    .description('prove that no entry was changed or removed')
    .option('--expect <hash>', 'a head that was noted earlier: the log must still hold it')
    .addHelpText('after', NOTED)
    .action(({ expect }: { expect?: string }) => {
      surroundings.endWith(administer('verify-audit', ...(expect === undefined ? [] : [expect])));
    });
};
