import type { TransferStatus, TransferType } from '../../../domain/transfers/transfer.ts';

/** The conditions of a list of transfers. Null means no condition. Amounts are in minor units. */
export type TransferFilter = {
  /** The wire id of the card at either end. */
  readonly cardName: string | null;
  readonly type: TransferType | null;
  /** The current status. A hold that has ended is expired. */
  readonly status: TransferStatus | null;
  readonly reference: string | null;
  readonly idempotencyKey: string | null;
  readonly metadata: { readonly name: string; readonly value: string } | null;
  /** The start of the period (inclusive). */
  readonly createdFrom: Date | null;
  /** The end of the period (exclusive). */
  readonly createdTo: Date | null;
  readonly minimumAmount: number | null;
  readonly maximumAmount: number | null;
};

export const NO_FILTER: TransferFilter = {
  cardName: null,
  type: null,
  status: null,
  reference: null,
  idempotencyKey: null,
  metadata: null,
  createdFrom: null,
  createdTo: null,
  minimumAmount: null,
  maximumAmount: null,
};

/** The index columns before the transfer's id, with their values. */
type Lead = readonly (readonly [column: string, value: string])[];

/** Returns SQL that reads transfers, or their ids, from one index. `only` repeats the condition of a partial index. */
export type Along = (table: 'transfer' | 'transfer_metadata', lead: Lead, only: string) => string;

/** SQL: whether an id is between the ends of the page. */
export type IsOnPage = (id: string) => string;

/** A query for all transfers that can match a filter, in the order of their ids. */
export type Route = {
  readonly name: string;
  /** The parts of the filter that every transfer on the route matches, so that they are not compared again. */
  readonly covers: readonly (keyof TransferFilter)[];
  /** Returns SQL for the transfers on the route. There are several relations if two indexes are needed to find the transfers. */
  readonly relations: (along: Along, isOnPage: IsOnPage) => readonly string[];
};

/** SQL: the inner id of a card, given its name. If the card does not exist, there is no row, and every comparison is false. */
export function cardIdOf(name: string): string {
  return `(select card.card_id from card where card.program_id = :programId and card.name = ${name})`;
}

const UNFINISHED = "and transfer.status <> 'completed'";

const statusRoute = (statuses: readonly TransferStatus[], covers: Route['covers']): Route => ({
  name: `by_status_${statuses.join('_and_')}`,
  covers,
  relations: (along) => statuses.map((status) => along('transfer', [['status', `'${status}'::text`]], UNFINISHED)),
});

const SCHEDULED = statusRoute(['scheduled'], ['status']);
const FAILED = statusRoute(['failed'], ['status']);
const CANCELED = statusRoute(['canceled'], ['status']);
// A transfer that is stored as pending may have expired, so the current status of each is compared.
const PENDING = statusRoute(['pending'], []);
const EXPIRED = statusRoute(['expired', 'pending'], []);

/** Nearly all transfers are completed. They have no separate index, because any other index finds them quickly. */
const BY_STATUS: Readonly<Record<TransferStatus, Route | undefined>> = {
  scheduled: SCHEDULED,
  pending: PENDING,
  completed: undefined,
  failed: FAILED,
  canceled: CANCELED,
  expired: EXPIRED,
};

const BY_KEY: Route = {
  name: 'by_key',
  covers: ['idempotencyKey'],
  relations: (_along, isOnPage) => [
    `select transfer.* from (
        select subject_id from idempotency where idempotency.key_hash = :keyHash limit 1
      ) as found cross join lateral (
        select * from transfer where transfer.program_id = :programId and transfer.transfer_id = found.subject_id limit 1
      ) as transfer where ${isOnPage('transfer.transfer_id')}`,
  ],
};

const BY_REFERENCE: Route = {
  name: 'by_reference',
  covers: ['reference'],
  relations: (along) => [along('transfer', [['reference', ':reference::text']], 'and transfer.reference is not null')],
};

const BY_CARD: Route = {
  name: 'by_card',
  covers: ['cardName'],
  relations: (along) => {
    const cardId = cardIdOf(':cardName');
    return [
      along('transfer', [['card_id', cardId]], ''),
      along('transfer', [['destination_card_id', cardId]], 'and transfer.destination_card_id is not null'),
    ];
  },
};

const BY_METADATA: Route = {
  name: 'by_metadata',
  covers: ['metadata'],
  relations: (along) => {
    const lead: Lead = [
      ['name', ':metadataName::text'],
      ['value', ':metadataValue::text'],
    ];
    const pairs = along('transfer_metadata', lead, '');
    return [
      `select transfer.* from (${pairs}) as found cross join lateral (
          select * from transfer where transfer.program_id = :programId and transfer.transfer_id = found.transfer_id limit 1
        ) as transfer`,
    ];
  },
};

const BY_AMOUNT: Route = {
  name: 'by_amount',
  covers: ['minimumAmount', 'maximumAmount'],
  relations: (along) => [along('transfer', [['amount', ':minimumAmount::bigint']], '')],
};

const BY_TYPE: Route = {
  name: 'by_type',
  covers: ['type'],
  relations: (along) => [along('transfer', [['type', ':type::text']], "and transfer.type <> 'load'")],
};

const ALL: Route = {
  name: 'all',
  covers: [],
  relations: (along) => [along('transfer', [], '')],
};

/** Returns the route for a filter. It uses the index that usually finds the fewest transfers. */
export function routeFor(filter: TransferFilter): Route {
  if (filter.idempotencyKey !== null) return BY_KEY;
  if (filter.reference !== null) return BY_REFERENCE;
  if (filter.cardName !== null) return BY_CARD;
  if (filter.metadata !== null) return BY_METADATA;
  const byStatus = filter.status === null ? undefined : BY_STATUS[filter.status];
  if (byStatus !== undefined) return byStatus;
  if (filter.minimumAmount !== null && filter.minimumAmount === filter.maximumAmount) return BY_AMOUNT;
  // Most transfers are loads, so loads have no separate index.
  return filter.type === null || filter.type === 'load' ? ALL : BY_TYPE;
}
