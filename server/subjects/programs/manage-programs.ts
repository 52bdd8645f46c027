import type { ProgramRecord } from '../../../contract/programs.ts';
import type { DomainEvent } from '../../../domain/event.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { changeLimits, type Limits, type LimitsChange, sameLimits } from '../../../domain/ledger/limits.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import { changeMetadata, type MetadataChange, sameMetadata } from '../../../domain/metadata.ts';
import { type Call, type CallContext, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import {
  checkLimits,
  checkMetadata,
  readAsOf,
  readLimitsChange,
  readPair,
  refuseUnsettled,
} from '../../calls/fields.ts';
import { readPage } from '../../calls/page.ts';
import { checkCurrency, loadProgram, programMissing } from '../../calls/program.ts';
import { readRows, toOperationFailure } from '../../calls/read-rows.ts';
import { fundingLowEvent } from '../../calls/records/event.ts';
import { checkVersion } from '../../calls/version.ts';
import { transact } from '../../commit/transaction.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import type { Database } from '../../store/connection/database.ts';
import { StoreFailure } from '../../store/connection/failure.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { NO_PROGRAM } from '../../store/idempotency.ts';
import { createFundingAccounts, lockAllFunding, raiseFundingVersions } from '../../store/ledger/account.ts';
import { fromLimits } from '../../store/ledger/limits.ts';
import { readFundingAt, toBalancesAt, toClock } from '../../store/ledger/trial-balance.ts';
import { HOLD_SWITCH } from '../../store/locks.ts';
import {
  findProgram,
  insertProgram,
  listPrograms as listStatement,
  lockProgram,
  type Program,
  readProgram,
  readTimeZone,
  toProgram,
  updateProgram as writeProgram,
} from '../../store/program.ts';
import { READ_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { auditOf, withoutMetadata } from '../audit/audit.ts';

export async function createProgram(service: Service, call: Call<'create_program'>): Promise<Reply<'create_program'>> {
  const {
    name,
    currency: sentCurrency,
    time_zone: timeZone = 'UTC',
    funding_low_threshold: threshold,
    metadata = {},
  } = call.body;
  const currency = checkCurrency(call, sentCurrency);
  if (!(await isTimeZone(service.database, timeZone))) {
    const message = `'time_zone' is '${timeZone}', which is not an IANA time zone, such as UTC or Europe/Berlin.`;
    throw schemaRefusal(call, message, '/time_zone');
  }
  return transactUnderKey(service, call, {
    load: {},
    decide: (_, { batchId, now }) => {
      const programId = idAt(now);
      const accountIds = { funding: idAt(now, 0), world: idAt(now, 1) };
      const program: Program = {
        programId,
        name,
        currency,
        timeZone,
        createdAt: new Date(now),
        today: '',
        funding: [{ currency, balance: 0n, held: 0n }],
        limits: null,
        cardLimits: null,
        fundingLowThreshold: threshold === undefined ? null : BigInt(threshold),
        metadata,
      };
      const record = toProgramRecord(program);
      const json = JSON.stringify(record);
      const event = { type: 'program.created' as const, programId, subjectId: record.program_id, payload: json };
      const writes = [
        insertProgram(program, program.createdAt),
        createFundingAccounts(programId, currency, accountIds),
        insertEvents(batchId, [event], now, call),
        ...auditOf(call, { programId, subjectId: record.program_id, details: JSON.stringify(withoutMetadata(record)) }),
      ];
      return { record, json, subjectId: programId, writes };
    },
  });
}

/** PostgreSQL's SQLSTATE for a setting with an invalid value. */
const INVALID_VALUE = '22023';

/**
 * The possible names of a time zone. PostgreSQL also accepts POSIX offsets and rules, such as `FOO+3`. These all contain digits, so
 * the pattern allows digits only in the real names that have them.
 */
const NAME =
  /^(?:[A-Za-z_/+-]+|(?:posix\/)?(?:(?:Etc\/)?GMT[+-]?0|Etc\/GMT(?:\+[1-9]|\+1[0-2]|-[1-9]|-1[0-4])|(?:EST5E|CST6C|MST7M|PST8P)DT))$/;

/** Files of the time zone database that are not places: the placeholder for an unset zone, and the server's own zone. */
const PLACEHOLDER = /^(?:posix\/)?(?:Factory|localtime|posixrules)$/;

/**
 * Returns whether the server has a time zone with exactly this name, in the same case. Abbreviations, offsets and POSIX rules do
 * not count.
 */
export async function isTimeZone(database: Database, name: string): Promise<boolean> {
  if (!NAME.test(name) || PLACEHOLDER.test(name)) return false;
  try {
    const [row] = await database.read(readTimeZone(name));
    return row?.name === name;
  } catch (error) {
    if (error instanceof StoreFailure && error.sqlState === INVALID_VALUE) return false;
    throw toOperationFailure(error);
  }
}

export async function getProgram(service: Service, call: Call<'get_program'>): Promise<Reply<'get_program'>> {
  const { program_id: sentId } = call.params;
  const before = readAsOf(call.query);
  if (before === undefined) return { record: toProgramRecord(await loadProgram(service, sentId)) };
  const past = await readRows(service.database, readFundingAt(fromWireId('prog', sentId) ?? NO_PROGRAM, before));
  refuseUnsettled(call, toClock(past));
  const record = toProgramRecord(await loadProgram(service, sentId));
  const balances = new Map(toBalancesAt(past).map(({ currency, balance }) => [currency, balance]));
  const funding = record.funding.map((now) => ({ ...now, balance_as_of: toWire(balances.get(now.currency) ?? 0n) }));
  return { record: { ...record, funding } };
}

export async function listPrograms(service: Service, call: Call<'list_programs'>): Promise<Reply<'list_programs'>> {
  const pair = readPair(call);
  const record = await readPage(service, call, {
    prefix: 'prog',
    statement: (after, count) => listStatement(pair, after, count),
    read: toProgram,
    idOf: (program) => program.programId,
    show: toProgramRecord,
  });
  return { record };
}

/** Maximum number of cached programs. If there are more, the cache is cleared. */
const MAX_CACHED = 100_000;

/** Returns a function that finds the inner UUID for a Program-Id header. It caches results, because programs are never deleted. */
export function openProgramSearch(database: Database): (sentId: string) => string | Promise<string> {
  const known = new Map<string, string>();
  const lookUp = async (sentId: string): Promise<string> => {
    const programId = fromWireId('prog', sentId);
    if (programId === undefined) throw programMissing(sentId);
    if ((await readRows(database, findProgram(programId))).length === 0) throw programMissing(sentId);
    if (known.size >= MAX_CACHED) known.clear();
    known.set(sentId, programId);
    return programId;
  };
  return (sentId) => known.get(sentId) ?? lookUp(sentId);
}

function toProgramRecord(program: Program): ProgramRecord {
  return {
    program_id: toWireId('prog', program.programId),
    name: program.name,
    currency: program.currency,
    time_zone: program.timeZone,
    funding: program.funding.map(({ currency, balance, held }) => ({
      currency,
      balance: toWire(balance),
      available: toWire(balance - held),
    })),
    limits: fromLimits(program.limits),
    card_limits: fromLimits(program.cardLimits),
    funding_low_threshold: program.fundingLowThreshold === null ? null : toWire(program.fundingLowThreshold),
    metadata: program.metadata,
    created_at: program.createdAt.toISOString(),
  };
}

// Invariant: funding.low is sent exactly when a program's available funding falls below its threshold
// Kept by: the code that decides each movement of the funds, and this file if the threshold changes
// Tested by: `test/store/funding`

/** A change of a program. Undefined leaves a field unchanged, and null removes it. */
type ProgramChange = {
  readonly name: string | undefined;
  readonly limits: LimitsChange | null | undefined;
  readonly cardLimits: LimitsChange | null | undefined;
  readonly fundingLowThreshold: bigint | null | undefined;
  readonly metadata: MetadataChange | null | undefined;
};

/**
 * update_program: returns the program. The body is a merge patch: omitted fields stay unchanged.
 *
 * A change of limits or of the threshold holds the switch, so that no decision by the old rules can complete after the response.
 * The lock on the program serializes concurrent changes. The event shows the funding, so the funding accounts are locked and their
 * versions raised. A transfer that changes them is therefore decided, with its event, either before this change or after it.
 */
export async function updateProgram(service: Service, call: Call<'update_program'>): Promise<Reply<'update_program'>> {
  const { body } = call;
  const change: ProgramChange = {
    name: body.name,
    limits: readLimitsChange(body.limits),
    cardLimits: readLimitsChange(body.card_limits),
    fundingLowThreshold: readThreshold(body.funding_low_threshold),
    metadata: body.metadata,
  };
  checkAllLimits(call, changeLimits(null, change.limits), changeLimits(null, change.cardLimits));
  const { program_id: sentId } = call.params;
  const programId = fromWireId('prog', sentId);
  if (programId === undefined) throw programMissing(sentId);
  const { name: _, metadata: __, ...rules } = change;
  const load = {
    hold: Object.values(rules).every((rule) => rule === undefined) ? null : HOLD_SWITCH,
    lock: lockProgram(programId),
    lockFunding: lockAllFunding(programId),
    clock: READ_SWITCH,
    program: readProgram(programId),
  };
  return transact(service.database, call.deadline, load, (loaded, batchId) => {
    const [row] = loaded.program;
    if (row === undefined) throw programMissing(sentId);
    const before = toProgram(row);
    const after = apply(change, before);
    checkAllLimits(call, after.limits, after.cardLimits);
    checkMetadata(call, after.metadata);
    checkVersion(call.ifMatch, 'program', toProgramRecord(before));
    const record = toProgramRecord(after);
    const json = JSON.stringify(record);
    if (isSame(before, after)) return { result: { record, json }, writes: [] };
    const details = JSON.stringify({ ...withoutMetadata(record), change: withoutMetadata(body) });
    const event = { type: 'program.updated' as const, programId, subjectId: record.program_id, payload: json };
    const { now } = toSwitchReading(loaded.clock);
    const writes = [
      writeProgram(after),
      raiseFundingVersions(programId),
      insertEvents(batchId, [event, ...lowFunding(before, after)], now, call),
      ...auditOf(call, { programId, subjectId: record.program_id, details }),
    ];
    return { result: { record, json }, writes };
  });
}

function apply({ name, limits, cardLimits, fundingLowThreshold, metadata }: ProgramChange, before: Program): Program {
  return {
    ...before,
    name: name ?? before.name,
    limits: changeLimits(before.limits, limits),
    cardLimits: changeLimits(before.cardLimits, cardLimits),
    fundingLowThreshold: fundingLowThreshold === undefined ? before.fundingLowThreshold : fundingLowThreshold,
    metadata: changeMetadata(before.metadata, metadata),
  };
}

function readThreshold(sent: number | null | undefined): bigint | null | undefined {
  return typeof sent === 'number' ? BigInt(sent) : sent;
}

/** Returns the event funding.low if the funding is below the new threshold and was not below the old one. */
function lowFunding(before: Program, after: Program): readonly DomainEvent[] {
  const { programId, currency, funding, fundingLowThreshold: threshold } = after;
  const account = funding.find((one) => one.currency === currency);
  const available = account === undefined ? 0n : account.balance - account.held;
  const wasLow = before.fundingLowThreshold !== null && available < before.fundingLowThreshold;
  if (threshold === null || wasLow || available >= threshold) return [];
  return [fundingLowEvent({ programId, currency, available, threshold })];
}

function checkAllLimits(call: CallContext, limits: Limits | null, cardLimits: Limits | null): void {
  checkLimits(call, 'limits', limits);
  checkLimits(call, 'card_limits', cardLimits);
}

function isSame(before: Program, after: Program): boolean {
  return (
    before.name === after.name &&
    sameLimits(before.limits, after.limits) &&
    sameLimits(before.cardLimits, after.cardLimits) &&
    before.fundingLowThreshold === after.fundingLowThreshold &&
    sameMetadata(before.metadata, after.metadata)
  );
}
