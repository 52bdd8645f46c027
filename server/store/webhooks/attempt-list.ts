import type { Row, Statement } from '../connection/database.ts';
import {
  BOOLEAN,
  columns,
  DATE,
  INTEGER,
  NUMBER,
  nullable,
  type RowOf,
  SMALLINT,
  statementVariants,
  TEXT,
  UUID,
  word,
} from '../sql.ts';

const ATTEMPT = columns({
  attemptId: UUID,
  webhookId: UUID,
  eventId: UUID,
  eventType: TEXT,
  position: nullable(NUMBER),
  kind: word<'event' | 'retry' | 'probe' | 'replay' | 'resend' | 'test'>(),
  /** 1 for the first. */
  try: SMALLINT,
  startedAt: DATE,
  milliseconds: INTEGER,
  succeeded: BOOLEAN,
  status: nullable(SMALLINT),
  address: nullable(TEXT),
  error: nullable(TEXT),
  message: nullable(TEXT),
  responseStart: nullable(TEXT),
});

/** One request to the URL of a webhook. */
export type StoredAttempt = RowOf<typeof ATTEMPT.columns>;

/** An attempt from a row of {@link listAttempts}. */
export const toAttempt: (row: Row) => StoredAttempt = ATTEMPT.read;

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
  // Each filter leads to another index. The last condition of each keeps its parameter in the text.
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
