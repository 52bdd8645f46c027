import type { RequestRecord } from '../../../sdk/client.ts';
import { type AddCommands, addCommand } from '../../command.ts';
import { alignedLines, pairsOf, printable, table } from '../../output.ts';

const NOTES = `
Finds what a request did by its id, whether it succeeded or failed. The request
id is in the Request-Id header of every response. What succeeds and changes
nothing, such as a read, leaves nothing to find.`;

/** Adds `requests show`. */
export const addRequests: AddCommands = (program, context) => {
  const requests = program.command('requests').description('what a request did, and whether money moved');
  addCommand(requests, context, {
    name: 'show <request_id>',
    argument: 'request id of the response, req_...',
    description: 'show what a request did; for operators',
    notes: NOTES,
    run: async ({ service, showText }, _, requestId) => {
      const record = await service.requests.get(requestId);
      showText(record, describe(record));
    },
  });
};

function describe({ summary, error, transfers, reversals, events, audit_entries, ...rest }: RequestRecord): string {
  const section = (title: string, rows: string): string => (rows === '' ? '' : `\n${title}\n${rows}`);
  return [
    `${printable(summary)}\n\n`,
    alignedLines(pairsOf(rest)),
    section('Error', error === null ? '' : alignedLines(pairsOf({ ...error, causes: undefined }))),
    section(
      'Transfers',
      transfers.length === 0
        ? ''
        : table(['transfer_id', 'type', 'amount', 'currency', 'status', 'card_id'], transfers),
    ),
    section(
      'Reversals',
      reversals.length === 0 ? '' : table(['reversal_id', 'transfer_id', 'amount', 'currency'], reversals),
    ),
    section('Events', events.length === 0 ? '' : table(['event_id', 'type', 'subject_id', 'created_at'], events)),
    section(
      'Audit log',
      audit_entries.length === 0 ? '' : table(['position', 'actor', 'action', 'subject_id'], audit_entries),
    ),
  ].join('');
}
