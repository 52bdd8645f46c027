import type { Row, Statement } from '../connection/database.ts';
import { columns, many, NUMBER, nullable, statement, TEXT, TIME } from '../sql.ts';

const STATE = columns({ connectorId: TEXT, openedAt: nullable(TIME), reason: nullable(TEXT) });

/** An open breaker of a connector. While it is open, the connector gets no new orders. */
export type OpenBreaker = {
  readonly connectorId: string;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  readonly reason: string;
};

/** Reads which breakers are open. Every connector whose breaker was ever open has a row. */
export const READ_OPEN_BREAKERS: Statement = {
  name: 'read_open_breakers',
  text: `select ${STATE.names} from connector_state where opened_at is not null`,
  values: [],
};

export function toOpenBreaker(row: Row): OpenBreaker {
  const { connectorId, openedAt, reason } = STATE.read(row);
  return { connectorId, openedAt: openedAt ?? 0, reason: reason ?? '' };
}

const OPEN_BREAKER = statement(
  'open_breaker',
  { connectorId: TEXT, reason: TEXT, probeSeconds: NUMBER },
  `insert into connector_state (connector_id, opened_at, reason, probe_at, updated_at)
    values (:connectorId, service_now(), :reason, service_now() + make_interval(secs => :probeSeconds), service_now())
    on conflict (connector_id) do update set opened_at = excluded.opened_at, reason = excluded.reason,
      probe_at = excluded.probe_at, updated_at = excluded.updated_at
      where connector_state.opened_at is null`,
);

/** Opens the breaker of a connector for all processes, unless it is open. The first probe is due after `probeSeconds`. */
export function openBreaker(connectorId: string, reason: string, probeSeconds: number): Statement {
  return OPEN_BREAKER({ connectorId, reason, probeSeconds });
}

const TAKE_PROBES = statement(
  'take_probes',
  { connectorIds: many(TEXT), probeSeconds: NUMBER },
  // If the next probe is far in the future, the clock has since been set back.
  `update connector_state set probe_at = service_now() + make_interval(secs => :probeSeconds)
    where connector_id = any (:connectorIds) and opened_at is not null and (
      probe_at <= service_now() or probe_at > service_now() + make_interval(secs => :probeSeconds)
    )
    returning connector_id`,
);

/** Takes the probes that are due, so that only one process makes each. Returns `connector_id`. */
export function takeProbes(connectorIds: readonly string[], probeSeconds: number): Statement {
  return TAKE_PROBES({ connectorIds, probeSeconds });
}

const CLOSE_BREAKER = statement(
  'close_breaker',
  { connectorId: TEXT },
  `update connector_state set opened_at = null, reason = null, probe_at = null, updated_at = service_now()
    where connector_id = :connectorId`,
);

export function closeBreaker(connectorId: string): Statement {
  return CLOSE_BREAKER({ connectorId });
}

/** Counts the attempts that have not ended, for each `connector_id`. */
export const COUNT_OPEN_ATTEMPTS: Statement = {
  name: 'count_open_attempts',
  text: `select connector_id, count(*)::int as attempts from processor_attempt
    where status not in ('approved', 'declined', 'failed', 'reversed')
    group by connector_id order by connector_id`,
  values: [],
};
