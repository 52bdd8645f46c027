import { isErrorCode } from '../../../contract/errors/catalogue.ts';
import type { InspectedCase } from '../../../contract/support/cases.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { urgencyWord } from '../../../domain/support/case.ts';
import { covers } from '../../../domain/support/incident.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transact } from '../../commit/transaction.ts';
import { readProgram, toProgram } from '../../store/program.ts';
import {
  findCase,
  listCases as listStatement,
  readCase,
  readMessages,
  readSimilarCases,
  searchCases as searchStatement,
  toCase,
  toMessage,
  toQueuedCase,
  type WholeCase,
} from '../../store/support/case.ts';
import { READ_CURRENT_INCIDENTS, toIncident } from '../../store/support/incident.ts';
import { auditOf } from '../audit/audit.ts';
import {
  type CaseCall,
  caseIdOf,
  foundCase,
  programOf,
  toCaseDetails,
  toCaseRecord,
  toIncidentRecord,
  toQueuedRecord,
  withinScopes,
  withTexts,
} from './record.ts';

/** Maximum number of similar cases that are shown with a case. */
const MAX_SIMILAR = 10;

async function load(service: Service, call: CaseCall): Promise<WholeCase> {
  return foundCase(call, await readRows(service.database, readCase(caseIdOf(call), programOf(call))));
}

export async function getCase(service: Service, call: Call<'get_case'>): Promise<Reply<'get_case'>> {
  const found = await load(service, call);
  const messages = (await readRows(service.database, readMessages(found))).map(toMessage);
  return { record: toCaseDetails(found, messages, call.caller) };
}

export async function listCases(service: Service, call: Call<'list_cases'>): Promise<Reply<'list_cases'>> {
  const { status = null, request_id: sentId } = call.query;
  const requestId = sentId === undefined ? null : readFilter(call, 'request_id', 'req', sentId);
  const filter = { programId: call.programId, status, requestId };
  const record = await readPage(service, call, {
    prefix: 'case',
    statement: (after, count) => listStatement(filter, after, count),
    read: toCase,
    idOf: ({ caseId }) => caseId,
    show: (one) => withinScopes(toCaseRecord(one), call.caller),
  });
  return { record };
}

/** search_cases: returns the queue, with the most urgent cases first. */
export async function searchCases(service: Service, call: Call<'search_cases'>): Promise<Reply<'search_cases'>> {
  const { status = 'open', program_id: programId, code, incident_id: sentIncident } = call.query;
  if (code !== undefined && !isErrorCode(code)) {
    throw schemaRefusal(call, `'code' is '${code}', which is not an error code.`, '/code');
  }
  const filter = {
    programId: readProgramFilter(call, programId),
    status,
    code: code ?? null,
    incidentId: sentIncident === undefined ? null : readFilter(call, 'incident_id', 'inc', sentIncident),
  };
  const record = await readPage(service, call, {
    prefix: 'case',
    statement: (after, count) => searchStatement(filter, after, count),
    find: (caseId) => findCase({ caseId }),
    read: toQueuedCase,
    idOf: ({ caseId }) => caseId,
    show: toQueuedRecord,
  });
  return { record };
}

function readFilter(
  call: Call<'list_cases' | 'search_cases'>,
  name: 'request_id' | 'incident_id',
  prefix: 'req' | 'inc',
  sentId: string,
): string {
  const id = fromWireId(prefix, sentId);
  if (id !== undefined) return id;
  const kind = name === 'request_id' ? 'a request id' : 'an incident id';
  const message = `'${name}' is '${sentId}', which is not ${kind} (${prefix}_ and 32 hex digits).`;
  throw schemaRefusal(call, message, `/${name}`);
}

/**
 * inspect_case: returns a case. It shows causes and other programs' cases, so it is recorded in the audit log before the response.
 */
export async function inspectCase(service: Service, call: Call<'inspect_case'>): Promise<Reply<'inspect_case'>> {
  const { database } = service;
  const found = await load(service, call);
  const { caseId, programId, code } = found;
  const messages = await readRows(database, readMessages({ caseId }));
  const [program] = await readRows(database, readProgram(programId));
  const incidents = await readRows(database, READ_CURRENT_INCIDENTS);
  const similar = code === null ? [] : await readRows(database, readSimilarCases({ code, caseId, count: MAX_SIMILAR }));
  const record: InspectedCase = {
    ...withTexts(found, messages.map(toMessage)),
    urgency: urgencyWord(found.urgency),
    program_name: program === undefined ? '' : toProgram(program).name,
    incidents: incidents
      .map(toIncident)
      .filter((incident) => incident.resolvedAt === null && covers(incident, found))
      .map(toIncidentRecord),
    similar: similar.map(toCase).map(toCaseRecord),
  };
  const audited = { programId, subjectId: record.case_id, details: JSON.stringify({ code, status: found.status }) };
  await transact(database, call.deadline, {}, () => ({ result: null, writes: auditOf(call, audited) }));
  return { record };
}
