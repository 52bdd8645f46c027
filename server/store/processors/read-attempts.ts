import type { Attempt, AttemptStatus } from '../../../domain/processors/attempt.ts';
import type { Row, Statement } from '../connection/database.ts';
import { REPLICATED } from '../connection/standby.ts';
import { columns, INTEGER, NUMBER, nullable, statement, statementVariants, TEXT, TIME, UUID, word } from '../sql.ts';
import { ATTEMPT_COLUMNS, toAttempt } from './attempt.ts';

/** An attempt with the name of its card, as a response shows it. */
export type ShownAttempt = {
  readonly attempt: Attempt;
  readonly cardName: string;
  /** When it was read, by the database's clock. */
  readonly now: number;
};

/** Maximum number of attempts of one transfer. There is one, unless others were proved not to be executed. */
const MAX_OF_TRANSFER = 100;

const SHOWN = `${ATTEMPT_COLUMNS}, card.name as card_name, service_now() as now`;
const WITH_CARD = `join card on card.program_id = processor_attempt.program_id and card.card_id = processor_attempt.card_id`;

/** SQL: the attempts that have not ended, in the words of the index `processor_attempt_open`. */
const IS_OPEN = "processor_attempt.status not in ('approved', 'declined', 'failed', 'reversed')";

const LIST_ATTEMPTS = statement(
  'list_attempts',
  { programId: UUID, transferId: UUID, count: NUMBER },
  `select ${SHOWN}, ${REPLICATED} from processor_attempt ${WITH_CARD}
    where processor_attempt.program_id = :programId and processor_attempt.transfer_id = :transferId
    order by processor_attempt.attempt_id desc limit :count`,
);

/** Reads the attempts of a transfer, the newest first. */
export function listAttempts(programId: string, transferId: string): Statement {
  return LIST_ATTEMPTS({ programId, transferId, count: MAX_OF_TRANSFER });
}

/** Reads an attempt by its inner UUID, whatever its card program. */
export const readAttempt = statement(
  'read_attempt',
  { attemptId: UUID },
  `select ${SHOWN} from processor_attempt ${WITH_CARD} where processor_attempt.attempt_id = :attemptId`,
);

/** Which attempts are listed; null for no condition. `open`: all that have not ended. */
export type AttemptFilter = {
  readonly status: AttemptStatus | 'open';
  readonly connectorId: string | null;
  readonly programId: string | null;
};

const SEARCH_ATTEMPTS = statementVariants({
  connectorId: nullable(TEXT),
  programId: nullable(UUID),
  after: nullable(UUID),
  count: INTEGER,
});

/** Reads a page of attempts after the one with the inner UUID `after`: those that have ended the newest first, others the oldest. */
export function searchAttempts(filter: AttemptFilter, after: string | null, count: number): Statement {
  const { status, connectorId, programId } = filter;
  const isEnded = ENDED.has(status);
  // The status is part of the text, so that the planner can use the indexes of some statuses.
  const name = `search_attempts_${status}${connectorId === null ? '' : '_of_connector'}${programId === null ? '' : '_of_program'}${after === null ? '' : '_after'}`;
  const text = (): string => {
    const conditions = [
      ...(isEnded ? [] : [IS_OPEN]),
      ...(status === 'open' ? [] : [`processor_attempt.status = '${status}'`]),
      ...(connectorId === null ? [] : ['processor_attempt.connector_id = :connectorId']),
      ...(programId === null ? [] : ['processor_attempt.program_id = :programId']),
      ...(after === null ? [] : [`processor_attempt.attempt_id ${isEnded ? '<' : '>'} :after`]),
    ];
    return `select ${SHOWN} from processor_attempt ${WITH_CARD} where ${conditions.join(' and ')}
      order by processor_attempt.attempt_id${isEnded ? ' desc' : ''} limit :count`;
  };
  return SEARCH_ATTEMPTS(name, text, { connectorId, programId, after, count });
}

const ENDED: ReadonlySet<string> = new Set<AttemptStatus>(['approved', 'declined', 'failed', 'reversed']);

/** An attempt from a row of the statements of this file. */
export function toShownAttempt(row: Row): ShownAttempt {
  return { attempt: toAttempt(row), cardName: row.card_name as string, now: (row.now as Date).getTime() };
}

const COUNT = columns({
  connectorId: TEXT,
  status: word<AttemptStatus>(),
  count: NUMBER,
  oldestUnknownSince: nullable(TIME),
});

/** Counts the attempts that have not ended, by connector and status. */
export const COUNT_OPEN_ATTEMPTS: Statement = {
  name: 'count_open_attempts',
  text: `select connector_id, status, count(*) as count, min(unknown_since) as oldest_unknown_since
    from processor_attempt where ${IS_OPEN} group by connector_id, status`,
  values: [],
};

/** How many open attempts of a status a connector has, from a row of {@link COUNT_OPEN_ATTEMPTS}. */
export const toOpenCount = COUNT.read;
