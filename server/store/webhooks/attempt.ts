import type { AttemptKind } from '../../../domain/webhooks/webhook.ts';
import type { Database, Row, Statement } from '../connection/database.ts';
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
  /** 1 for the first. */
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

/** One request to a webhook, and its result. */
export type Attempt = ReturnType<typeof ATTEMPT.read>;

/** An attempt from a row of {@link listAttempts}. */
export const toAttempt: (row: Row) => Attempt = ATTEMPT.read;

const INSERT_ATTEMPTS = insertRows('insert_webhook_attempts', 'webhook_attempt', ATTEMPT);

/** Stores attempts. Those already stored are left unchanged. */
export function insertAttempts(attempts: readonly Attempt[]): ReturnType<typeof INSERT_ATTEMPTS> {
  const insert = INSERT_ATTEMPTS(attempts);
  return { ...insert, text: `${insert.text} on conflict do nothing` };
}

/** Which attempts are listed; null for all. */
export type AttemptFilter = { readonly eventId: string | null; readonly succeeded: boolean | null };

const LIST_ATTEMPTS = statementVariants({
  webhookId: UUID,
  eventId: nullable(UUID),
  succeeded: nullable(BOOLEAN),
  after: nullable(UUID),
  count: NUMBER,
});

/** Reads a page of the attempts of a webhook, newest first, after the attempt `after`. */
export function listAttempts(
  webhookId: string,
  { eventId, succeeded }: AttemptFilter,
  after: string | null,
  count: number,
): Statement {
  const filters = [eventId === null ? 'any' : 'event', succeeded === null ? 'any' : succeeded ? 'succeeded' : 'failed'];
  // Each filter uses another index. The last condition of each keeps its parameter in the text.
  const text = () => `select ${ATTEMPT.names} from webhook_attempt
    where webhook_id = :webhookId and (:after::uuid is null or attempt_id < :after)
      and ${eventId === null ? ':eventId::uuid is null' : 'event_id = :eventId'}
      and ${succeeded === null ? ':succeeded::boolean is null' : `${succeeded ? '' : 'not '}succeeded and succeeded = :succeeded`}
    order by attempt_id desc limit :count`;
  return LIST_ATTEMPTS(`list_webhook_attempts_${filters.join('_')}`, text, {
    webhookId,
    eventId,
    succeeded,
    after,
    count,
  });
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

/** Deletes attempts of days that ended `days` ago, by the database's clock; returns the dropped partitions. */
export async function dropOldAttempts(database: Database, days: number): Promise<readonly string[]> {
  return database.alone(async (client) => {
    const { rows } = await client.query<{ names: string[] }>(
      `select drop_attempt_partitions((clock_timestamp() at time zone 'UTC')::date - $1::integer) as names`,
      [days],
    );
    return rows[0]?.names ?? [];
  });
}
