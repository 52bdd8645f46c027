import { EVERY_PROGRAM } from '../../../domain/event.ts';
import type { ReplaySelection } from '../../../domain/webhooks/webhook.ts';
import type { Row, Statement } from '../connection/database.ts';
import {
  columns,
  DATE,
  INTEGER,
  insertRow,
  many,
  NUMBER,
  nullable,
  rows,
  SMALLINT,
  statement,
  TIME,
  UUID,
  word,
} from '../sql.ts';
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

export type MovedReplay = ReturnType<typeof MOVED.read>;

/** Moves the cursors of replays forward, never back. A canceled replay stays unchanged. */
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

const NEW_REPLAY = columns({
  replayId: UUID,
  webhookId: UUID,
  programId: nullable(UUID),
  selection: word<ReplaySelection>(),
  fromAt: DATE,
  toAt: DATE,
  /** Every event up to this position, or number, has been sent. */
  cursor: NUMBER,
  untilPosition: NUMBER,
  state: word<'running'>(),
  createdAt: DATE,
});

export const insertReplay = insertRow('insert_webhook_replay', 'webhook_replay', NEW_REPLAY);

const startOf = (name: string, place: 'position' | 'number', condition: string) =>
  statement(
    name,
    { programId: UUID, from: DATE },
    `with recursive search (low, high) as (
        select 1::bigint, coalesce((select position from event_head where program_id = :programId), 0) + 1
        union all
        select case when is_before then middle + 1 else low end, case when is_before then high else middle end
        from (
          select low, high, (low + high) / 2 as middle, coalesce((
              select relayed_at + coalesce((select furthest from sandbox_clock), interval '0') < :from
              from event_position where ${condition} and ${place} <= (low + high) / 2 order by ${place} desc limit 1
            ), true) as is_before
          from search where low < high
        ) as step
      )
      select low - 1 as start from search where low >= high`,
  );

const REPLAY_START = startOf('find_webhook_replay_start', 'position', 'program_id = :programId');
const REPLAY_START_OF_ALL = startOf('find_webhook_replay_start_of_all', 'number', 'not is_shared');

/**
 * Finds a position (without a program, a number) before all events since a given time, by bisection, and returns it as `start`.
 * Events are numbered after they were written. In a sandbox, the clock of the numbering may be behind the clock of the events.
 */
export function findReplayStart(programId: string | null, from: Date): Statement {
  return programId === null
    ? REPLAY_START_OF_ALL({ programId: EVERY_PROGRAM, from })
    : REPLAY_START({ programId, from });
}

export function toReplayStart(found: readonly Row[]): number {
  return Number(found[0]?.start);
}
