import { type Command, Option } from 'commander';
import type { CardRecord } from '../sdk/client.ts';
import { type Column, money } from './output.ts';
import { type AddCommands, addPageOptions, openSession, type PageOptions, showList } from './session.ts';

type CreateOptions = {
  readonly card?: string;
  readonly currency?: string;
  readonly status?: 'preactive' | 'active';
  readonly holderReference?: string;
  readonly lastFour?: string;
  readonly expiresOn?: string;
};

const COLUMNS: readonly Column<CardRecord>[] = [
  { heading: 'card_id', show: (card) => card.card_id },
  { heading: 'status', show: (card) => card.status },
  { heading: 'balance', show: (card) => money(card.balance, card.currency), right: true },
  { heading: 'available', show: (card) => money(card.available, card.currency), right: true },
];

/** Adds `cards create | get | list`. */
export const addCards: AddCommands = (program, surroundings) => {
  const cards = program.command('cards').description('cards, and what is on them');
  cards
    .command('create')
    .description('register a card')
    .option('--card <card_id>', 'an id of your own, unique in the program')
    .option('--currency <code>', "the program's if left out")
    .addOption(new Option('--status <status>', 'active if left out').choices(['preactive', 'active']))
    .option('--holder-reference <text>', 'your name for the holder; never a card number')
    .option('--last-four <digits>', 'last four digits of the card number')
    .option('--expires-on <date>', 'last day of use, YYYY-MM-DD')
    .action(async (options: CreateOptions, command: Command) => {
      const session = openSession(command, surroundings);
      const card = await session.service.cards.create({
        card_id: options.card,
        currency: options.currency,
        status: options.status,
        holder_reference: options.holderReference,
        last_four: options.lastFour,
        expires_on: options.expiresOn,
      });
      session.showRecord(card);
    });
  cards
    .command('get')
    .description('show a card and its balance')
    .argument('<card_id>', 'its id: card_..., or your own')
    .action(async (cardId: string, _options: object, command: Command) => {
      const session = openSession(command, surroundings);
      session.showRecord(await session.service.cards.get(cardId));
    });
  addPageOptions(cards.command('list').description('list cards, newest first')).action(
    async (options: PageOptions, command: Command) => {
      const session = openSession(command, surroundings);
      await showList(session, COLUMNS, options, (page) => session.service.cards.list(page));
    },
  );
};
