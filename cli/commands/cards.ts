import { type Command, InvalidArgumentError } from 'commander';
import { CARD_STATUSES, FIRST_CARD_STATUSES, SETTABLE_CARD_STATUSES } from '../../domain/cards/card.ts';
import {
  type CardLimits,
  type CardRecord,
  type CreateCardBody,
  type ExportPostingsQuery,
  type HoldPage,
  type HoldRecord,
  InvalidArgument,
  type LikelyDuplicate,
  type ListCardsQuery,
  type ListLikelyDuplicatesQuery,
  type PostingRecord,
  type StatementPage,
  type TransferRecord,
  type UpdateCardBody,
} from '../../sdk/client.ts';
import {
  type AddCommands,
  AS_OF_OPTION,
  type AsOf,
  addCommand,
  addList,
  KEY_OPTION,
  type KeyOption,
  type OptionsFor,
  PAGE_OPTIONS,
  readWholeNumber,
  TIME_OPTIONS,
  VERSION_OPTION,
  type VersionOption,
} from '../command.ts';
import { EXIT_CODES } from '../failure.ts';
import { alignedLines, type Column, money, moneyColumn } from '../output.ts';
import { type CommandContext, type PageOptions, pageText, readPages, showChanged, showVersioned } from '../session.ts';
import { plainTime } from '../times.ts';
import { EXPORT_NOTES, OUTPUT_OPTION, type OutputOption, showExport } from './export.ts';
import {
  describeCardLimits,
  LIMITS_CHANGE_NOTES,
  LIMITS_FORM,
  LIMITS_NOTES,
  type LimitsChange,
  readLimits,
  readLimitsChange,
} from './limits.ts';
import {
  METADATA_CHANGE_OPTIONS,
  METADATA_FILTER,
  METADATA_OPTION,
  type MetadataChange,
  metadataPatch,
  type Pairs,
  queryOf,
} from './support/metadata.ts';

const CARD_ID = 'card id: card_..., or your own id';

const REMOVABLE = ['holder_reference', 'last_four', 'expires_on'] as const;

type Removable = (typeof REMOVABLE)[number];

const DETAILS: OptionsFor<Pick<CreateCardBody, Removable>> = {
  holder_reference: { flag: '--holder-reference <text>', help: 'your reference for the holder; not a card number' },
  last_four: { flag: '--last-four <digits>', help: 'last four digits of the card number' },
  expires_on: { flag: '--expires-on <date>', help: 'last day that the card can be used, YYYY-MM-DD' },
};

/** One option, `--metadata`, sets both the name and the value of a pair. */
type CardFilters = Omit<ListCardsQuery, 'limit' | 'cursor' | 'metadata_name' | 'metadata_value'> & {
  readonly metadata?: Pairs;
};

const FILTER_OPTIONS: OptionsFor<CardFilters> = {
  status: {
    flag: '--status <status>',
    help: 'filter by status; inactive is suspended',
    choices: CARD_STATUSES,
  },
  last_four: { flag: '--last-four <digits>', help: 'filter by the last four digits of the card number' },
  holder_reference: { flag: '--holder-reference <text>', help: 'filter by your reference for the holder' },
  card_id_prefix: { flag: '--card-prefix <start>', help: 'filter by the start of the card id' },
  metadata: METADATA_FILTER,
};

type CreateOptions = Omit<CreateCardBody, 'limits'> & KeyOption & { readonly limits?: CardLimits };

type UpdateOptions = Pick<UpdateCardBody, 'status' | 'balance_to'> &
  Pick<CreateCardBody, Removable> &
  MetadataChange &
  VersionOption & { readonly limits?: LimitsChange; readonly remove?: readonly Removable[] };

export const addCards: AddCommands = (program, context) => {
  const cards = program.command('cards').description('cards, with their balances, limits and statements');
  addCreate(cards, context);
  addCommand<AsOf>(cards, context, {
    name: 'get <card_id>',
    argument: CARD_ID,
    description: 'show a card and its balance',
    options: AS_OF_OPTION,
    run: async (session, query, cardId) => showVersioned(session, await session.service.cards.get(cardId, {}, query)),
  });
  addList<CardRecord, CardFilters>(cards, context, {
    name: 'list',
    description: 'list cards, newest first; with --card-prefix in the order of their ids',
    options: FILTER_OPTIONS,
    columns: ['card_id', 'status', moneyColumn('balance'), moneyColumn('available')],
    list: (service, query) => service.cards.list(queryOf(query)),
    empty: {
      text: 'No cards.',
      next: [
        ['create one', 'cards create --card <card_id>'],
        ['in another card program, for operators', 'programs list'],
      ],
      filtered: [['all cards', 'cards list']],
    },
  });
  addUpdate(cards, context);
  addHolds(cards, context);
  addErase(cards, context);
  addCommand(cards, context, {
    name: 'limits <card_id>',
    argument: CARD_ID,
    description: 'show the limits of a card, their usage and what remains',
    run: async ({ service, showText, width }, _, cardId) => {
      const limits = await service.cards.limits(cardId);
      showText(limits, describeCardLimits(limits, width));
    },
  });
  addStatement(cards, context);
  addDuplicates(cards, context);
};

function addDuplicates(cards: Command, context: CommandContext): void {
  addList<LikelyDuplicate, Pick<ListLikelyDuplicatesQuery, 'window_seconds'>>(cards, context, {
    name: 'duplicates <card_id>',
    argument: CARD_ID,
    description: 'list likely duplicates: transfers of the same type and amount within minutes',
    options: {
      window_seconds: {
        flag: '--window <seconds>',
        help: 'maximum time between the two transfers, in seconds (default: 600)',
        read: readWholeNumber,
      },
    },
    columns: [
      { heading: 'transfer_id', show: ({ transfer }) => transfer.transfer_id },
      { heading: 'created_at', show: ({ transfer }) => plainTime(transfer.created_at) },
      { heading: 'type', show: ({ transfer }) => transfer.type },
      { heading: 'amount', show: ({ transfer }) => money(transfer.amount, transfer.currency), right: true },
      { heading: 'status', show: ({ transfer }) => statusWithReversal(transfer) },
      'seconds_apart',
      { heading: 'earlier', show: ({ earlier }) => earlier.transfer_id },
      { heading: 'earlier_status', show: ({ earlier }) => statusWithReversal(earlier) },
      {
        heading: 'first_of_chain',
        show: ({ earlier, first_transfer_id: first }) => (first === earlier.transfer_id ? null : first),
      },
    ],
    list: (service, query, cardId) => service.cards.likelyDuplicates(cardId, query),
    empty: {
      text: 'No likely duplicates.',
      filtered: [['transfers of a card', 'transfers list --card <card_id>']],
      next: [['allow more time between the two, such as an hour', 'cards duplicates <card_id> --window 3600']],
    },
  });
}

/** Returns the status of a transfer, or how much of it was reversed. */
function statusWithReversal({ status, captured_amount: captured, reversed_amount: reversed }: TransferRecord): string {
  if (reversed === 0) return status;
  return reversed === captured ? 'reversed' : 'partially reversed';
}

function addCreate(cards: Command, context: CommandContext): void {
  addCommand<CreateOptions>(cards, context, {
    name: 'create',
    description: 'create a card',
    options: {
      card_id: { flag: '--card <card_id>', help: 'your id for the card, unique in the card program' },
      currency: { flag: '--currency <code>', help: "ISO 4217 code (default: the card program's)" },
      status: { flag: '--status <status>', help: 'initial status (default: active)', choices: FIRST_CARD_STATUSES },
      limits: { flag: '--limits <limits>', help: `limits of the card: ${LIMITS_FORM}`, read: readLimits },
      connector_id: {
        flag: '--connector <connector_id>',
        help: "connector of the processor that holds the card's money",
      },
      processor_token: {
        flag: '--processor-token <token>',
        help: "the processor's name for the card, not the card number",
      },
      metadata: METADATA_OPTION,
      ...DETAILS,
      ...KEY_OPTION,
    },
    notes: LIMITS_NOTES,
    run: async (session, { idempotencyKey, ...body }) =>
      showChanged(session, await session.service.cards.create(body, { idempotencyKey })),
  });
}

function addUpdate(cards: Command, context: CommandContext): void {
  addCommand<UpdateOptions>(cards, context, {
    name: 'update <card_id>',
    argument: CARD_ID,
    description: 'change the status, limits, metadata or details of a card; omitted fields keep their values',
    options: {
      status: {
        flag: '--status <status>',
        help: 'new status; inactive suspends the card',
        choices: SETTABLE_CARD_STATUSES,
      },
      balance_to: {
        flag: '--balance-to <account>',
        help: 'with --status closed: where the balance is moved',
        choices: ['funding'],
      },
      limits: { flag: '--limits <limits>', help: `limits to change: ${LIMITS_FORM}`, read: readLimitsChange },
      remove: {
        flag: '--remove <fields>',
        help: `fields to remove, separated by commas: ${REMOVABLE.join(', ')}`,
        read: readRemoved,
      },
      ...DETAILS,
      ...METADATA_CHANGE_OPTIONS,
      ...VERSION_OPTION,
    },
    notes: LIMITS_CHANGE_NOTES,
    run: async (
      { service, show },
      { remove = [], limits, metadata, removed: names, clear, ifMatch, ...fields },
      cardId,
    ) => {
      const both = remove.find((name) => fields[name] !== undefined);
      if (both !== undefined) throw new InvalidArgument(`${both} cannot be set and removed in the same request`);
      const removed = Object.fromEntries(remove.map((name) => [name, null]));
      show(
        await service.cards.update(
          cardId,
          {
            ...fields,
            ...removed,
            limits: limits?.patch,
            metadata: metadataPatch({ metadata, removed: names, clear }),
          },
          { ifMatch },
        ),
      );
    },
  });
}

const HOLD_COLUMNS: readonly Column<HoldRecord>[] = [
  'transfer_id',
  'direction',
  moneyColumn('amount'),
  'type',
  'expires_at',
];

function addHolds(cards: Command, context: CommandContext): void {
  addCommand<PageOptions>(cards, context, {
    name: 'holds <card_id>',
    argument: CARD_ID,
    description: 'show the open holds of a card, outgoing and incoming, newest first',
    options: PAGE_OPTIONS,
    run: async ({ service, showText, width }, options, cardId) => {
      const holds = await readPages<HoldPage>(options, (page) => service.cards.holds(cardId, page));
      const { held, incoming, currency } = holds;
      const head = alignedLines([
        ['held', money(held, currency)],
        ['incoming', money(incoming, currency)],
      ]);
      showText(holds, `${head}\n${pageText(HOLD_COLUMNS, holds, { width, empty: 'No open holds.\n' })}`);
    },
  });
}

const ERASE_NOTES = `
Erases the holder reference, the last four digits, and the descriptions and
metadata of all transfers of the card, wherever they are stored. This cannot
be undone. Amounts, times and ids are kept.`;

function addErase(cards: Command, context: CommandContext): void {
  addCommand<KeyOption & { readonly yes?: boolean }>(cards, context, {
    name: 'erase <card_id>',
    argument: CARD_ID,
    description: 'erase the data about the holder of a closed card; run it again to see the progress',
    options: { yes: { flag: '--yes', help: 'do not ask for confirmation' }, ...KEY_OPTION },
    notes: ERASE_NOTES,
    run: async (session, { yes, idempotencyKey }, cardId) => {
      if (yes !== true) {
        if (session.confirm === undefined) {
          throw new InvalidArgument('to erase without confirmation, such as in a script, add --yes');
        }
        const question = `Erase everything about the holder of the card ${cardId}? This cannot be undone.`;
        if (!(await session.confirm(question))) {
          session.writeError('Nothing was erased.\n');
          return session.exitWith(EXIT_CODES.usage);
        }
      }
      showChanged(session, await session.service.cards.erase(cardId, { idempotencyKey }));
    },
  });
}

const POSTING_COLUMNS: readonly Column<PostingRecord>[] = [
  'sequence',
  'created_at',
  'purpose',
  'direction',
  moneyColumn('amount'),
  moneyColumn('balance'),
  { heading: 'source', show: (posting) => posting.reversal_id ?? posting.transfer_id },
];

function addStatement(cards: Command, context: CommandContext): void {
  addCommand<Omit<ExportPostingsQuery, 'raw'> & PageOptions>(cards, context, {
    name: 'postings <card_id>',
    alias: 'statement',
    argument: CARD_ID,
    description: 'show the statement of a card, newest first, with opening and closing balance',
    options: { ...PAGE_OPTIONS, ...TIME_OPTIONS },
    run: async ({ service, showText, width }, options, cardId) => {
      const { created_from, created_to } = options;
      const statement = await readPages<StatementPage>(options, (page) =>
        service.cards.postings(cardId, { ...page, created_from, created_to }),
      );
      showText(statement, describeStatement(statement, width));
    },
  });
  addCommand<Omit<ExportPostingsQuery, 'raw'> & OutputOption>(cards, context, {
    name: 'export-postings <card_id>',
    alias: 'export',
    argument: CARD_ID,
    description: 'export the statement of a card as CSV, oldest first',
    options: { ...TIME_OPTIONS, ...OUTPUT_OPTION },
    notes: EXPORT_NOTES,
    run: (session, { output, ...period }, cardId) =>
      showExport(session, output, () => session.service.cards.exportPostings(cardId, period)),
  });
}

function describeStatement(statement: StatementPage, width: number | undefined): string {
  const { card_id, currency, opening_balance, closing_balance } = statement;
  const head = alignedLines([
    ['card_id', card_id],
    ['opening_balance', money(opening_balance, currency)],
    ['closing_balance', money(closing_balance, currency)],
  ]);
  return `${head}\n${pageText(POSTING_COLUMNS, statement, { width, empty: 'No postings in this period.\n' })}`;
}

function readRemoved(text: string): Removable[] {
  return text.split(',').map((name) => {
    const known = REMOVABLE.find((one) => one === name.trim());
    if (known === undefined) throw new InvalidArgumentError(`Allowed fields are ${REMOVABLE.join(', ')}.`);
    return known;
  });
}
