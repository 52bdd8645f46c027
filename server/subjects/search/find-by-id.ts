import type { RequestRecord } from '../../../contract/service/requests.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { CallContext, Service } from '../../calls/call.ts';
import { toOperationFailure } from '../../calls/read-rows.ts';
import { readApproval, toApproval } from '../../store/approval.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import { findEvent } from '../../store/events/read-events.ts';
import type { Period } from '../../store/ledger/statement.ts';
import { readPerson, toPerson } from '../../store/person.ts';
import {
  findAuditEntry,
  findKey,
  findMovements,
  findPrograms,
  findReversals,
  toFoundAuditEntry,
  toFoundKey,
  toFoundMovement,
  toFoundProgram,
  toFoundReversal,
} from '../../store/search/find-others.ts';
import { findTransfersById } from '../../store/search/find-transfers.ts';
import { readCases, toCase } from '../../store/support/case.ts';
import { type Incident, readIncident, toIncident } from '../../store/support/incident.ts';
import { toTransfer } from '../../store/transfers/transfer.ts';
import { readWebhook, toWebhookDetails } from '../../store/webhooks/webhook.ts';
import type { Term } from './read-term.ts';
import {
  type Found,
  foundApproval,
  foundAuditEntry,
  foundCase,
  foundEvent,
  foundIncident,
  foundKey,
  foundMovement,
  foundPerson,
  foundProgram,
  foundRequestRecord,
  foundReversal,
  foundTransfer,
  foundWebhook,
} from './summaries.ts';

export async function findById(
  context: SearchContext,
  { prefix, inner }: NonNullable<Term['id']>,
): Promise<readonly Found[]> {
  const { programId, programIds, read } = context;
  const show = async (rows: Promise<readonly Row[]>, toFound: (row: Row) => Found): Promise<readonly Found[]> =>
    (await rows).slice(0, 1).map(toFound);
  switch (prefix) {
    case 'tr':
      return show(read(findTransfersById(programIds, [inner], 1)), (row) => foundTransfer(toTransfer(row), 'id'));
    case 'rev':
      return show(read(findReversals(programIds, [inner], 1)), (row) => foundReversal(toFoundReversal(row), 'id'));
    case 'dep':
    case 'wd':
      return (
        await show(read(findMovements(programIds, inner)), (row) => foundMovement(toFoundMovement(row), 'id'))
      ).filter(({ kind }) => (kind === 'deposit') === (prefix === 'dep'));
    case 'req':
      return findOneRequest(context, inner);
    case 'case':
      return findOneCase(context, inner);
    case 'inc':
      return findOneIncident(context, inner);
    case 'prog': {
      const isSearched = programId === null || programId === inner;
      return show(read(findPrograms(isSearched ? [inner] : [], '', 1)), (row) =>
        foundProgram(toFoundProgram(row), 'id'),
      );
    }
    case 'key':
      return show(read(findKey(inner, programId)), (row) => foundKey(toFoundKey(row), 'id'));
    case 'per':
      // People do not belong to a card program.
      return programId === null ? show(read(readPerson({ personId: inner })), (row) => foundPerson(toPerson(row))) : [];
    case 'apr':
      return findOneApproval(context, inner);
    case 'wh':
      return show(read(readWebhook(inner, programId)), (row) => foundWebhook(toWebhookDetails(row)));
    case 'aud':
      return show(read(findAuditEntry(inner, programId)), (row) => foundAuditEntry(toFoundAuditEntry(row)));
    case 'evt':
      return findOneEvent(context, inner);
    default:
      return [];
  }
}

/** Finds a request that failed or succeeded. A search of one program finds only requests that certainly belong to that program. */
async function findOneRequest(
  { service, findRequest, programId, call }: SearchContext,
  requestId: string,
): Promise<readonly Found[]> {
  const record = await findRequest(service, requestId, call);
  if (record === undefined) return [];
  return programId === null || record.program_id === toWireId('prog', programId) ? [foundRequestRecord(record)] : [];
}

async function findOneCase({ programId, read }: SearchContext, caseId: string): Promise<readonly Found[]> {
  const found = (await read(readCases({ caseIds: [caseId] }))).map(toCase);
  return found.filter((one) => programId === null || one.programId === programId).map(foundCase);
}

async function findOneApproval({ programId, read }: SearchContext, approvalId: string): Promise<readonly Found[]> {
  const rows = await read(readApproval({ approvalId }));
  return rows
    .filter((row) => programId === null || toApproval(row).programId === programId)
    .map((row) => foundApproval(toApproval(row), row.now as Date));
}

/** Finds an incident. Every key in the incident's scope may read it. */
async function findOneIncident({ programId, read }: SearchContext, incidentId: string): Promise<readonly Found[]> {
  const found = (await read(readIncident({ incidentId }))).map(toIncident);
  const isInReach = (one: Incident): boolean => programId === null || (one.programId ?? programId) === programId;
  return found.filter(isInReach).map(foundIncident);
}

async function findOneEvent({ service, programId }: SearchContext, eventId: string): Promise<readonly Found[]> {
  try {
    const event = await findEvent(service.database, eventId, programId ?? undefined);
    return event === undefined ? [] : [foundEvent(event)];
  } catch (error) {
    throw toOperationFailure(error);
  }
}

/** Finds everything stored about a request by its inner UUID. Returns undefined if nothing is stored. */
export type FindRequest = (
  service: Service,
  requestId: string,
  call: Pick<CallContext, 'deadline' | 'isGone'>,
) => Promise<RequestRecord | undefined>;

export type SearchContext = {
  readonly service: Service;
  readonly findRequest: FindRequest;
  readonly term: Term;
  /** The only program to search, or null for all. */
  readonly programId: string | null;
  readonly programIds: readonly string[];
  readonly period: Period;
  readonly call: CallContext;
  readonly read: (statement: Statement) => Promise<readonly Row[]>;
};
