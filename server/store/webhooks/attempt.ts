import type { AttemptKind } from '../../../domain/webhooks/attempt.ts';
import type { Database } from '../connection/database.ts';
import { BOOLEAN, columns, INTEGER, insertRows, NUMBER, nullable, SMALLINT, TEXT, TIME, UUID, word } from '../sql.ts';

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

/** One request to a webhook, and what became of it. */
export type Attempt = ReturnType<typeof ATTEMPT.read>;

const INSERT_ATTEMPTS = insertRows('insert_webhook_attempts', 'webhook_attempt', ATTEMPT);

/** Stores attempts. Those that are stored already are left as they are. */
export function insertAttempts(attempts: readonly Attempt[]): ReturnType<typeof INSERT_ATTEMPTS> {
  const insert = INSERT_ATTEMPTS(attempts);
  return { ...insert, text: `${insert.text} on conflict do nothing` };
}

/** Days for which attempts are kept. */
const RETENTION_DAYS = 14;

/** Deletes attempts of days that have ended that long ago, by the database's clock; returns the dropped partitions. */
export async function dropOldAttempts(database: Database): Promise<readonly string[]> {
  return database.alone(async (client) => {
    const { rows } = await client.query<{ names: string[] }>(
      `select drop_attempt_partitions((clock_timestamp() at time zone 'UTC')::date - $1::integer) as names`,
      [RETENTION_DAYS],
    );
    return rows[0]?.names ?? [];
  });
}
