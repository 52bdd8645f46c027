import { MAX_ATTACHED_CASES } from '../../../contract/support/incidents.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { readRows } from '../../calls/read-rows.ts';
import type { Service } from '../../calls/service.ts';
import {
  listIncidents as listStatement,
  readIncident,
  readProposedCases,
  toIncident,
} from '../../store/support/incident.ts';
import { foundIncident, incidentIdOf } from './incidents.ts';
import { toIncidentRecord, toOperatorIncidentRecord } from './record.ts';

/** list_incidents: of a program's key those within the reach of the program, of any other caller all; newest first. */
export async function listIncidents(service: Service, call: Call<'list_incidents'>): Promise<Reply<'list_incidents'>> {
  const { status } = call.query;
  const { caller } = call;
  const programId = caller.kind === 'program_key' ? caller.programId : null;
  const isResolved = status === undefined ? null : status === 'resolved';
  const record = await readPage(service, call, {
    prefix: 'inc',
    statement: (after, count) => listStatement(programId, isResolved, after, count),
    read: toIncident,
    idOf: ({ incidentId }) => incidentId,
    show: toIncidentRecord,
  });
  return { record };
}

/** inspect_incident: the incident, and the cases that it may have caused, or `incident_not_found`. */
export async function inspectIncident(
  service: Service,
  call: Call<'inspect_incident'>,
): Promise<Reply<'inspect_incident'>> {
  const { database } = service;
  const found = foundIncident(call, await readRows(database, readIncident({ incidentId: incidentIdOf(call) })));
  const proposed =
    found.resolvedAt !== null
      ? []
      : await readRows(database, readProposedCases({ ...found, count: MAX_ATTACHED_CASES }));
  const proposed_case_ids = proposed.map((row) => toWireId('case', String(row.case_id)));
  return { record: { ...toOperatorIncidentRecord(found), proposed_case_ids } };
}
