import { JSON_TEXT, NUMBER, nullable, SMALLINT, statement, TIME, UUID, word } from '../sql.ts';

/**
 * Has an event sent to a webhook at once, beside its cursor. A resend that is still waiting begins anew. `body` is the text
 * of an event that is not stored.
 */
export const requestDelivery = statement(
  'request_webhook_delivery',
  {
    webhookId: UUID,
    kind: word<'resend' | 'test'>(),
    eventId: UUID,
    programId: nullable(UUID),
    shard: SMALLINT,
    position: nullable(NUMBER),
    body: nullable(JSON_TEXT),
    createdAt: TIME,
  },
  // Attempts are due by the real time, also in a sandbox whose clock is ahead.
  `insert into webhook_delivery
      (webhook_id, kind, event_id, program_id, shard, position, body, state, created_at, next_at)
    values (:webhookId, :kind, :eventId, :programId, :shard, :position, :body, 'waiting', :createdAt, clock_timestamp())
    on conflict (webhook_id, kind, event_id) do update set tries = 0, state = 'waiting', next_at = excluded.next_at`,
);
