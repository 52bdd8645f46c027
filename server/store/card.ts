import { hash } from 'node:crypto';
import type { Card, CardStatus } from '../../domain/cards/card.ts';
import type { Account } from '../../domain/ledger/ledger.ts';
import type { Metadata } from '../../domain/metadata.ts';
import type { Row, Statement } from './connection/database.ts';
import { ACCOUNT, NAMED_CARDS, NAMED_TRANSFER, toAccount } from './ledger/account.ts';
import { type CountedDays, countedDays, LIMITS, toCountedDays } from './ledger/limits.ts';
import {
  CURRENCY,
  columns,
  DATE,
  HEX,
  insertRow,
  insertRows,
  json,
  NUMBER,
  nullable,
  statement,
  statementOfRows,
  TEXT,
  UUID,
  word,
} from './sql.ts';

/** A card for a decision, with its account's daily counters of the last weeks. The counters are null if no limit applies. */
export type LoadedCard = { readonly card: Card; readonly days: CountedDays | null };

/** A card with all fields of its record, and the current day in its program's time zone (YYYY-MM-DD). */
export type CardDetails = {
  readonly card: Card;
  readonly today: string;
  readonly account: Account;
  readonly holderReference: string | null;
  readonly lastFour: string | null;
  readonly metadata: Metadata;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

const CARD = columns({
  programId: UUID,
  cardId: UUID,
  name: TEXT,
  status: word<CardStatus>(),
  currency: CURRENCY,
  accountId: UUID,
  fundingAccountId: UUID,
  expiresOn: nullable(TEXT),
  limits: nullable(LIMITS),
  connectorId: nullable(TEXT),
});

/** The columns that appear only in the record. They are not read when transfers are decided. */
const SHOWN = columns({
  holderReference: nullable(TEXT),
  lastFour: nullable(TEXT),
  metadata: json<Metadata>(),
  createdAt: DATE,
  updatedAt: DATE,
});

// A `date` is read as text, because `pg` would convert it to a point in time in the process's time zone.
const CARD_COLUMNS = `${CARD.omit('expiresOn').of('card')}, card.expires_on::text as expires_on`;

const FOR_DECISION = `${CARD_COLUMNS}, case when card.limits is not null or program.card_limits is not null
  then ${countedDays('card.program_id', 'card.account_id')} end as used`;

/** The columns that {@link toCardDetails} reads, from `card`, its `program` and its `account`. */
export const CARD_DETAILS = `${CARD_COLUMNS}, ${SHOWN.of('card')},
  (service_now() at time zone program.time_zone)::date::text as today, account.kind, account.balance, account.held,
  account.incoming, account.floor, account.sequence, account.version`;

const WITH_PROGRAM = `cross join lateral (
    select card_limits from program where program.program_id = card.program_id limit 1
  ) as program`;

/**
 * Reads cards by their names in requests. Must come after their accounts were locked or read: a card and its counters change only
 * under the lock of its account, and the account's version then changes, too.
 */
export const readCards = statementOfRows(
  'read_cards',
  CARD.pick('programId', 'name'),
  `select ${FOR_DECISION} from :sent
    cross join lateral (
      select * from card where card.program_id = sent.program_id and card.name = sent.name limit 1
    ) as card ${WITH_PROGRAM}`,
);

/**
 * Reads cards with their accounts, and each requested funding account once. In one snapshot, this reads the same card data as
 * {@link readAccounts} and {@link readCards}. Takes no locks: it is for decisions that are checked when they are written.
 */
export const readCardsWithAccounts = statementOfRows(
  'read_cards_with_accounts',
  NAMED_CARDS,
  `select ${ACCOUNT.of('account')}, ${CARD.omit('programId', 'currency', 'accountId').of('found')}, found.used,
      account.account_id = found.account_id as is_of_card
    from (
      select ${FOR_DECISION}, sent.with_funding and row_number() over (
          partition by card.program_id, card.funding_account_id order by sent.with_funding desc, card.card_id
        ) = 1 as brings_funding
      from :sent
      cross join lateral (
        select * from card where card.program_id = sent.program_id and card.name = sent.name limit 1
      ) as card ${WITH_PROGRAM}
    ) as found
    cross join lateral unnest(
      case when found.brings_funding then array[found.account_id, found.funding_account_id]
           else array[found.account_id] end
    ) as of_card(account_id)
    cross join lateral (
      select ${ACCOUNT.names} from account
      where account.program_id = found.program_id and account.account_id = of_card.account_id limit 1
    ) as account`,
);

/** Returns whether a row of {@link readCardsWithAccounts} contains a card with its account, and not a funding account. */
export function isOfCard(row: Row): boolean {
  return row.is_of_card === true;
}

/** Reads the cards of transfers as {@link readCards} does. */
export const readCardsOfTransfers = statementOfRows(
  'read_cards_of_transfers',
  NAMED_TRANSFER,
  `select ${FOR_DECISION} from :sent
    cross join lateral (
      select card_id, destination_card_id from transfer
      where transfer.program_id = sent.program_id and transfer.transfer_id = sent.transfer_id limit 1
    ) as moved
    cross join lateral unnest(array[moved.card_id, moved.destination_card_id]) as of_transfer(card_id)
    cross join lateral (
      select * from card where card.program_id = sent.program_id and card.card_id = of_transfer.card_id limit 1
    ) as card ${WITH_PROGRAM}`,
);

export function toLoadedCard(row: Row): LoadedCard {
  return { card: CARD.read(row), days: toCountedDays(row.used) };
}

const READ_CARD_DETAILS = statement(
  'read_card_details',
  { programId: UUID, name: TEXT },
  `select ${CARD_DETAILS} from card join program using (program_id) join account using (program_id, account_id)
    where card.program_id = :programId and card.name = :name`,
);

/** Reads one card by its name, with its account. */
export function readCardDetails(programId: string, name: string): Statement {
  return READ_CARD_DETAILS({ programId, name });
}

const READ_ACCOUNTS_OF_CARD = statement(
  'read_accounts_of_card',
  { programId: UUID, name: TEXT },
  `select account.* from card
    cross join lateral unnest(array[card.account_id, card.funding_account_id]) as of_card(account_id)
    cross join lateral (
      select * from account
      where account.program_id = card.program_id and account.account_id = of_card.account_id limit 1
    ) as account
    where card.program_id = :programId and card.name = :name`,
);

/** Reads the account of a card and the funding account of its program, without locks. Not for decisions. */
export function readAccountsOfCard(programId: string, name: string): Statement {
  return READ_ACCOUNTS_OF_CARD({ programId, name });
}

export function toCardDetails(row: Row): CardDetails {
  return { card: CARD.read(row), today: row.today as string, account: toAccount(row), ...SHOWN.read(row) };
}

const INSERT_CARD = insertRow(
  'insert_card',
  'card',
  columns({ ...CARD.columns, ...SHOWN.columns, processorToken: nullable(TEXT) }),
);

/** Inserts a card whose accounts exist. `processorToken` identifies the card at the processor of its connector. */
export function insertCard(
  { card, ...shown }: Omit<CardDetails, 'account' | 'today'>,
  processorToken: string | null,
): Statement {
  return INSERT_CARD({ ...card, ...shown, processorToken });
}

const UPDATE_CARD = statement(
  'update_card',
  {
    ...CARD.pick('programId', 'cardId', 'status', 'expiresOn', 'limits').columns,
    ...SHOWN.omit('createdAt').columns,
  },
  `update card set status = :status, holder_reference = :holderReference, last_four = :lastFour,
      expires_on = :expiresOn, limits = :limits, metadata = :metadata, updated_at = :updatedAt
    where card.program_id = :programId and card.card_id = :cardId`,
);

/** Updates a card. A trigger also raises the version of its account, which must be locked. */
export function updateCard({ card, ...shown }: Omit<CardDetails, 'account' | 'today' | 'createdAt'>): Statement {
  return UPDATE_CARD({ ...card, ...shown });
}

const NAMED_CARD = { programId: UUID, cardId: UUID } as const;
const INSERT_METADATA = insertRows(
  'insert_card_metadata',
  'card_metadata',
  columns({ ...NAMED_CARD, name: TEXT, value: TEXT }),
);

export const deleteCardMetadata = statement(
  'delete_card_metadata',
  NAMED_CARD,
  'delete from card_metadata where program_id = :programId and card_id = :cardId',
);

/** Inserts the metadata of cards that had none into the search table: one statement, or none. */
export function insertCardMetadata(
  cards: readonly { readonly card: Pick<Card, 'programId' | 'cardId'>; readonly metadata: Metadata }[],
): readonly Statement[] {
  const pairs = cards.flatMap(({ card: { programId, cardId }, metadata }) =>
    Object.entries(metadata).map(([name, value]) => ({ programId, cardId, name, value })),
  );
  return pairs.length === 0 ? [] : [INSERT_METADATA(pairs)];
}

// Invariant: A card of a processor is registered at most once at its connector, across all card programs
// Kept by: the primary key of `processor_card`; the lock on its name in `server/subjects/cards/create-card.ts`
// Tested by: `test/api/processors/processor-cards.test.ts`

/**
 * Returns the SHA-256 of a processor's token for a card, in hex. Cards are found by it, so no index contains the tokens themselves.
 */
export function tokenHashOf(processorToken: string): string {
  return hash('sha256', processorToken, 'hex');
}

const PROCESSOR_CARD = columns({ connectorId: TEXT, tokenHash: HEX, programId: UUID, cardId: UUID });

/** Links a card to the processor's card. Before that, lock its name and check that {@link readProcessorCard} finds no card. */
export const insertProcessorCard = insertRow('insert_processor_card', 'processor_card', PROCESSOR_CARD);

/** Reads whether any card program has a processor's card. `own_name` is the name of the card if it belongs to `programId`. */
export const readProcessorCard = statement(
  'read_processor_card',
  PROCESSOR_CARD.omit('cardId').columns,
  `select card.name as own_name
    from processor_card left join card on card.program_id = :programId and card.card_id = processor_card.card_id
    where processor_card.connector_id = :connectorId and token_hash = :tokenHash order by place limit 1`,
);

const TAKEN = columns({ ownName: nullable(TEXT) });

/** The name of the card in a row of {@link readProcessorCard}, or null if another card program has the card. */
export const toOwnName = (row: Row): string | null => TAKEN.read(row).ownName;

/**
 * Counts, for each connector, the cards that were registered twice before version 0.2.0 refused that. Also returns the name of one
 * of them.
 */
export const COUNT_CARDS_REGISTERED_TWICE = statement(
  'count_cards_registered_twice',
  {},
  `select twice.connector_id, count(*)::int as cards, min(card.name) as example
    from processor_card as twice join card using (program_id, card_id)
    where twice.place > 0 group by twice.connector_id order by twice.connector_id`,
)({});

export const toRegisteredTwice = columns({ connectorId: TEXT, cards: NUMBER, example: TEXT }).read;
