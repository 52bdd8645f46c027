import type { Transfer } from '../../../domain/transfers/transfer.ts';
import type { Row, Statement } from '../connection/database.ts';
import { columns, DATE, NUMBER, nullable, statement, TEXT, UUID } from '../sql.ts';
import { LAST_ID } from './transfer-list.ts';
import { cardIdOf } from './transfer-route.ts';

/** SQL: whether the money of a transfer has moved or still may. A canceled or refused transfer charged no one. */
const IS_LIVE = `transfer.status in ('scheduled', 'pending', 'completed')
  and not (transfer.status = 'pending' and transfer.expires_at <= (select service_now()))`;

const PAIR = columns({ transferId: UUID, earlierId: UUID, firstId: UUID });

/** Ids of transfers with the same card, type and amount: a later transfer, the one before it, and the first of them. */
export type DuplicatePair = ReturnType<typeof PAIR.read>;

/** Number of older transfers beyond the chunk. They are only compared as the first of a pair. */
const OVERLAP = 500;

/** SQL: the transfers of a card, from one of its two indexes, newest first. */
const ofCard = (column: 'card_id' | 'destination_card_id'): string => {
  const only = column === 'card_id' ? '' : 'and transfer.destination_card_id is not null';
  const cardId = cardIdOf(':cardName');
  return `select transfer.* from transfer
    where transfer.program_id = :programId and transfer.${column} = ${cardId} ${only}
      and (transfer.${column}, transfer.transfer_id) < (${cardId}, :before::uuid)
    order by transfer.${column} desc, transfer.transfer_id desc limit :maxExamined::bigint + ${OVERLAP}`;
};

const READ_DUPLICATE_PAIRS = statement(
  'read_duplicate_pairs',
  { programId: UUID, cardName: TEXT, before: UUID, windowSeconds: NUMBER, maxExamined: NUMBER, count: NUMBER },
  `with candidate as materialized (
      select transfer.*, row_number() over (order by transfer_id desc) as place from (
        (${ofCard('card_id')}) union all (${ofCard('destination_card_id')})
        order by transfer_id desc limit :maxExamined::bigint + ${OVERLAP}
      ) as transfer
    ), pair as (
      select transfer_id, place, type, amount, card_id, destination_card_id, lag(transfer_id) over alike as earlier_id,
        coalesce(abs(extract(epoch from created_at - lag(created_at) over alike)) > :windowSeconds, true) as begins
      from candidate as transfer where ${IS_LIVE}
      window alike as (partition by type, amount, card_id, destination_card_id order by transfer_id)
    ), chain as (
      select *, max(transfer_id::text) filter (where begins)
        over (partition by type, amount, card_id, destination_card_id order by transfer_id)::uuid as first_id
      from pair
    ), page as (
      select transfer_id, earlier_id, first_id from chain
      where place <= :maxExamined and not begins
      order by transfer_id desc limit :count
    )
    select page.transfer_id, page.earlier_id, page.first_id, card.card_id,
      (select transfer_id from candidate where place = :maxExamined) as reached
    from (select ${cardIdOf(':cardName')} as card_id) as card
    left join page on true
    where card.card_id is not null
    order by page.transfer_id desc`,
);

export type DuplicateChunk = {
  /** Only transfers before this one (inner UUID) are read. Null to begin with the newest. */
  readonly before: string | null;
  readonly windowSeconds: number;
  /** Maximum number of transfers that are compared. It limits the time if duplicates are rare. */
  readonly maxExamined: number;
  readonly count: number;
};

/**
 * Reads pairs of transfers of a card, newest first. Each pair has a transfer, the previous transfer with the same card, type and
 * amount, and the first of all these transfers. The first is needed because the third of three equal transfers also repeats the
 * first. Returns no row if the card does not exist, and one row without a pair if there are no pairs.
 */
export function readDuplicatePairs(programId: string, cardName: string, chunk: DuplicateChunk): Statement {
  return READ_DUPLICATE_PAIRS({ programId, cardName, ...chunk, before: chunk.before ?? LAST_ID });
}

/** Returns the pairs from the rows of {@link readDuplicatePairs}. `reached` is where the next chunk begins, or null at the end. */
export function toDuplicatePairs(rows: readonly Row[]): {
  readonly pairs: readonly DuplicatePair[];
  readonly reached: string | null;
} {
  const pairs = rows.filter((row) => row.transfer_id !== null).map(PAIR.read);
  return { pairs, reached: (rows[0]?.reached as string | undefined) ?? null };
}

const READ_TRANSFERS_ALIKE = statement(
  'read_transfers_alike',
  {
    programId: UUID,
    transferId: UUID,
    cardId: UUID,
    destinationCardId: nullable(UUID),
    type: TEXT,
    amount: NUMBER,
    createdAt: DATE,
    windowSeconds: NUMBER,
    maxExamined: NUMBER,
    count: NUMBER,
  },
  // The time in ids of earlier versions comes from a different clock (see endsOf in transfer-list.ts). Here, a margin of a minute
  // is enough.
  `with candidate as materialized (
      select * from transfer
      where program_id = :programId and card_id = :cardId
        and (card_id, transfer_id) > (:cardId, uuid_at(:createdAt::timestamptz - make_interval(secs => :windowSeconds::bigint + 60)))
        and (card_id, transfer_id) < (:cardId, uuid_at(:createdAt::timestamptz + make_interval(secs => :windowSeconds::bigint + 60)))
      order by card_id, transfer_id limit :maxExamined
    )
    select found.transfer_id, clock.now from (select service_now() as now) as clock left join (
      select transfer_id from candidate as transfer
      where transfer_id <> :transferId and type = :type and amount = :amount
        and destination_card_id is not distinct from :destinationCardId::uuid
        and abs(extract(epoch from created_at - :createdAt::timestamptz)) <= :windowSeconds and ${IS_LIVE}
      order by transfer_id limit :count
    ) as found on true`,
);

/** Reads the ids of transfers with the same card, type and amount within `windowSeconds`, and the time as `now`. */
export function readTransfersAlike(
  transfer: Transfer,
  bounds: { readonly windowSeconds: number; readonly maxExamined: number; readonly count: number },
): Statement {
  const { programId, transferId, cardId, destinationCardId, type, amount, createdAt } = transfer;
  return READ_TRANSFERS_ALIKE({
    programId,
    transferId,
    cardId,
    destinationCardId,
    type,
    amount: Number(amount),
    createdAt: new Date(createdAt),
    ...bounds,
  });
}

/** Returns the ids from the rows of {@link readTransfersAlike}, and the service's time in milliseconds since 1970. */
export function toTransfersAlike(rows: readonly Row[]): { readonly ids: readonly string[]; readonly now: number } {
  const [first] = rows;
  if (!(first?.now instanceof Date)) throw new Error('the statement always has a row with the time');
  const ids = rows.flatMap((row) => (row.transfer_id === null ? [] : [row.transfer_id as string]));
  return { ids, now: first.now.getTime() };
}
