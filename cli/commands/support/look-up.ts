import { printable } from '../../../domain/printable-text.ts';
import type {
  InspectedErrorRecord,
  LoggedErrorRecord,
  ProgramRequestRecord,
  RequestRecord,
  SearchQuery,
  SearchResults,
} from '../../../sdk/client.ts';
import { type AddCommands, addCommand, TIME_OPTIONS } from '../../command.ts';
import { alignedLines, money, pairsOf, table } from '../../output.ts';
import { strong } from '../../paint.ts';
import { emptyText } from '../../session.ts';
import { shownChecks } from '../errors.ts';

const SEARCH_NOTES = `
Finds ids, references, idempotency keys, holder references, error codes, names
of card programs, and amounts such as 12.34 or "12.34 USD". Finds cards by their
id, the beginning of their id, or their last four digits. --from and --to apply
to amounts and error codes.`;

export const addSearch: AddCommands = (program, context) =>
  addCommand<Omit<SearchQuery, 'q'>>(program, context, {
    name: 'search <text>',
    argument: 'what to look for',
    description: 'find anything in all card programs; for operators',
    options: {
      // --program filters only if it is typed, as in errors search.
      program_id: { flag: '--program <program_id>', help: 'search only this card program' },
      ...TIME_OPTIONS,
    },
    notes: SEARCH_NOTES,
    run: async ({ service, showText, width, command }, query, text) => {
      const found = await service.search.find({ q: text, ...query });
      showText(found, describeResults(found, command, width));
    },
  });

function describeResults({ data, complete }: SearchResults, command: string, width: number | undefined): string {
  const rows = data.flatMap(({ kind, results }) => results.map((result) => ({ kind, ...result })));
  const results =
    rows.length === 0
      ? emptyText({ command }, 'No results.', [
          ['what you can search for', 'search --help'],
          ['refused requests, by card, code or time', 'errors search --help'],
          ['what a request did, refused or not', 'requests inspect <request_id>'],
        ])
      : table(['kind', 'id', 'matched', 'summary', 'created_at', 'program_id'], rows, width);
  const more = data.filter(({ has_more }) => has_more).map(({ kind }) => kind);
  return [
    results,
    more.length === 0 ? '' : `There are more results of these kinds: ${more.join(', ')}\n`,
    complete ? '' : 'There are more card programs than one search covers: add --program\n',
  ].join('');
}

const REQUEST_NOTES = `
Shows what a request did, whether it succeeded or failed. Every response has the
request id in its Request-Id header. Successful requests that change nothing,
such as reads, are not recorded.`;

const MONEY = {
  heading: 'amount',
  show: ({ amount, currency }: { readonly amount: number; readonly currency: string }) => money(amount, currency),
  right: true,
};

/** A request, as a card program or an operator sees it. */
type AnyRequest = ProgramRequestRecord | RequestRecord;

export const addRequests: AddCommands = (program, context) => {
  const requests = program.command('requests').description('look up what a request did, and whether money moved');
  addCommand(requests, context, {
    name: 'show <request_id>',
    argument: 'request id of the response, req_...',
    description: 'show what a request in the card program did',
    notes: REQUEST_NOTES,
    run: async ({ service, showText, width }, _, requestId) => {
      const record = await service.requests.get(requestId);
      showText(record, describeRequest(record, width));
    },
  });
  addCommand(requests, context, {
    name: 'inspect <request_id>',
    argument: 'request id of the response, req_...',
    description: 'show what any request did, with checks, causes and audit entries; for operators',
    notes: REQUEST_NOTES,
    run: async ({ service, showText, width }, _, requestId) => {
      const record = await service.requests.inspect(requestId);
      showText(record, describeRequest(record, width));
    },
  });
};

/** Returns the fields of the error that the lines above do not show. */
function addedBy(error: LoggedErrorRecord | InspectedErrorRecord, request: AnyRequest): object {
  const above = new Map<string, unknown>(Object.entries({ ...request, created_at: request.received_at }));
  const shown = 'checks' in error ? { ...error, checks: shownChecks(error) } : error;
  const added = Object.entries(shown).filter(([name, value]) => {
    if (name === 'causes') return false;
    // The error has only the kind of the caller, so it is shown only if the request does not name the caller.
    if (name === 'caller') return request.caller === null;
    if (name === 'key_id') return request.caller !== value;
    if (name === 'message') return !request.summary.includes(error.message);
    return above.get(name) !== value;
  });
  return Object.fromEntries(added);
}

function describeRequest(record: AnyRequest, width: number | undefined): string {
  const { summary, error, transfers, reversals, events, audit_entries, ...rest } = { audit_entries: [], ...record };
  const section = (title: string, rows: string): string => (rows === '' ? '' : `\n${strong(title)}\n${rows}`);
  return [
    `${printable(summary)}\n\n`,
    alignedLines(pairsOf(rest)),
    section('Error', error === null ? '' : alignedLines(pairsOf(addedBy(error, record)))),
    section(
      'Transfers',
      transfers.length === 0 ? '' : table(['transfer_id', 'type', MONEY, 'status', 'card_id'], transfers, width),
    ),
    section('Reversals', reversals.length === 0 ? '' : table(['reversal_id', 'transfer_id', MONEY], reversals, width)),
    section(
      'Events',
      events.length === 0 ? '' : table(['event_id', 'type', 'subject_id', 'created_at'], events, width),
    ),
    section(
      'Audit log',
      audit_entries.length === 0 ? '' : table(['position', 'actor', 'action', 'subject_id'], audit_entries, width),
    ),
  ].join('');
}
