import type { AuditEntryRecord, ListAuditEntriesQuery } from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, TIME_OPTIONS } from '../command.ts';
import { runAdministration } from '../host.ts';

const VERIFY_NOTES = `
Runs on the host of the service, with the settings of the service, whether it
is running or not. Exits with 1 if an entry was changed or removed.

Store the printed position and head elsewhere. With --expect <head>, the
command also detects that the latest entries were removed together with the
head of the log.`;

/** Adds `audit list | verify`. */
export const addAudit: AddCommands = (program, context) => {
  const audit = program.command('audit').description('the log of operator actions and rejected credentials');
  addList<AuditEntryRecord, Omit<ListAuditEntriesQuery, 'limit' | 'cursor'>>(audit, context, {
    name: 'list',
    description: 'list audit entries, newest first',
    options: { action: { flag: '--action <name>', help: 'filter by action, such as change_switch' }, ...TIME_OPTIONS },
    columns: ['position', 'created_at', 'actor', 'action', 'program_id', 'subject_id'],
    list: (service, query) => service.audit.list(query),
  });
  addCommand<{ readonly expect?: string }>(audit, context, {
    name: 'verify',
    description: 'verify that no entry was changed or removed',
    options: { expect: { flag: '--expect <hash>', help: 'a head that was printed earlier and must be in the log' } },
    notes: VERIFY_NOTES,
    run: ({ exitWith }, { expect }) =>
      exitWith(runAdministration('verify-audit', ...(expect === undefined ? [] : [expect]))),
  });
};
