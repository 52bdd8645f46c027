import {
  type CallOptions,
  type IncidentRecord,
  type InspectedIncident,
  type TransferService,
  TransferServiceError,
} from '../../../sdk/client.ts';
import { useSession } from '../../data/session.ts';
import { type OperationState, useOperation } from '../../data/use-operation.ts';

const POLL_MILLISECONDS = 5_000;
const PAGE_ROWS = 100;

/** An incident: as operators see it, or as everybody within its reach does; null if there is none. */
export type ShownIncident = { readonly record: IncidentRecord; readonly inspected: InspectedIncident | null };

/** Reads an incident; null if there is none, or none within the reach of the caller. */
export async function findIncident(
  api: TransferService,
  incidentId: string,
  isSupport: boolean,
  options: CallOptions,
): Promise<ShownIncident | null> {
  if (isSupport) {
    try {
      const inspected = await api.incidents.inspect(incidentId, options);
      return { record: inspected, inspected };
    } catch (error) {
      if (error instanceof TransferServiceError && error.Status === 404) return null;
      throw error;
    }
  }
  for await (const record of api.incidents.listAll({ limit: PAGE_ROWS }, options)) {
    if (record.incident_id === incidentId) return { record, inspected: null };
  }
  return null;
}

/** An incident, polled. */
export function useIncident(incidentId: string): OperationState<ShownIncident | null> {
  const { can } = useSession();
  const isSupport = can('inspect_incident');
  return useOperation((api, options) => findIncident(api, incidentId, isSupport, options), {
    deps: [incidentId, isSupport],
    pollMilliseconds: POLL_MILLISECONDS,
  });
}
