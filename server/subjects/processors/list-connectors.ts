import type { ConnectorRecord } from '../../../contract/processors/connectors.ts';
import { SIMULATOR_ID } from '../../../domain/sandbox.ts';
import { allAtConnector } from '../../../domain/switch.ts';
import type { Call, Reply } from '../../calls/call.ts';
import type { ConnectorStatus } from '../../calls/processors.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toSwitchRecord } from '../../calls/records/switch.ts';
import type { Service } from '../../calls/service.ts';
import { COUNT_OPEN_ATTEMPTS, toOpenCount } from '../../store/processors/read-attempts.ts';
import { READ_WHOLE_SWITCH, type SwitchReading, toSwitchReading } from '../../store/switch.ts';

type OpenCount = ReturnType<typeof toOpenCount>;

const OPEN = ['ready', 'sent', 'unknown', 'pending', 'reversing', 'attention'] as const;

/** list_connectors: the connectors by name, with what waits for them in all card programs, and what disables them. */
export async function listConnectors(
  { database, processors }: Service,
  _call: Call<'list_connectors'>,
): Promise<Reply<'list_connectors'>> {
  const [open, switches] = await Promise.all([
    readRows(database, COUNT_OPEN_ATTEMPTS),
    readRows(database, READ_WHOLE_SWITCH),
  ]);
  const counts = open.map(toOpenCount);
  const reading = toSwitchReading(switches);
  const statuses = [...processors.statuses()].sort((left, right) => (left.connectorId < right.connectorId ? -1 : 1));
  return { record: { data: statuses.map((status) => toConnectorRecord(status, counts, reading)) } };
}

function toConnectorRecord(
  status: ConnectorStatus,
  counts: readonly OpenCount[],
  { settings, now }: SwitchReading,
): ConnectorRecord {
  const { connectorId, state, since, reason, inFlight } = status;
  const own = counts.filter((count) => count.connectorId === connectorId);
  const open = OPEN.map((name) => [name, own.find((count) => count.status === name)?.count ?? 0] as const);
  const unknown = own.flatMap(({ oldestUnknownSince }) => (oldestUnknownSince === null ? [] : [oldestUnknownSince]));
  return {
    connector_id: connectorId,
    kind: connectorId === SIMULATOR_ID ? 'simulator' : 'http',
    state: state === 'up' ? 'up' : 'down',
    since: since === null ? null : new Date(since).toISOString(),
    reason,
    disabled_by: allAtConnector(settings, connectorId, now).map((setting) => toSwitchRecord(setting, now)),
    in_flight: inFlight,
    open: Object.fromEntries(open) as ConnectorRecord['open'],
    oldest_unknown_since: unknown.length === 0 ? null : new Date(Math.min(...unknown)).toISOString(),
  };
}
