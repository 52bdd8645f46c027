import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CardLimits, CardRecord, CreateCardBody, UpdateCardBody } from '../../sdk/client.ts';
import { type Column, money, pairsOf } from '../output.ts';
import {
  type AddCommands,
  addKeyOption,
  addPageOptions,
  type KeyOption,
  openSession,
  type PageOptions,
  replayPairs,
  type Surroundings,
  showList,
} from '../session.ts';
import {
  describeCardLimits,
  LIMITS_CHANGE_NOTE,
  LIMITS_FORM,
  LIMITS_NOTE,
  type LimitsChange,
  readLimits,
  readLimitsChange,
} from './limits.ts';
import { addStatement } from './statement.ts';

/** What a card can be given as it is made and later. */
type GivenOptions = {
  readonly holderReference?: string;
  readonly lastFour?: string;
  readonly expiresOn?: string;
};

type CreateOptions = GivenOptions &
  KeyOption & {
    readonly card?: string;
    readonly currency?: string;
    readonly status?: CreateCardBody['status'];
    readonly limits?: CardLimits;
  };

type UpdateOptions = GivenOptions & {
  readonly status?: UpdateCardBody['status'];
  readonly balanceTo?: UpdateCardBody['balance_to'];
  readonly limits?: LimitsChange;
  readonly remove?: readonly Removable[];
};

/** What a card can be without. */
const REMOVABLE = ['holder_reference', 'last_four', 'expires_on'] as const;

type Removable = (typeof REMOVABLE)[number];

const GIVEN_STATUSES = [
  'active',
  'inactive',
  'lost',
  'stolen',
  'fraud',
  'closed',
] as const satisfies readonly UpdateCardBody['status'][];

const COLUMNS: readonly Column<CardRecord>[] = [
  { heading: 'card_id', show: (card) => card.card_id },
  { heading: 'status', show: (card) => card.status },
  { heading: 'balance', show: (card) => money(card.balance, card.currency), right: true },
  { heading: 'available', show: (card) => money(card.available, card.currency), right: true },
];

/** Adds `cards create | get | list | update | limits | postings | export-postings`. */
export const addCards: AddCommands = (program, surroundings) => {
  const cards = program.command('cards').description('cards, what is on them and what they may do');
  addCreate(cards, surroundings);
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
  addUpdate(cards, surroundings);
  cards
    .command('limits')
    .description('show what a card could do now: its limits, what is used and what is left')
    .argument('<card_id>', 'its id: card_..., or your own')
    .action(async (cardId: string, _options: object, command: Command) => {
      const session = openSession(command, surroundings);
      const limits = await session.service.cards.limits(cardId);
      session.showText(limits, describeCardLimits(limits));
    });
  addStatement(cards, surroundings);
};

function addCreate(cards: Command, surroundings: Surroundings): void {
  const create = cards
    .command('create')
    .description('register a card')
    .option('--card <card_id>', 'an id of your own, unique in the program')
    .option('--currency <code>', "the program's if left out")
    .addOption(new Option('--status <status>', 'active if left out').choices(['preactive', 'active']))
    .option('--limits <limits>', `its limits: ${LIMITS_FORM}`, readLimits)
    .addHelpText('after', LIMITS_NOTE);
  addKeyOption(addGivenOptions(create)).action(async (options: CreateOptions, command: Command) => {
    const session = openSession(command, surroundings);
    const { card, currency, status, limits, idempotencyKey } = options;
    const body = { card_id: card, currency, status, ...givenIn(options), limits };
    const created = await session.service.cards.create(body, { idempotencyKey });
    session.showRecord(created, [...pairsOf(created), ...replayPairs(created)]);
  });
}

function addUpdate(cards: Command, surroundings: Surroundings): void {
  const update = cards
    .command('update')
    .description('change its state, limits, holder or last day; what is left out stays as it is')
    .argument('<card_id>', 'its id: card_..., or your own')
    .addOption(new Option('--status <status>', 'the state that it is given').choices(GIVEN_STATUSES))
    .addOption(
      new Option('--balance-to <where>', 'with --status closed: where what is on it goes').choices(['funding']),
    )
    .option('--limits <limits>', `the limits that change: ${LIMITS_FORM}`, readLimitsChange)
    .option('--remove <members>', `fields to remove, separated by commas: ${REMOVABLE.join(', ')}`, readRemoved)
    .addHelpText('after', LIMITS_CHANGE_NOTE);
  addGivenOptions(update).action(async (cardId: string, options: UpdateOptions, command: Command) => {
    const session = openSession(command, surroundings);
    const given = givenIn(options);
    const removed = options.remove ?? [];
    const both = removed.find((name) => given[name] !== undefined);
    if (both !== undefined) return command.error(`error: ${both} cannot be given and removed at once`);
    const body = {
      status: options.status,
      balance_to: options.balanceTo,
      ...given,
      ...Object.fromEntries(removed.map((name) => [name, null])),
      limits: options.limits?.patch,
    };
    session.showRecord(await session.service.cards.update(cardId, body));
  });
}

function addGivenOptions(command: Command): Command {
  return command
    .option('--holder-reference <text>', 'your name for the holder; never a card number')
    .option('--last-four <digits>', 'last four digits of the card number')
    .option('--expires-on <date>', 'last day of use, YYYY-MM-DD');
}

function givenIn({ holderReference, lastFour, expiresOn }: GivenOptions) {
  return { holder_reference: holderReference, last_four: lastFour, expires_on: expiresOn };
}

function readRemoved(text: string): Removable[] {
  return text.split(',').map((name) => {
    const known = REMOVABLE.find((one) => one === name.trim());
    if (known === undefined) throw new InvalidArgumentError(`It can be ${REMOVABLE.join(', ')}.`);
    return known;
  });
}
