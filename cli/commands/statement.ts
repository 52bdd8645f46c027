import type { Command } from 'commander';
import type { PostingRecord, StatementPage } from '../../sdk/client.ts';
import { alignedLines, type Column, money } from '../output.ts';
import {
  addPageOptions,
  addTimeOptions,
  openSession,
  type PageOptions,
  pageText,
  readPages,
  type Surroundings,
} from '../session.ts';
import { addOutputOption, type OutputOptions, showExport } from './export.ts';

type TimeOptions = { readonly from?: string; readonly to?: string };

const COLUMNS: readonly Column<PostingRecord>[] = [
  { heading: 'sequence', show: (posting) => String(posting.sequence), right: true },
  { heading: 'created_at', show: (posting) => posting.created_at },
  { heading: 'purpose', show: (posting) => posting.purpose },
  { heading: 'direction', show: (posting) => posting.direction },
  { heading: 'amount', show: (posting) => money(posting.amount, posting.currency), right: true },
  { heading: 'balance', show: (posting) => money(posting.balance, posting.currency), right: true },
  { heading: 'cause', show: (posting) => posting.reversal_id ?? posting.transfer_id },
];

/** Adds `cards postings | export-postings`, which answer to `statement` and `export`, too. */
export function addStatement(cards: Command, surroundings: Surroundings): void {
  const postings = cards
    .command('postings')
    .alias('statement')
    .description('show its statement, newest line first, with opening and closing balance')
    .argument('<card_id>', 'its id: card_..., or your own');
  addTimeOptions(addPageOptions(postings), 'lines').action(
    async (cardId: string, options: PageOptions & TimeOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const time = timeIn(options);
      const statement = await readPages<StatementPage>(options, (page) =>
        session.service.cards.postings(cardId, { ...page, ...time }),
      );
      session.showText(statement, describe(statement));
    },
  );
  const exported = cards
    .command('export-postings')
    .alias('export')
    .description('export its statement as comma-separated values, oldest line first')
    .argument('<card_id>', 'its id: card_..., or your own');
  addOutputOption(addTimeOptions(exported, 'lines')).action(
    async (cardId: string, options: OutputOptions & TimeOptions, command: Command) => {
      const session = openSession(command, surroundings);
      await showExport(session, options, surroundings, () =>
        session.service.cards.exportPostings(cardId, timeIn(options)),
      );
    },
  );
}

function timeIn({ from, to }: TimeOptions) {
  return { created_from: from, created_to: to };
}

function describe(statement: StatementPage): string {
  const { card_id, currency, opening_balance, closing_balance } = statement;
  const head = alignedLines([
    ['card_id', card_id],
    ['opening_balance', money(opening_balance, currency)],
    ['closing_balance', money(closing_balance, currency)],
  ]);
  return `${head}\n${pageText(COLUMNS, statement)}`;
}
