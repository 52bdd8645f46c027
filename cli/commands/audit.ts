import { printable } from '../../domain/printable-text.ts';
import type { AuditEntryRecord, ListAuditEntriesQuery } from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, type OptionsFor, TIME_OPTIONS } from '../command.ts';
import { EXIT_CODES } from '../failure.ts';
import { runAdministration } from '../host/commands.ts';
import { alignedLines } from '../output.ts';
import type { Session } from '../session.ts';
import { EXPORT_NOTES, OUTPUT_OPTION, type OutputOption, showExport } from './export.ts';

const VERIFY_NOTES = `
Runs on the service's host, with the service's settings, whether it
is running or not; with --remote, it asks a running service. Exits with 1 if an
entry was changed or removed.

Store the printed position and head elsewhere. With --expect <head>, the
command also detects that the latest entries were removed together with the
head of the log.`;

type VerifyOptions = { readonly expect?: string; readonly remote?: boolean };

type Filters = Omit<ListAuditEntriesQuery, 'limit' | 'cursor'>;

const FILTER_OPTIONS: OptionsFor<Filters> = {
  action: { flag: '--action <name>', help: 'filter by action, such as change_switch' },
  actor: { flag: '--actor <actor>', help: 'filter by who did it: key_..., per_..., host' },
  program_id: { flag: '--program <program_id>', help: 'filter by card program' },
  ...TIME_OPTIONS,
};

export const addAudit: AddCommands = (program, context) => {
  const audit = program.command('audit').description('the log of operator actions and rejected credentials');
  addList<AuditEntryRecord, Filters>(audit, context, {
    name: 'list',
    description: 'list audit entries, newest first',
    options: FILTER_OPTIONS,
    columns: ['position', 'created_at', 'actor', 'action', 'program_id', 'subject_id'],
    list: (service, query) => service.audit.list(query),
    empty: { text: 'No audit entries.', filtered: [['all entries', 'audit list']] },
  });
  addCommand<Filters & OutputOption>(audit, context, {
    name: 'export',
    description: 'export audit entries as CSV, oldest first',
    options: { ...FILTER_OPTIONS, ...OUTPUT_OPTION },
    notes: EXPORT_NOTES,
    run: (session, { output, ...filters }) => showExport(session, output, () => session.service.audit.export(filters)),
  });
  addCommand<VerifyOptions>(audit, context, {
    name: 'verify',
    description: 'verify that no entry has been changed or removed',
    options: {
      expect: { flag: '--expect <hash>', help: 'a hash that was printed earlier and must be in the log' },
      remote: { flag: '--remote', help: "over the API, with an operator's key", conflicts: ['expect'] },
    },
    notes: VERIFY_NOTES,
    run: (session, { expect, remote }) => {
      if (remote === true) return verifyRemotely(session);
      return runAdministration(session, 'verify-audit', ...(expect === undefined ? [] : [expect]));
    },
  });
};

/** Verifies portion by portion until the end of the log, or until something is wrong. */
async function verifyRemotely({ service, showText, exitWith }: Session): Promise<void> {
  let entries = 0;
  let portion = await service.audit.verify();
  entries += portion.verified;
  while (portion.intact && portion.next_after !== null) {
    portion = await service.audit.verify({ after: portion.next_after });
    entries += portion.verified;
  }
  const { position, hash, first_broken: broken } = portion;
  const end = alignedLines([
    ['entries', String(entries)],
    ['position', String(position)],
    ['head', hash],
  ]);
  showText({ ...portion, verified: entries }, broken === null ? end : `${end}\n${printable(broken.message)}\n`);
  if (broken !== null) exitWith(EXIT_CODES.requestError);
}
