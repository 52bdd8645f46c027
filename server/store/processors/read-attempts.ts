import type { Attempt, AttemptStatus } from '../../../domain/processors/attempt.ts';
import type { Row, Statement } from '../connection/database.ts';
import { REPLICATED } from '../connection/standby.ts';
import { columns, DATE, NUMBER, nullable, statement, statementVariants, TEXT, TIME, UUID, word } from '../sql.ts';
import { ATTEMPT_COLUMNS, toAttempt } from './attempt.ts';
import { DATED_ORDERS, IS_OPEN_AT_END } from './unsettled.ts';

export type ShownAttempt = {
  readonly attempt: Attempt;
  readonly cardName: string;
  /** When the attempt was read, by the database's clock. */
  readonly now: number;
};

/**
 * Maximum number of attempts of one transfer. Usually there is only one. A second one exists only if the processor has proved that
 * it did not execute the first.
 */
const MAX_OF_TRANSFER = 100;

const SHOWN = `${ATTEMPT_COLUMNS}, card.name as card_name, service_now() as now`;
const WITH_CARD = `join card on card.program_id = processor_attempt.program_id and card.card_id = processor_attempt.card_id`;

/**
 * SQL: the condition for attempts that have not ended. It has the same text as the condition of the index `processor_attempt_open`.
 */
const IS_OPEN = "processor_attempt.status not in ('approved', 'declined', 'failed', 'reversed')";

const LIST_ATTEMPTS = statement(
  'list_attempts',
  { programId: UUID, transferId: UUID, count: NUMBER },
  `select ${SHOWN}, ${REPLICATED} from processor_attempt ${WITH_CARD}
    where processor_attempt.program_id = :programId and processor_attempt.transfer_id = :transferId
    order by processor_attempt.attempt_id desc limit :count`,
);

export function listAttempts(programId: string, transferId: string): Statement {
  return LIST_ATTEMPTS({ programId, transferId, count: MAX_OF_TRANSFER });
}

/** Reads an attempt by its inner UUID, in any card program. */
export const readAttempt = statement(
  'read_attempt',
  { attemptId: UUID },
  `select ${SHOWN} from processor_attempt ${WITH_CARD} where processor_attempt.attempt_id = :attemptId`,
);

/** The conditions of a list of attempts. Null means no condition. `open` means all that have not ended. */
export type AttemptFilter = {
  readonly status: AttemptStatus | 'open';
  readonly connectorId: string | null;
  readonly programId: string | null;
};

const SEARCH_ATTEMPTS = statementVariants({
  connectorId: nullable(TEXT),
  programId: nullable(UUID),
  after: nullable(UUID),
  maxExamined: NUMBER,
  count: NUMBER,
});

export type AttemptChunk = {
  /** The last attempt of the previous chunk (inner UUID), or null for the first. */
  readonly after: string | null;
  readonly count: number;
  /** Maximum number of attempts that are compared with the filter. It limits the time of a chunk if matches are rare. */
  readonly maxExamined: number;
};

/**
 * Reads a chunk of the attempts that match a filter: ended ones newest first, others oldest first. One index finds the candidates,
 * and the rest of the filter is compared with each.
 */
export function searchAttempts(filter: AttemptFilter, chunk: AttemptChunk): Statement {
  const { status, connectorId, programId } = filter;
  // The text contains the status as a literal, so that the planner can use partial indexes.
  const name = `search_attempts_${status}${connectorId === null ? '' : '_of_connector'}${programId === null ? '' : '_of_program'}${chunk.after === null ? '' : '_after'}`;
  return SEARCH_ATTEMPTS(name, () => textOf(filter, chunk.after !== null), { connectorId, programId, ...chunk });
}

/** Whether a search compares more attempts than it returns. False if one index covers the filter. */
export function isAttemptFiltered({ status, connectorId, programId }: AttemptFilter): boolean {
  return status === 'approved' || programId !== null || (connectorId !== null && ENDED.has(status));
}

const SEARCH_UNSETTLED = statement(
  'search_unsettled_attempts',
  {
    programId: UUID,
    connectorId: nullable(TEXT),
    beginsAt: DATE,
    endsAt: DATE,
    after: nullable(UUID),
    count: NUMBER,
  },
  `with ${DATED_ORDERS}
    select ${SHOWN} from dated
      join processor_attempt on processor_attempt.program_id = :programId and processor_attempt.attempt_id = dated.attempt_id
      ${WITH_CARD}
    where dated.amount is not null and ${IS_OPEN_AT_END} and (:connectorId::text is null or dated.connector_id = :connectorId)
      and (:after::uuid is null or dated.attempt_id < :after)
    order by dated.attempt_id desc limit :count`,
);

/** The approved attempts of a program that no settlement file or break had at a time. */
export type UnsettledFilter = {
  readonly programId: string;
  /** Null for all connectors. */
  readonly connectorId: string | null;
  readonly at: Date;
};

/** Reads a page of unsettled attempts, newest first, after the attempt `after` (inner UUID). */
export function searchUnsettledAttempts(
  { at, ...filter }: UnsettledFilter,
  after: string | null,
  count: number,
): Statement {
  return SEARCH_UNSETTLED({ ...filter, beginsAt: at, endsAt: at, after, count });
}

const FIRST_ID = "'00000000-0000-0000-0000-000000000000'::uuid";
const LAST_ID = "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid";

/**
 * SQL: the attempts that are searched for a chunk, the condition for matches, and the order of the index. Attempts that have not
 * ended, or ended without moving money, are few and have their own indexes. For a card program, the others are found only by
 * the bounds of its ids. With an additional equality condition, the planner could choose to read the attempts of all programs.
 */
function routeOf({ status, connectorId, programId }: AttemptFilter, isLater: boolean) {
  const ofConnector = connectorId === null ? [] : ['processor_attempt.connector_id = :connectorId'];
  const ofProgram = programId === null ? [] : ['processor_attempt.program_id = :programId'];
  const ofStatus = status === 'open' ? [] : [`processor_attempt.status = '${status}'`];
  const beyond = (sign: '<' | '>') => (isLater ? [`processor_attempt.attempt_id ${sign} :after`] : []);
  const key = 'processor_attempt.attempt_id';
  if (!ENDED.has(status)) {
    return { where: [IS_OPEN, ...ofStatus, ...ofConnector, ...beyond('>')], matches: ofProgram, key };
  }
  if (status !== 'approved') {
    return { where: [...ofStatus, ...beyond('<')], matches: [...ofConnector, ...ofProgram], key };
  }
  const matches = [...ofStatus, ...ofConnector];
  if (programId === null) return { where: beyond('<'), matches, key };
  const along = '(processor_attempt.program_id, processor_attempt.attempt_id)';
  const end = isLater ? '< (:programId::uuid, :after::uuid)' : `<= (:programId::uuid, ${LAST_ID})`;
  const where = [`${along} >= (:programId::uuid, ${FIRST_ID})`, `${along} ${end}`];
  return { where, matches, key: 'processor_attempt.program_id desc, processor_attempt.attempt_id' };
}

function textOf(filter: AttemptFilter, isLater: boolean): string {
  const { where, matches, key } = routeOf(filter, isLater);
  const [onward, backward] = ENDED.has(filter.status) ? ['desc', 'asc'] : ['asc', 'desc'];
  return `with candidate as materialized (
      select processor_attempt.attempt_id, ${matches.join(' and ') || 'true'} as matches
      from processor_attempt ${where.length === 0 ? '' : `where ${where.join(' and ')}`}
      order by ${key} ${onward} limit :maxExamined
    )
    select ${SHOWN}, walk.examined, walk.reached
    from (
      select (select count(*) from candidate) as examined,
        (select attempt_id from candidate order by attempt_id ${backward} limit 1) as reached
    ) as walk
    left join (
      select attempt_id from candidate where matches order by attempt_id ${onward} limit :count
    ) as page on true
    left join lateral (
      select * from processor_attempt where processor_attempt.attempt_id = page.attempt_id limit 1
    ) as processor_attempt on true
    left join lateral (
      select name from card
      where card.program_id = processor_attempt.program_id and card.card_id = processor_attempt.card_id limit 1
    ) as card on true
    order by page.attempt_id ${onward}`;
}

/**
 * Returns the attempts of a chunk, from the rows of {@link searchAttempts}. `next` is where the next chunk begins, or null at the
 * end.
 */
export function toAttemptChunk(
  rows: readonly Row[],
  chunk: AttemptChunk,
): { readonly items: readonly ShownAttempt[]; readonly next: string | null } {
  const items = rows.filter((row) => row.attempt_id !== null).map(toShownAttempt);
  const last = items.at(-1);
  if (last !== undefined && items.length === chunk.count) return { items, next: last.attempt.attemptId };
  const [row] = rows;
  const isCutShort = row !== undefined && Number(row.examined) === chunk.maxExamined;
  return { items, next: isCutShort ? (row.reached as string) : null };
}

const ENDED: ReadonlySet<string> = new Set<AttemptStatus>(['approved', 'declined', 'failed', 'reversed']);

export function toShownAttempt(row: Row): ShownAttempt {
  return { attempt: toAttempt(row), cardName: row.card_name as string, now: (row.now as Date).getTime() };
}

const COUNT = columns({
  connectorId: TEXT,
  status: word<AttemptStatus>(),
  count: NUMBER,
  oldestUnknownSince: nullable(TIME),
});

export const COUNT_OPEN_ATTEMPTS: Statement = {
  name: 'count_open_attempts',
  text: `select connector_id, status, count(*) as count, min(unknown_since) as oldest_unknown_since
    from processor_attempt where ${IS_OPEN} group by connector_id, status`,
  values: [],
};

export const toOpenCount = COUNT.read;
