import {
  type CallOptions,
  type IncidentRecord,
  type InspectedIncident,
  type TransferService,
  TransferServiceError,
} from '../../../sdk/client.ts';

const PAGE_ROWS = 100;

/** An incident as the caller sees it. Operators see more. Null if there is none. */
export type ShownIncident = { readonly record: IncidentRecord; readonly inspected: InspectedIncident | null };

/** Reads an incident. Returns null if there is none, or it doesn't affect the caller. */
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
