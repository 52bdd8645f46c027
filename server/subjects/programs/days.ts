import { isDeepStrictEqual } from 'node:util';
import type { DayRecord } from '../../../contract/days.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import { MAX_NOTE_CHARACTERS } from '../../../contract/processors/attempts.ts';
import type { DomainEvent } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { type DayLine, drawUpDay } from '../../../domain/ledger/day.ts';
import { toWireSum } from '../../../domain/ledger/money.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { type Pages, writeCsv } from '../../calls/csv-export.ts';
import { loadProgram } from '../../calls/program.ts';
import { readRows, surveyRows } from '../../calls/read-rows.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import type { Row } from '../../store/connection/database.ts';
import { COMMIT_MILLISECONDS } from '../../store/connection/standby.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import {
  type DayBounds,
  insertClosedDay,
  readAccountsOfDay,
  readDayBounds,
  toAccountOfDay,
  toDayBounds,
} from '../../store/ledger/day.ts';
import type { DueDay, Read } from '../../store/ledger/day-check.ts';
import { readSettlementsOfDay, type SettlementOfDay, toSettlementOfDay } from '../../store/processors/unsettled.ts';
import type { Program } from '../../store/program.ts';
import { actorOf, auditOf, withoutHolderValues } from '../audit/audit.ts';

/** Time limit for summing the postings of a day. */
const SUM_MILLISECONDS = 4000;

// Invariant: The report of a closed day never changes
// Kept by: a day is closed once it is over and no posting can be added to it, and its report is stored
// Tested by: `test/api/days.test.ts`

/** get_day: returns the stored report of a closed day, or the current report of a day that is not closed. */
export async function getDay(service: Service, call: Call<'get_day'>): Promise<Reply<'get_day'>> {
  return { record: await readDay(service, call) };
}

/** export_day: returns the report of get_day as lines. */
export async function exportDay(service: Service, call: Call<'export_day'>): Promise<Reply<'export_day'>> {
  const report = await readDay(service, call);
  const name = `${report.program_id}-${report.day}`;
  return { csv: await writeCsv(name, OPERATIONS.export_day.reply, linesOf(report), call.query.raw === true) };
}

// An export reads each page when it is requested. A report is one page of accounts and one of orders.
async function* linesOf({ program_id, day, status, adds_up, currencies, settlements }: DayRecord): Pages {
  const of = { program_id, day, status, adds_up };
  const noSums = { opening: null, approved: null, settled: null, resolved: null, closing: null, fees: null };
  const noOrders = { connector_id: null, ...noSums };
  const noAccounts = { postings: null, funding: null, cards: null, suspense: null, loss: null };
  yield currencies.flatMap(({ currency, opening, movements, closing }) => [
    { ...of, currency, line: 'opening', postings: null, ...opening, ...noOrders },
    ...movements.map(({ purpose, ...movement }) => ({ ...of, currency, line: purpose, ...movement, ...noOrders })),
    { ...of, currency, line: 'closing', postings: null, ...closing, ...noOrders },
  ]);
  yield settlements.flatMap(({ connector_id, currency, ...directions }) =>
    (['pushed', 'pulled'] as const).map((line) => {
      return { ...of, currency, line, ...noAccounts, connector_id, ...directions[line] };
    }),
  );
}

type DayCall = Call<'get_day'> | Call<'export_day'> | Call<'close_day'>;

async function readDay(service: Service, call: Exclude<DayCall, Call<'close_day'>>): Promise<DayRecord> {
  const program = await loadProgram(service, call.params.program_id);
  const { programId, timeZone } = program;
  const { day = null } = call.query;
  const bounds = requireBounds(await readRows(service.database, readDayBounds({ programId, timeZone, day })));
  return closedIn(bounds) ?? drawUp(service, call, program, bounds);
}

/** close_day: closes the day and returns its report. A day that is already closed keeps its first report and note. */
export async function closeDay(service: Service, call: Call<'close_day'>): Promise<Reply<'close_day'>> {
  const program = await loadProgram(service, call.params.program_id);
  const { programId, timeZone } = program;
  const { day } = call.body;
  const named = readDayBounds({ programId, timeZone, day });
  const bounds = requireBounds(await readRows(service.database, named));
  refuseUnlessOver(call, bounds);
  // A day that is over gets no more postings, so it can be summed before the transaction.
  const open = closedIn(bounds) ?? (await drawUp(service, call, program, bounds));
  return transactUnderKey(service, call, {
    programId,
    names: [{ programId, kind: 'day', name: day }],
    load: { bounds: named },
    decide: ({ bounds: rows }, { batchId, now }) => {
      const known = closedIn(requireBounds(rows));
      if (known !== undefined) return { record: known, subjectId: programId, writes: [] };
      const closedBy = actorOf(call.caller);
      const note = withoutSecrets(call.body.note, MAX_NOTE_CHARACTERS);
      const closed = { status: 'closed', closed_at: new Date(now).toISOString(), closed_by: closedBy, note } as const;
      const record: DayRecord = { ...open, ...closed };
      const details = JSON.stringify(withoutHolderValues({ day, adds_up: record.adds_up, note }));
      const audited = { programId, subjectId: record.program_id, details };
      const stored = insertClosedDay({ programId, day, report: record });
      const event = insertEvents(batchId, [closedEvent(record)], now, call);
      return { record, subjectId: programId, writes: [stored, event, ...auditOf(call, audited)] };
    },
    recall: async () => {
      const known = closedIn(requireBounds(await readRows(service.database, named)));
      if (known === undefined) throw new Error('the day of a stored response is not closed');
      return known;
    },
  });
}

/** Returns the event day.closed. Like every event, it omits the note of the operator. */
function closedEvent(record: DayRecord): DomainEvent {
  const payload = JSON.stringify({ ...record, note: null });
  return { type: 'day.closed', programId: null, subjectId: record.program_id, payload };
}

/** The stored report, or undefined if the day is not closed. Only {@link closeDay} writes it. */
function closedIn({ report }: DayBounds): DayRecord | undefined {
  if (report === null) return undefined;
  // Older stored reports lack settlements, or the fees of settlements.
  const { settlements = [], ...others } = report as DayRecord;
  const withFees = settlements.map(({ pushed, pulled, ...of }) => ({
    ...of,
    pushed: { ...pushed, fees: pushed.fees ?? null },
    pulled: { ...pulled, fees: pulled.fees ?? null },
  }));
  return { ...others, settlements: withFees };
}

function requireBounds([row]: readonly Row[]): DayBounds {
  if (row === undefined) throw new Error('the statement returned no day');
  return toDayBounds(row);
}

/** Whether a posting can still be added. A posting has the time of its decision, and a transaction lasts a while longer. */
const isRunning = ({ endsAt, now }: DayBounds): boolean => endsAt > now - COMMIT_MILLISECONDS;

function refuseUnlessOver(call: Call<'close_day'>, bounds: DayBounds): void {
  if (!isRunning(bounds)) return;
  const from = new Date(bounds.endsAt + COMMIT_MILLISECONDS).toISOString();
  const message = `The day ${bounds.day} of this card program can be closed from ${from} on, when no posting can be added to it any more.`;
  throw schemaRefusal(call, message, '/day');
}

async function drawUp(
  { database }: Service,
  call: DayCall,
  { programId, timeZone }: Program,
  bounds: DayBounds,
): Promise<DayRecord> {
  const { day, beginsAt, endsAt, now } = bounds;
  if (beginsAt > now) {
    const message = `The day ${day} of this card program begins on ${new Date(beginsAt).toISOString()}. Send an earlier day.`;
    throw schemaRefusal(call, message, '/day');
  }
  const of = { programId, beginsAt, endsAt };
  // Both reads run at the same time, because one after the other could take longer than a request may.
  const [rows, orders] = await Promise.all([
    surveyRows(database, readAccountsOfDay(of), SUM_MILLISECONDS),
    surveyRows(database, readSettlementsOfDay(of), SUM_MILLISECONDS),
  ]);
  if (rows === undefined || orders === undefined) {
    // Not a 503: clients would repeat a long read without success, because the postings of a day do not become fewer.
    const message =
      `The day ${day} has too many postings or orders to sum within the ${SUM_MILLISECONDS / 1000} seconds that a request may take. ` +
      `Read the ` +
      "balances at its ends with 'as_of' of get_program and get_trial_balance instead.";
    throw schemaRefusal(call, message, '/day');
  }
  return {
    program_id: toWireId('prog', programId),
    day,
    time_zone: timeZone,
    begins_at: new Date(beginsAt).toISOString(),
    ends_at: new Date(endsAt).toISOString(),
    status: isRunning(bounds) ? 'running' : 'open',
    ...drawUpBalances(rows, bounds),
    settlements: drawUpSettlements(orders.map(toSettlementOfDay)),
    open_breaks: bounds.openBreaks,
    last_closed_day: bounds.lastClosedDay,
    closed_at: null,
    closed_by: null,
    note: null,
  };
}

/** Returns whether a day that is over adds up, as {@link getDay} shows. `read` has no time limit. */
export async function addsUp(read: Read, { programId, timeZone, day }: DueDay): Promise<boolean> {
  const bounds = requireBounds(await read(readDayBounds({ programId, timeZone, day })));
  const closed = closedIn(bounds);
  if (closed !== undefined) return closed.adds_up;
  const { beginsAt, endsAt } = bounds;
  return drawUpBalances(await read(readAccountsOfDay({ programId, beginsAt, endsAt })), bounds).adds_up;
}

function drawUpBalances(accounts: readonly Row[], bounds: DayBounds): Pick<DayRecord, 'adds_up' | 'currencies'> {
  const currencies = drawUpDay(accounts.map(toAccountOfDay)).map(
    ({ currency, opening, movements, closing, addsUp }) => ({
      currency,
      opening: toLine(opening),
      movements: movements.map(({ purpose, postings, ...line }) => ({ purpose, postings, ...toLine(line) })),
      closing: toLine(closing),
      adds_up: addsUp,
    }),
  );
  const allAddUp = currencies.every(({ adds_up: addsUp }) => addsUp);
  return { adds_up: allAddUp && follows(currencies, bounds.reportBefore), currencies };
}

/** The orders by connector and currency, with both directions of each. */
function drawUpSettlements(orders: readonly SettlementOfDay[]): DayRecord['settlements'] {
  const both = new Map<string, DayRecord['settlements'][number]>();
  for (const { connectorId: connector_id, currency, kind, ...sums } of orders) {
    const key = `${connector_id} ${currency}`;
    const known = both.get(key) ?? { connector_id, currency, pushed: NO_ORDERS, pulled: NO_ORDERS };
    const shown = {
      opening: toWireSum(sums.opening),
      approved: toWireSum(sums.approved),
      settled: toWireSum(sums.settled),
      resolved: toWireSum(sums.resolved),
      closing: toWireSum(sums.closing),
      fees: toWireSum(sums.fees),
    };
    both.set(key, { ...known, [kind === 'push' ? 'pushed' : 'pulled']: shown });
  }
  return [...both.values()];
}

const NO_ORDERS = { opening: 0, approved: 0, settled: 0, resolved: 0, closing: 0, fees: 0 } as const;

/**
 * Whether the day begins with the closing balances in the report of the previous day, if that day is closed. If a clock went
 * back, a posting can have a time in the closed day without being in its report.
 */
function follows(currencies: DayRecord['currencies'], before: object | null): boolean {
  if (before === null) return true;
  const { currencies: earlier } = before as DayRecord;
  const all = new Set([...currencies, ...earlier].map(({ currency }) => currency));
  return [...all].every((currency) => {
    const opening = currencies.find((one) => one.currency === currency)?.opening ?? NOTHING;
    const closing = earlier.find((one) => one.currency === currency)?.closing ?? NOTHING;
    return isDeepStrictEqual(opening, closing);
  });
}

const NOTHING = { funding: 0, cards: 0, suspense: 0, loss: 0 } as const;

function toLine({ funding, cards, suspense, loss }: DayLine): DayRecord['currencies'][number]['opening'] {
  return {
    funding: toWireSum(funding),
    cards: toWireSum(cards),
    suspense: toWireSum(suspense),
    loss: toWireSum(loss),
  };
}
