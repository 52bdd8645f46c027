import type { ReplaySelection } from '../../../domain/webhooks/webhook.ts';
import type { Row } from '../connection/database.ts';
import { columns, INTEGER, many, NUMBER, rows, SMALLINT, statement, TIME, UUID, word } from '../sql.ts';
import { HELD } from './shard.ts';

const REPLAY = columns({
  replayId: UUID,
  webhookId: UUID,
  selection: word<ReplaySelection>(),
  fromAt: TIME,
  toAt: TIME,
  cursor: NUMBER,
  untilPosition: NUMBER,
  sent: INTEGER,
});

/** A replay that is not finished. */
export type RunningReplay = ReturnType<typeof REPLAY.read>;

export const toReplays = (found: readonly Row[]): readonly RunningReplay[] => found.map(REPLAY.read);

/** Reads the running replays of the webhooks of some shards. */
export const readRunningReplays = statement(
  'read_running_webhook_replays',
  { shards: many(SMALLINT) },
  `select ${REPLAY.of('running')} from (
      select replay_id, webhook_id, selection, from_at, to_at, webhook_replay.cursor, until_position, sent::integer
      from webhook_replay join webhook_state using (webhook_id)
      where webhook_replay.state = 'running' and shard = any (:shards)
    ) as running`,
);

const MOVED = columns({
  replayId: UUID,
  shard: SMALLINT,
  epoch: NUMBER,
  cursor: NUMBER,
  sentCount: NUMBER,
  state: word<'running' | 'completed'>(),
});

/** The progress of a replay. */
export type MovedReplay = ReturnType<typeof MOVED.read>;

/** Moves the cursors of replays, forward only; a canceled one is left unchanged. */
export const moveReplays = statement(
  'move_webhook_replays',
  { sent: rows(MOVED), owner: UUID },
  `with moved as materialized (
      select sent.*, case when sent.state = 'completed' then statement_timestamp() end as finished_at
      from :sent join ${HELD}
    )
    update webhook_replay as stored set cursor = greatest(stored.cursor, moved.cursor),
      sent = greatest(stored.sent, moved.sent_count), state = moved.state, finished_at = moved.finished_at
    from moved
    where stored.replay_id = moved.replay_id and stored.state = 'running'`,
);
