import type { ErrorCounts } from '../../../contract/error-log.ts';
import { ERRORS, isErrorCode } from '../../../contract/errors/catalogue.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import { clampToLastMoment } from '../../../contract/reading/times.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type CallContext, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toInspectedErrorRecord, toLoggedErrorRecord, toOperatorErrorRecord } from '../../calls/records/error.ts';
import { transact } from '../../commit/transaction.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import {
  countDrops,
  countErrors as countErrorsStatement,
  type ErrorFilter,
  type LoggedError,
  listErrors as listErrorsStatement,
  readError,
  toErrorCount,
  toLoggedError,
} from '../../store/error.ts';
import { auditOf } from '../audit/audit.ts';

/** get_error: returns an error of the card program. For errors of other programs or without a program, throws `error_not_found`. */
export async function getError(service: Service, call: Call<'get_error'>): Promise<Reply<'get_error'>> {
  const error = await findError(service, call, call.programId);
  return { record: toLoggedErrorRecord(error) };
}

/** Returns the error that the path names: in one card program, or in all if `programId` is null. Throws `error_not_found`. */
async function findError(
  service: Service,
  call: CallContext & { readonly params: { readonly request_id: string } },
  programId: string | null,
): Promise<LoggedError> {
  const { request_id: sentId } = call.params;
  const requestId = fromWireId('req', sentId);
  const rows = requestId === undefined ? [] : await readRows(service.database, readError(requestId, programId));
  const [row] = rows;
  if (row !== undefined) return toLoggedError(row);
  const hint = requestId === undefined ? ' A request id is req_ and 32 hex digits.' : '';
  const where = programId === null ? '' : ' in this card program';
  throw new Refusal('error_not_found', `There is no error with the request id '${sentId}'${where}.${hint}`);
}

/**
 * inspect_error: returns any error with all stored details, including causes, or throws `error_not_found`. It shows more than a
 * card program may see, so the request is recorded in the audit log before the response is sent.
 */
export async function inspectError(service: Service, call: Call<'inspect_error'>): Promise<Reply<'inspect_error'>> {
  const error = await findError(service, call, null);
  const { programId, requestId, code } = error;
  const audited = { programId, subjectId: toWireId('req', requestId), details: JSON.stringify({ code }) };
  await transact(service.database, call.deadline, {}, () => ({ result: null, writes: auditOf(call, audited) }));
  return { record: toInspectedErrorRecord(error) };
}

export async function listErrors(service: Service, call: Call<'list_errors'>): Promise<Reply<'list_errors'>> {
  const filter = readErrorFilter(call);
  const record = await readPage(service, call, {
    prefix: 'req',
    statement: (after, count) => listErrorsStatement({ ...filter, after, count, programId: call.programId }),
    read: toLoggedError,
    idOf: (error) => error.requestId,
    show: toLoggedErrorRecord,
  });
  return { record };
}

/**
 * search_errors: returns a page of all errors, newest first, including errors without a card program. `dropped` is the number of
 * errors in the requested period that could not be recorded. The other filters do not apply to that number.
 */
export async function searchErrors(service: Service, call: Call<'search_errors'>): Promise<Reply<'search_errors'>> {
  const programId = readProgramFilter(call, call.query.program_id);
  const filter = readErrorFilter(call);
  const [row] = await readRows(service.database, countDrops(filter.from, filter.to));
  const page = await readPage(service, call, {
    prefix: 'req',
    statement: (after, count) => listErrorsStatement({ ...filter, after, count, programId }),
    read: toLoggedError,
    idOf: (error) => error.requestId,
    show: toOperatorErrorRecord,
  });
  return { record: { ...page, dropped: Number(row?.count ?? 0n) } };
}

/** Reads the filter of a list of errors. An unknown code or operation is refused, because an empty list would hide a typo. */
function readErrorFilter(
  call: Call<'list_errors'> | Call<'search_errors'>,
): Omit<ErrorFilter, 'after' | 'count' | 'programId'> {
  const { query } = call;
  const { code, operation } = query;
  if (code !== undefined) requireCode(call, code);
  if (operation !== undefined && !Object.hasOwn(OPERATIONS, operation)) {
    throw invalidParameter(call, 'operation', `'operation' is '${operation}', which is not an operation.`);
  }
  return {
    codes: code === undefined && query.type === undefined ? null : codesOf(code, query.type),
    operation: operation ?? null,
    cardName: query.card_id ?? null,
    from: toDate(query.created_from),
    to: toDate(query.created_to),
  };
}

function requireCode(call: CallContext, code: string): void {
  if (isErrorCode(code)) return;
  throw invalidParameter(call, 'code', `'code' is '${code}', which is not an error code. All codes are at /errors.`);
}

function invalidParameter(call: CallContext, name: string, message: string): Refusal {
  return schemaRefusal(call, message, `/${name}`);
}

/** A code never changes its type (specification, section 7.2), so a type is equivalent to a set of codes. */
function codesOf(code: string | undefined, type: string | undefined): readonly string[] {
  return Object.entries(ERRORS)
    .filter(([name, entry]) => (code ?? name) === name && (type ?? entry.type) === entry.type)
    .map(([name]) => name);
}

function toDate(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text);
}

const HOUR_MILLISECONDS = 3_600_000;
const INTERVAL_MILLISECONDS = { hour: HOUR_MILLISECONDS, day: 24 * HOUR_MILLISECONDS } as const;

/** Number of intervals when the request has no `from`. */
const DEFAULT_INTERVALS = { hour: 24, day: 30 } as const;

/** Maximum number of intervals in one response. */
const MAX_INTERVALS = 1_000;

/** count_errors: returns the number of errors per code and hour or day (UTC). Intervals without errors are omitted. */
export async function countErrors(service: Service, call: Call<'count_errors'>): Promise<Reply<'count_errors'>> {
  const { query } = call;
  const { interval = 'hour', code } = query;
  const length = INTERVAL_MILLISECONDS[interval];
  if (code !== undefined) requireCode(call, code);
  const programId = readProgramFilter(call, query.program_id);
  const end = query.to === undefined ? databaseTime() : Date.parse(query.to);
  const to = clampToLastMoment(Math.ceil(end / length) * length);
  const earliest = query.from === undefined ? to - DEFAULT_INTERVALS[interval] * length : Date.parse(query.from);
  const from = Math.floor(earliest / length) * length;
  if (from >= to) throw invalidParameter(call, 'from', "'from' must be earlier than 'to'.");
  if ((to - from) / length > MAX_INTERVALS) {
    throw invalidParameter(
      call,
      'from',
      `'from' and 'to' are more than ${MAX_INTERVALS} intervals apart. Use days, or a shorter period.`,
    );
  }
  const bounds = [new Date(from), new Date(to)] as const;
  const statement = countErrorsStatement(interval, ...bounds, programId, code ?? null);
  const counts = (await readRows(service.database, statement)).map(toErrorCount);
  const [drops] = await readRows(service.database, countDrops(...bounds));
  const record: ErrorCounts = {
    interval,
    from: bounds[0].toISOString(),
    to: bounds[1].toISOString(),
    data: counts.map((counted) => ({
      start: new Date(counted.start).toISOString(),
      code: counted.code,
      type: isErrorCode(counted.code) ? ERRORS[counted.code].type : null,
      count: counted.count,
    })),
    dropped: Number(drops?.count ?? 0n),
  };
  return { record };
}
