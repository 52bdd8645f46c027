import type { Statement } from '../connection/database.ts';
import { columns, DATE, many, NUMBER, nullable, rows, statement, TEXT, UUID } from '../sql.ts';
import { TRANSFER_COLUMNS } from '../transfers/transfer.ts';

// Searches all card programs, for operators. No index finds a transfer without its program. Such an index would cost an entry per
// transfer, and the search runs only a few times an hour. So each program is searched in turn. There are few programs.

/** SQL: transfers, newest first. `found` is a relation with their programs and ids. */
const showTransfers = (found: string): string => `select ${TRANSFER_COLUMNS}
  from (${found}) as found
  cross join lateral (
    select * from transfer where transfer.program_id = found.program_id and transfer.transfer_id = found.transfer_id limit 1
  ) as transfer
  cross join lateral (
    select name from card where card.program_id = transfer.program_id and card.card_id = transfer.card_id limit 1
  ) as card
  left join lateral (
    select name from card
    where card.program_id = transfer.program_id and card.card_id = transfer.destination_card_id limit 1
  ) as destination on true
  order by transfer.transfer_id desc limit :count`;

const IN_PROGRAMS = { programIds: many(UUID), count: NUMBER };

const FIND_BY_ID = statement(
  'find_transfers_by_id',
  { ...IN_PROGRAMS, transferIds: many(UUID) },
  showTransfers(
    `select * from unnest(:programIds) as wanted(program_id) cross join unnest(:transferIds) as sought(transfer_id)`,
  ),
);

export function findTransfersById(
  programIds: readonly string[],
  transferIds: readonly string[],
  count: number,
): Statement {
  return FIND_BY_ID({ programIds, transferIds, count });
}

const FIND_BY_REFERENCE = statement(
  'find_transfers_by_reference',
  { ...IN_PROGRAMS, reference: TEXT },
  showTransfers(`select wanted.program_id, of_reference.transfer_id
    from unnest(:programIds) as wanted(program_id) cross join lateral (
      select transfer_id from transfer
      where transfer.program_id = wanted.program_id and transfer.reference = :reference
      order by transfer.reference desc, transfer.transfer_id desc limit :count
    ) as of_reference`),
);

/**
 * Finds the newest transfers with a reference. In each program, at most one transfer has it now. The others had it and ended
 * without moving money.
 */
export function findTransfersByReference(programIds: readonly string[], reference: string, count: number): Statement {
  return FIND_BY_REFERENCE({ programIds, reference, count });
}

const AMOUNT = columns({ amount: NUMBER, currency: TEXT });

const FIND_BY_AMOUNT = statement(
  'find_transfers_by_amount',
  {
    ...IN_PROGRAMS,
    amounts: rows(AMOUNT),
    from: nullable(DATE),
    to: nullable(DATE),
    cardIds: many(UUID),
    maxExamined: NUMBER,
  },
  `with bounds as materialized (
      select uuid_at(greatest(coalesce(:from::timestamptz, 'epoch') - furthest - interval '1 hour', 'epoch')) as low,
        case when :to::timestamptz is null then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
          else uuid_at(greatest(:to::timestamptz + interval '1 hour', 'epoch')) end as high
      from (select coalesce(max(furthest), interval '0') as furthest from sandbox_clock) as ahead
    ), sought as materialized (
      select amount, array_agg(currency) as currencies from :amounts group by amount
    )
    ${showTransfers(`select wanted.program_id, of_amount.transfer_id
      from bounds cross join unnest(:programIds) as wanted(program_id) cross join sought cross join lateral (
        select transfer_id from (
          select transfer_id, currency, created_at, card_id, destination_card_id from transfer
          where transfer.program_id = wanted.program_id and transfer.amount = sought.amount
            and (transfer.amount, transfer.transfer_id) >= (sought.amount, bounds.low)
            and (transfer.amount, transfer.transfer_id) < (sought.amount, bounds.high)
          order by transfer.amount desc, transfer.transfer_id desc limit :maxExamined
        ) as looked_at
        where currency = any (sought.currencies)
          and (:from::timestamptz is null or created_at >= :from) and (:to::timestamptz is null or created_at < :to)
          and (cardinality(:cardIds::uuid[]) = 0 or card_id = any (:cardIds) or destination_card_id = any (:cardIds))
        order by transfer_id desc limit :count
      ) as of_amount`)}`,
);

/** An amount in minor units of some currencies, in a period. Null means no bound. */
export type SoughtAmount = {
  readonly amounts: readonly { readonly amount: number; readonly currencies: readonly string[] }[];
  readonly from: Date | null;
  readonly to: Date | null;
  /** Inner UUIDs of cards, if only their transfers are searched. Empty for all cards. */
  readonly cardIds: readonly string[];
};

/**
 * Finds the newest transfers of an amount. In each program, at most `maxExamined` transfers of that amount are compared with the
 * currencies, the period and the cards. The time in an id is approximately `created_at` (see `transfer-list.ts`).
 */
export function findTransfersByAmount(
  programIds: readonly string[],
  { amounts, from, to, cardIds }: SoughtAmount,
  maxExamined: number,
  count: number,
): Statement {
  const flat = amounts.flatMap(({ amount, currencies }) => currencies.map((currency) => ({ amount, currency })));
  return FIND_BY_AMOUNT({ programIds, amounts: flat, from, to, cardIds, maxExamined, count });
}
