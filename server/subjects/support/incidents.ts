import { isErrorCode } from '../../../contract/errors/catalogue.ts';
import { OPERATION_IDS } from '../../../contract/operations.ts';
import { MAX_ATTACHED_CASES, type OperatorIncidentRecord } from '../../../contract/support/incidents.ts';
import { type DomainEvent, EVERY_PROGRAM } from '../../../domain/event.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { MAX_TEXT_CHARACTERS } from '../../../domain/support/case.ts';
import { covers } from '../../../domain/support/incident.ts';
import { type Call, type CallContext, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { loadProgram } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transact } from '../../commit/transaction.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import type { Row } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { lockCases, readCases, type SupportCase, toCase, updateCases } from '../../store/support/case.ts';
import {
  type CountedIncident,
  type Incident,
  insertIncident,
  listIncidents as listStatement,
  lockIncident,
  readIncident,
  readProposedCases,
  toCountedIncident,
  toIncident,
  updateIncident as writeIncident,
} from '../../store/support/incident.ts';
import { READ_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { auditOf } from '../audit/audit.ts';
import { caseMissing, nameOf, readNameOf, toIncidentRecord, toOperatorIncidentRecord } from './record.ts';

type ChangeId = 'create_incident' | 'update_incident' | 'attach_cases' | 'resolve_incident';

export type IncidentCall = CallContext & { readonly params: { readonly incident_id: string } };

const clean = (text: string): string => withoutSecrets(text, MAX_TEXT_CHARACTERS);

/** create_incident: returns the incident. Within a second, the error responses that it covers name it in a header. */
export async function createIncident(
  service: Service,
  call: Call<'create_incident'>,
): Promise<Reply<'create_incident'>> {
  const { body } = call;
  const codes = readCodes(call, body.codes ?? []);
  const coverage = { ...readScope(call), codes };
  const { program_id: sentId } = body;
  const program = sentId === undefined ? undefined : await loadProgram(service, sentId);
  return transactUnderKey(service, call, {
    load: { name: readNameOf(call.caller) },
    decide: ({ name }, { batchId, now }) => {
      const startedAt = body.started_at === undefined ? new Date(now) : new Date(body.started_at);
      if (startedAt.getTime() > now) {
        throw schemaRefusal(
          call,
          `'started_at' is '${body.started_at}', but it must not be in the future.`,
          '/started_at',
        );
      }
      const incident: CountedIncident = {
        ...coverage,
        incidentId: idAt(now),
        programId: program?.programId ?? null,
        title: clean(body.title),
        publicText: clean(body.public_text),
        internalText: body.internal_text === undefined ? null : clean(body.internal_text),
        createdBy: nameOf(call.caller, name),
        outcome: null,
        resolution: null,
        startedAt,
        updatedAt: new Date(now),
        resolvedAt: null,
        caseCount: 0,
        unresolvedCaseCount: 0,
      };
      const shown = recordOf(call, incident);
      const events = insertEvents(batchId, eventsOf('incident.opened', incident), now, call);
      return { ...shown, subjectId: incident.incidentId, writes: [insertIncident(incident), events, ...shown.audited] };
    },
  });
}

function readScope(call: Call<'create_incident'>): Pick<Incident, 'scope' | 'operation'> {
  const { scope, program_id: programId, operation } = call.body;
  for (const [name, value] of [
    ['program', programId],
    ['operation', operation],
  ] as const) {
    const field = name === 'program' ? 'program_id' : name;
    if ((scope === name) === (value !== undefined)) continue;
    const message =
      scope === name
        ? `The required field '${field}' is missing. The scope is '${scope}'.`
        : `'${field}' can only be sent with the scope '${name}', but the scope is '${scope}'.`;
    throw schemaRefusal(call, message, `/${field}`);
  }
  if (operation !== undefined && !OPERATION_IDS.some((id) => id === operation)) {
    throw schemaRefusal(call, `'operation' is '${operation}', which is not an operation.`, '/operation');
  }
  return { scope, operation: operation ?? null };
}

function readCodes(call: Call<'create_incident' | 'update_incident'>, codes: readonly string[]): readonly string[] {
  const unknown = codes.findIndex((code) => !isErrorCode(code));
  if (unknown === -1) return [...new Set(codes)];
  throw schemaRefusal(call, `'codes' has '${codes[unknown]}', which is not an error code.`, `/codes/${unknown}`);
}

/**
 * update_incident: returns the incident with its new wording or codes. Card programs get an event if the change is visible to
 * them.
 */
export async function updateIncident(
  service: Service,
  call: Call<'update_incident'>,
): Promise<Reply<'update_incident'>> {
  const { title, public_text: publicText, internal_text: internalText, codes } = call.body;
  const sentCodes = codes === undefined ? undefined : readCodes(call, codes);
  const incidentId = incidentIdOf(call);
  const load = { lock: lockIncident({ incidentId }), clock: READ_SWITCH, found: readIncident({ incidentId }) };
  return transact(service.database, call.deadline, load, ({ found, clock }, batchId) => {
    const before = foundOpen(call, found);
    const { now } = toSwitchReading(clock);
    const changed: CountedIncident = {
      ...before,
      title: title === undefined ? before.title : clean(title),
      publicText: publicText === undefined ? before.publicText : clean(publicText),
      internalText:
        internalText === undefined ? before.internalText : internalText === null ? null : clean(internalText),
      codes: sentCodes ?? before.codes,
    };
    const isShown = JSON.stringify(toIncidentRecord(changed)) !== JSON.stringify(toIncidentRecord(before));
    if (!isShown && changed.internalText === before.internalText) {
      const { record, json } = recordOf(call, before);
      return { result: { record, json }, writes: [] };
    }
    const after = { ...changed, updatedAt: new Date(now) };
    const { record, json, audited } = recordOf(call, after);
    const events = isShown ? [insertEvents(batchId, eventsOf('incident.updated', after), now, call)] : [];
    return { result: { record, json }, writes: [writeIncident(after), ...events, ...audited] };
  });
}

/** attach_cases: returns the incident with more cases. Cases of another incident move to this one. */
export async function attachCases(service: Service, call: Call<'attach_cases'>): Promise<Reply<'attach_cases'>> {
  const incidentId = incidentIdOf(call);
  const sentIds = call.body.case_ids;
  const caseIds = sentIds.map((sentId, at) => {
    const caseId = fromWireId('case', sentId);
    if (caseId === undefined) throw caseMissing(call, sentId, `/case_ids/${at}`);
    return caseId;
  });
  return transactUnderKey(service, call, {
    load: {
      lock: lockIncident({ incidentId }),
      lockCases: lockCases({ caseIds }),
      found: readIncident({ incidentId }),
      cases: readCases({ caseIds }),
    },
    decide: ({ found, cases }, { now }) => {
      const before = foundOpen(call, found);
      const read = new Map(cases.map(toCase).map((one) => [one.caseId, one]));
      const all = caseIds.map((caseId, at) => read.get(caseId) ?? refuseMissing(call, sentIds[at] ?? '', at));
      const over = all.findIndex(({ status }) => status !== 'open' && status !== 'waiting');
      if (over !== -1) {
        const message = `The case '${sentIds[over]}' is ${all[over]?.status}. Only open and waiting cases can be attached.`;
        throw new Refusal('invalid_case_status', message, { field: `/case_ids/${over}` });
      }
      const added = [...read.values()].filter((one) => one.incidentId !== incidentId);
      const updatedAt = new Date(now);
      const attached = added.map((one): SupportCase => ({ ...one, incidentId, updatedAt }));
      const after = {
        ...before,
        caseCount: before.caseCount + added.length,
        unresolvedCaseCount: before.unresolvedCaseCount + added.length,
      };
      const shown = recordOf(call, after, { case_ids: sentIds });
      const writes = attached.length === 0 ? [] : [updateCases(attached), ...shown.audited];
      const uncovered = sentIds.filter((_, at) => !isCovered(before, all[at]));
      const record = { ...shown.record, uncovered_case_ids: uncovered };
      return { record, json: JSON.stringify(record), subjectId: incidentId, writes };
    },
  });
}

function isCovered(incident: Incident, found: SupportCase | undefined): boolean {
  return found !== undefined && covers(incident, found);
}

function refuseMissing(call: CallContext, sentId: string, at: number): never {
  throw caseMissing(call, sentId, `/case_ids/${at}`);
}

/** resolve_incident: returns the resolved incident. A job resolves its cases (follow-incidents.ts). */
export async function resolveIncident(
  service: Service,
  call: Call<'resolve_incident'>,
): Promise<Reply<'resolve_incident'>> {
  const incidentId = incidentIdOf(call);
  const { text, outcome } = call.body;
  return transactUnderKey(service, call, {
    load: { lock: lockIncident({ incidentId }), found: readIncident({ incidentId }) },
    decide: ({ found }, { batchId, now }) => {
      const at = new Date(now);
      const before = foundOpen(call, found);
      const after = { ...before, outcome, resolution: clean(text), resolvedAt: at, updatedAt: at };
      const shown = recordOf(call, after);
      const events = insertEvents(batchId, eventsOf('incident.resolved', after), now, call);
      return { ...shown, subjectId: incidentId, writes: [writeIncident(after), events, ...shown.audited] };
    },
  });
}

/** Returns the inner UUID of the incident in the path. Throws `incident_not_found` if it is not the id of an incident. */
export function incidentIdOf(call: IncidentCall): string {
  const incidentId = fromWireId('inc', call.params.incident_id);
  if (incidentId === undefined) throw incidentMissing(call);
  return incidentId;
}

/** Returns the incident that was read for a call. Throws `incident_not_found`. */
export function foundIncident(call: IncidentCall, [row]: readonly Row[]): CountedIncident {
  if (row === undefined) throw incidentMissing(call);
  return toCountedIncident(row);
}

function foundOpen(call: IncidentCall, rows: readonly Row[]): CountedIncident {
  const found = foundIncident(call, rows);
  if (found.resolvedAt === null) return found;
  const message = 'The incident is resolved. Open a new one if the problem is back.';
  throw new Refusal('invalid_incident_status', message);
}

function incidentMissing({ params }: IncidentCall): Refusal {
  const { incident_id: sentId } = params;
  const hint = fromWireId('inc', sentId) === undefined ? ' An incident id is inc_ and 32 hex digits.' : '';
  return new Refusal('incident_not_found', `There is no incident '${sentId}'.${hint}`);
}

/** Returns the events of a change: one for its card program or for every program, and one of the service for operators. */
function eventsOf(
  type: 'incident.opened' | 'incident.updated' | 'incident.resolved',
  incident: Incident,
): readonly DomainEvent[] {
  const record = toIncidentRecord(incident);
  const { programId } = incident;
  const event = { type, subjectId: record.incident_id, payload: JSON.stringify(record) };
  const reach = programId === null ? [null, EVERY_PROGRAM] : [programId];
  return reach.map((ofProgram) => ({ ...event, programId: ofProgram }));
}

function recordOf(call: Call<ChangeId>, incident: CountedIncident, more: object = {}) {
  const record: OperatorIncidentRecord = toOperatorIncidentRecord(incident);
  const json = JSON.stringify(record);
  const details = JSON.stringify({ ...record, ...more });
  const audited = auditOf(call, { programId: incident.programId, subjectId: record.incident_id, details });
  return { record, json, audited };
}

/** list_incidents: lists the incidents in the scope of a program's key, or all incidents for other callers. Newest first. */
export async function listIncidents(service: Service, call: Call<'list_incidents'>): Promise<Reply<'list_incidents'>> {
  const { status } = call.query;
  const { caller } = call;
  const programId = 'programId' in caller ? caller.programId : null;
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

/** inspect_incident: returns the incident and the cases that it may have caused, or throws `incident_not_found`. */
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
