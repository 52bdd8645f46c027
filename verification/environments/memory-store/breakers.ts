import { type Meanings, NOTHING, timeOf } from './meaning.ts';
import { columnsOf, type StoredRow } from './parameters.ts';

/** The breakers of connectors. */
export const BREAKER_STATEMENTS: Meanings = {
  read_open_breakers(transaction) {
    return transaction
      .scan('connector_state', ({ opened_at }) => opened_at !== null)
      .map((row) => columnsOf(row, ['connector_id', 'opened_at', 'reason']));
  },

  *open_breaker(transaction, { values: [connector_id, reason, probeSeconds] }) {
    const key = String(connector_id);
    // In PostgreSQL, a unique index makes a second transaction wait for the first. Here, a lock does.
    yield* transaction.lock(`connector_state ${key}`);
    const now = transaction.clock();
    const opened = { opened_at: new Date(now), reason, updated_at: new Date(now) };
    const state = { ...opened, probe_at: new Date(now + Number(probeSeconds) * 1000) };
    const before = transaction.newest('connector_state', key);
    if (before === undefined) yield* transaction.insert('connector_state', key, { connector_id, ...state });
    else if (before.opened_at === null) yield* transaction.upsert('connector_state', key, { ...before, ...state });
    return NOTHING;
  },

  *take_probes(transaction, { values: [probeSeconds, connectorIds] }) {
    const now = transaction.clock();
    const next = now + Number(probeSeconds) * 1000;
    const isDue = ({ opened_at, probe_at }: StoredRow): boolean =>
      opened_at !== null && (timeOf(probe_at) <= now || timeOf(probe_at) > next);
    const taken: StoredRow[] = [];
    const isWanted = (row: StoredRow): boolean =>
      isDue(row) && (connectorIds as string[]).includes(String(row.connector_id));
    for (const { connector_id } of transaction.scan('connector_state', isWanted)) {
      const id = String(connector_id);
      const isTaken = yield* transaction.update('connector_state', id, (row) =>
        isDue(row) ? { ...row, probe_at: new Date(next) } : undefined,
      );
      if (isTaken) taken.push({ connector_id });
    }
    return taken;
  },

  *close_breaker(transaction, { values: [connectorId] }) {
    const closed = { opened_at: null, reason: null, probe_at: null, updated_at: new Date(transaction.clock()) };
    yield* transaction.update('connector_state', String(connectorId), (row) => ({ ...row, ...closed }));
    return NOTHING;
  },
};
