import type { SearchQuery, SearchResults } from '../../../sdk/client.ts';
import { type AddCommands, addCommand, TIME_OPTIONS } from '../../command.ts';
import { table } from '../../output.ts';

const NOTES = `
Finds ids, references, idempotency keys, cards by their id, its beginning or
their last four digits, holder references, amounts such as 12.34 or
"12.34 USD", error codes and names of card programs. --from and --to apply to
amounts and error codes.`;

/** Adds `search`. */
export const addSearch: AddCommands = (program, context) =>
  addCommand<Omit<SearchQuery, 'q'>>(program, context, {
    name: 'search <text>',
    argument: 'what to look for',
    description: 'find anything in all card programs; for operators',
    options: {
      // --program filters only if it is typed, as in errors search.
      program_id: { flag: '--program <program_id>', help: 'look only into this card program' },
      ...TIME_OPTIONS,
    },
    notes: NOTES,
    run: async ({ service, showText }, query, text) => {
      const found = await service.search.find({ q: text, ...query });
      showText(found, describe(found));
    },
  });

function describe({ data, complete }: SearchResults): string {
  const rows = data.flatMap(({ kind, results }) => results.map((result) => ({ kind, ...result })));
  const results =
    rows.length === 0 ? 'No results.\n' : table(['kind', 'id', 'matched', 'summary', 'created_at', 'program_id'], rows);
  const more = data.filter(({ has_more }) => has_more).map(({ kind }) => kind);
  return [
    results,
    more.length === 0 ? '' : `There are more of: ${more.join(', ')}\n`,
    complete ? '' : 'There are more card programs than one search looks into: add --program\n',
  ].join('');
}
