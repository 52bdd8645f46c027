import type { SearchQuery, SearchResults } from '../../../sdk/client.ts';
import { type AddCommands, addCommand, TIME_OPTIONS } from '../../command.ts';
import { table } from '../../output.ts';
import { emptyText } from '../../session.ts';

const NOTES = `
Finds ids, references, idempotency keys, cards by their id, its beginning or
their last four digits, holder references, amounts such as 12.34 or
"12.34 USD", error codes and names of card programs. --from and --to apply to
amounts and error codes.`;

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
    notes: NOTES,
    run: async ({ service, showText, width, command }, query, text) => {
      const found = await service.search.find({ q: text, ...query });
      showText(found, describe(found, command, width));
    },
  });

function describe({ data, complete }: SearchResults, command: string, width: number | undefined): string {
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
    more.length === 0 ? '' : `There are more of: ${more.join(', ')}\n`,
    complete ? '' : 'There are more card programs than one search covers: add --program\n',
  ].join('');
}
