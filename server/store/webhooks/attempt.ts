import type { AttemptKind } from '../../../domain/webhooks/webhook.ts';
import { lowestIdAt } from '../../foundation/ids.ts';
import type { Database, Row, Statement } from '../connection/database.ts';
import { changeTables, readDayBefore } from '../partition.ts';
import {
  BOOLEAN,
  columns,
  DATE,
  INTEGER,
  insertRows,
  many,
  NUMBER,
  nullable,
  SMALLINT,
  statement,
  statementVariants,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';

const ATTEMPT = columns({
  attemptId: UUID,
  webhookId: UUID,
  programId: nullable(UUID),
  eventId: UUID,
  eventType: TEXT,
  position: nullable(NUMBER),
  kind: word<AttemptKind>(),
  try: SMALLINT,
  startedAt: TIME,
  milliseconds: INTEGER,
  succeeded: BOOLEAN,
  status: nullable(SMALLINT),
  address: nullable(TEXT),
  error: nullable(TEXT),
  message: nullable(TEXT),
  responseStart: nullable(TEXT),
});

/** A request to a webhook, and its result. */
export type Attempt = ReturnType<typeof ATTEMPT.read>;

export const toAttempt: (row: Row) => Attempt = ATTEMPT.read;

const INSERT_ATTEMPTS = insertRows('insert_webhook_attempts', 'webhook_attempt', ATTEMPT);

/** Stores attempts. Attempts that are already stored stay unchanged. */
export function insertAttempts(attempts: readonly Attempt[]): ReturnType<typeof INSERT_ATTEMPTS> {
  const insert = INSERT_ATTEMPTS(attempts);
  return { ...insert, text: `${insert.text} on conflict do nothing` };
}

/** The conditions of a list of attempts. Null means no condition. */
export type AttemptFilter = {
  readonly eventId: string | null;
  readonly succeeded: boolean | null;
  /** A range of statuses, including both bounds. `none` means attempts without a response. */
  readonly status: { readonly from: number; readonly to: number } | 'none' | null;
  /** The earliest start of an attempt (inclusive). */
  readonly from: Date | null;
  /** The latest start of an attempt (exclusive). */
  readonly to: Date | null;
};

const FILTER_VALUES = {
  eventId: nullable(UUID),
  firstStatus: nullable(SMALLINT),
  lastStatus: nullable(SMALLINT),
  from: nullable(DATE),
  lowest: nullable(UUID),
  to: nullable(DATE),
  highest: nullable(UUID),
  after: nullable(UUID),
  count: NUMBER,
};

/** Returns the conditions of a filter, and a function that adds their names to a statement's name. */
function conditionsOf({ eventId, succeeded, status, from, to }: AttemptFilter, after: string | null) {
  // An id begins with the time of its attempt, so the index can be searched by time.
  const conditions: readonly (readonly [name: string, condition: string] | null)[] = [
    eventId === null ? null : ['event', 'event_id = :eventId'],
    succeeded === null ? null : succeeded ? ['succeeded', 'succeeded'] : ['failed', 'not succeeded'],
    status === null
      ? null
      : status === 'none'
        ? ['no_status', 'status is null']
        : ['status', 'status between :firstStatus and :lastStatus'],
    from === null ? null : ['from', 'started_at >= :from and attempt_id >= :lowest'],
    to === null ? null : ['to', 'started_at < :to and attempt_id < :highest'],
    after === null ? null : ['after', 'attempt_id < :after'],
  ];
  const used = conditions.filter((condition) => condition !== null);
  return {
    nameAfter: (name: string) => [name, ...used.map(([part]) => part)].join('_'),
    and: used.map(([, condition]) => ` and ${condition}`).join(''),
  };
}

function valuesOf({ eventId, status, from, to }: AttemptFilter, after: string | null, count: number) {
  const range = status === null || status === 'none' ? null : status;
  return {
    eventId,
    firstStatus: range?.from ?? null,
    lastStatus: range?.to ?? null,
    from,
    lowest: from === null ? null : lowestIdAt(from),
    to,
    highest: to === null ? null : lowestIdAt(to),
    after,
    count,
  };
}

const LIST_ATTEMPTS = statementVariants({ webhookId: UUID, ...FILTER_VALUES });

/** Reads a page of the attempts of a webhook, newest first, after the attempt `after`. */
export function listAttempts(webhookId: string, filter: AttemptFilter, after: string | null, count: number): Statement {
  const { nameAfter, and } = conditionsOf(filter, after);
  const text = () => `select ${ATTEMPT.names} from webhook_attempt
    where webhook_id = :webhookId${and} order by attempt_id desc limit :count`;
  return LIST_ATTEMPTS(nameAfter('list_webhook_attempts'), text, { webhookId, ...valuesOf(filter, after, count) });
}

/** The conditions of a list of failed attempts, of one program's webhooks or of all webhooks. Null means no condition. */
export type FailureFilter = Pick<AttemptFilter, 'status' | 'from' | 'to'> & { readonly programId: string | null };

const LIST_FAILED_ATTEMPTS = statementVariants({ programId: nullable(UUID), ...FILTER_VALUES });

/**
 * Reads a page of the failed attempts of all webhooks, newest first, after the attempt `after`. It reads the newest failures of each
 * webhook from the index of failures, and returns the newest of these. So the time that it takes depends on the number of webhooks,
 * and not on the number of deliveries.
 */
export function listFailedAttempts(filter: FailureFilter, after: string | null, count: number): Statement {
  const { programId } = filter;
  const failures = { ...filter, eventId: null, succeeded: false };
  const { nameAfter, and } = conditionsOf(failures, after);
  const ofProgram = programId === null ? '' : ' where webhook.program_id = :programId';
  const text = () => `select found.* from webhook cross join lateral (
      select ${ATTEMPT.names} from webhook_attempt
      where webhook_attempt.webhook_id = webhook.webhook_id${and} order by attempt_id desc limit :count
    ) as found${ofProgram} order by found.attempt_id desc limit :count`;
  const name = nameAfter(programId === null ? 'list_all_attempts' : 'list_program_attempts');
  return LIST_FAILED_ATTEMPTS(name, text, { programId, ...valuesOf(failures, after, count) });
}

const READ_ATTEMPTS_OF_EVENTS = statement(
  'read_webhook_attempts_of_events',
  { eventIds: many(UUID), since: DATE, count: NUMBER },
  `select found.* from unnest(:eventIds) as wanted (event_id) cross join lateral (
      select ${ATTEMPT.names} from webhook_attempt
      where event_id = wanted.event_id and started_at >= :since
      order by attempt_id desc limit :count
    ) as found`,
);

/** Reads the attempts to send some events since a time, the latest `count` of each. */
export function readAttemptsOfEvents(eventIds: readonly string[], since: Date, count: number): Statement {
  return READ_ATTEMPTS_OF_EVENTS({ eventIds, since, count });
}

/** Deletes attempts of days that ended `days` days ago or earlier, by the database's clock. Returns the dropped partitions. */
export async function dropOldAttempts(database: Database, days: number): Promise<readonly string[]> {
  return database.alone(async (client) => {
    const day = await readDayBefore(client, days);
    return (await changeTables(client, 'drop_attempt_partitions', day)).flat() as readonly string[];
  });
}
