import type { DomainEvent } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { type Attempt, isContradicted, isEnded } from '../../../domain/processors/attempt.ts';
import {
  type BatchOrder,
  batchFindingOf,
  batchInWords,
  batchProblem,
  type Finding,
  findingOf,
  type LineOutcome,
  lineInWords,
  MAX_BATCH_ORDERS,
  needsAnswer,
  ordersPaid,
  settles,
  withFees,
} from '../../../domain/processors/settlement.ts';
import { toFileRecord } from '../../calls/records/processor.ts';
import { transact } from '../../commit/transaction.ts';
import { newId } from '../../foundation/ids.ts';
import type { Database, Statement } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import type { NamedAttempt } from '../../store/processors/attempt.ts';
import { MAX_FOUND_CHARACTERS } from '../../store/processors/contradiction.ts';
import {
  beginBatch,
  beginLines,
  type ComparedLine,
  claimSettlementFile,
  clearBatches,
  closeBreaksOfFile,
  insertDuplicates,
  insertMissing,
  type LineBreak,
  lockBreaksOfAttempts,
  lockComparedAttempts,
  lockSettlementFile,
  markSettled,
  readBatchOrders,
  readOpenFiles,
  readPortionEnd,
  readSettlementLines,
  releaseSettlementFile,
  type SettlementFile,
  settleMissing,
  toBatchOrder,
  toClaim,
  toComparedLine,
  toLocked,
  toPortionEnd,
  toSettlementFile,
  unmarkSettled,
  updateSettlementFile,
  writeBatch,
  writeLineOutcomes,
} from '../../store/processors/settlement-file.ts';
import { type RunningJob, startRounds, takeAllSteps } from '../jobs/rounds.ts';
import type { Connector } from './http-connector.ts';
import { recordContradiction } from './record-contradiction.ts';
import { type ReportParts, readAgain, recordNow } from './report.ts';

// Invariant: A line of a settlement file counts once, even if processes are killed while they compare it
// Kept by: only one process at a time claims a file. It first stores the outcomes of a portion, then applies them, which it can
//   repeat, and then counts the lines in one transaction
// Tested by: `test/api/processors/settlement.test.ts`, `test/crashes/settlement-kills.test.ts`

// Invariant: If a booking changes an attempt while a line about it is compared, the line is compared again
// Kept by: the booked amount is read again under the locks of its breaks and of the attempt
// Tested by: `test/api/processors/unsettled.test.ts`

/** Maximum delay before the job finds a file that another process has received. */
const INTERVAL_MILLISECONDS = 1_000;

/** Maximum number of lines that one transaction compares, of attempts that they change, and of attempts in one statement. */
const PORTION = 500;

/** Number of attempts that are changed in parallel. */
const IN_PARALLEL = 8;

/**
 * How long a process has for a portion. After that, another process may take over, because this one was probably
 * killed.
 */
const CLAIM_SECONDS = 30;

/** The pause after a portion, as a multiple of its duration. With 1, transfers on two cores were a quarter slower. */
const PAUSE_FACTOR = 5;

const DEADLINE_MILLISECONDS = 10_000;

/** A line with the orders that have its reference, if several have it. */
type Line = ComparedLine & { readonly batch: readonly BatchOrder[] | null };

type Compared = { readonly line: Line; readonly finding: Finding };

type Fixed = Pick<Attempt, 'status' | 'correctedAmount' | 'contradictedAt' | 'contradictionSettledAt'>;

/** An attempt that a line settles. `isFixed`: only while it is exactly as it was compared. */
type SettledAttempt = Fixed & NamedAttempt & { readonly isFixed: boolean; readonly fee: bigint };

/**
 * Compares the lines of settlement files with the books, in order. Handles one file of each connector at a time. Also undoes the
 * effects of withdrawn files. Several processes may do this at once.
 */
export function startMatchingSettlements(connectors: ReadonlyMap<string, Connector>, parts: ReportParts): RunningJob {
  const connectorIds = [...connectors.keys()];
  return startRounds({
    firstPauseMilliseconds: INTERVAL_MILLISECONDS,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure: parts.onFailure,
    run: async (signal) => {
      const startedAt = performance.now();
      const files = (await parts.database.read(readOpenFiles({ connectorIds }))).map(toSettlementFile);
      const steps = files.map((file) => () => {
        const connector = connectors.get(file.connectorId);
        if (file.status === 'withdrawing') return takeBackPortion(parts, file);
        return connector === undefined ? Promise.resolve() : comparePortion(parts, connector, file, signal);
      });
      await takeAllSteps(steps, signal);
      return files.length === 0 ? INTERVAL_MILLISECONDS : (performance.now() - startedAt) * PAUSE_FACTOR;
    },
  });
}

async function comparePortion(
  parts: ReportParts,
  connector: Connector,
  file: SettlementFile,
  signal: AbortSignal,
): Promise<void> {
  const { fileId, linesExamined } = file;
  const claimed = await parts.database.write(claimSettlementFile({ fileId, linesExamined, seconds: CLAIM_SECONDS }));
  const [claim] = claimed.map(toClaim);
  if (claim === undefined) return;
  const release = releaseSettlementFile({ fileId, ...claim });
  try {
    if (!(await compareClaimed(parts, connector, file, signal))) await parts.database.write(release);
  } catch (error) {
    await parts.database.write(release).catch(() => undefined);
    throw error;
  }
}

/** Compares a portion. Returns false if nothing was counted, so that the file must be read again. */
async function compareClaimed(
  parts: ReportParts,
  { traits }: Connector,
  file: SettlementFile,
  signal: AbortSignal,
): Promise<boolean> {
  const { fileId, connectorId, linesExamined: after } = file;
  const rows = await parts.database.read(readSettlementLines({ fileId, connectorId, after, count: PORTION }));
  const compared = compare(await readBatches(parts.database, file, rows.map(toComparedLine)));
  const working = compared.filter(leavesWork);
  if (working.length > 0) {
    if (!(await begin(parts.database, fileId, working))) return false;
    const steps = working.flatMap((one) =>
      changedBy(one).map((attempt) => () => record(parts, traits, file, one, attempt)),
    );
    if (!(await carryOut(steps, signal))) return false;
  }
  const linesExamined = after + compared.length;
  const status = linesExamined === file.lineCount ? 'matched' : file.status;
  const settled = compared.flatMap(settledBy);
  return changeUnlessChanged(parts, file, settled, (known, now, batchId) => {
    const after = {
      ...withOutcomes(known, compared),
      linesExamined,
      status,
      matchedAt: status === 'matched' ? now : null,
    };
    return [
      writeLineOutcomes({ fileId, sent: compared.map(outcomeOf) }),
      ...compared.flatMap(batchOf).map((batch) => writeBatch({ fileId, ...batch })),
      ...portionsOf(settled).flatMap((sent) => [
        markSettled({ fileId, acceptedAt: null, sent }),
        settleMissing({ connectorId, attemptIds: sent.map(({ attemptId }) => attemptId) }),
      ]),
      ...breaksOf(file, compared),
      updateSettlementFile(after),
      ...(status === 'matched' ? [insertEvents(batchId, [matchedEvent(after)], now)] : []),
    ];
  });
}

/**
 * Stores the outcomes of lines that change the books, with their attempts, so that a process that takes over finds the same ones.
 * Returns false if another process has stored some in the meantime.
 */
async function begin(database: Database, fileId: string, working: readonly Compared[]): Promise<boolean> {
  const fresh = working.filter(({ line }) => line.outcome === null);
  const batches = fresh.flatMap(({ line, finding: { outcome } }) => {
    return line.batch === null ? [] : [beginBatch({ fileId, ...storedBatch(line, line.batch), outcome })];
  });
  const others = fresh.filter(({ line }) => line.batch === null).map(outcomeOf);
  const written = [...batches, ...(others.length === 0 ? [] : [beginLines({ fileId, sent: others })])];
  let count = 0;
  for (const one of written) count += (await database.write(one)).length;
  return count === fresh.length;
}

/**
 * Reads the orders of lines that are about several. Returns fewer lines if these would have more orders than one transaction can
 * settle.
 */
async function readBatches(
  database: Database,
  { fileId, connectorId }: SettlementFile,
  lines: readonly ComparedLine[],
): Promise<readonly Line[]> {
  const whole: Line[] = [];
  let count = 0;
  for (const line of lines) {
    const { lineNumber } = line;
    const of = { fileId, connectorId, lineNumber, count: MAX_BATCH_ORDERS + 1 };
    const named = line.isBatch ? (await database.read(readBatchOrders(of))).map(toBatchOrder) : null;
    const batch = named === null || line.isStored ? named : ordersPaid(line, named);
    count += batch?.length ?? 0;
    if (count > MAX_BATCH_ORDERS && whole.length > 0) break;
    whole.push({ ...line, batch });
  }
  return whole;
}

const storedBatch = ({ lineNumber }: Line, batch: readonly BatchOrder[]) => ({
  lineNumber,
  attemptIds: batch.map(({ attemptId }) => attemptId),
});

/** The attempts of a batch that are stored with its line. A batch that settles none keeps none. */
function batchOf({ line, finding }: Compared) {
  if (line.batch === null) return [];
  const { lineNumber, attemptIds } = storedBatch(line, line.batch);
  return [{ lineNumber, attemptIds: settles(line, finding) ? attemptIds : null }];
}

/** The attempts that a line settles, each with its part of the fee. */
function settledBy({ line, finding }: Compared): readonly SettledAttempt[] {
  if (!settles(line, finding)) return [];
  const orders: readonly (Attempt | BatchOrder)[] = line.batch ?? (line.attempt === undefined ? [] : [line.attempt]);
  // A line that changes its attempts has changed their status and contradiction itself.
  const isFixed = finding.outcome === 'matched';
  return withFees(line.fee, orders).map((order) => ({ ...order, isFixed }));
}

/** The attempts that a line with new information changes. */
function changedBy({ line: { attempt, batch } }: Compared): readonly NamedAttempt[] {
  if (batch !== null) return batch.filter(needsAnswer);
  return attempt === undefined ? [] : [attempt];
}

function portionsOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  const count = Math.ceil(items.length / PORTION);
  return Array.from({ length: count }, (_, index) => items.slice(index * PORTION, (index + 1) * PORTION));
}

/** Takes steps in parallel, because no two of them are about the same attempt. Returns false if it was stopped before the last one. */
async function carryOut(steps: readonly (() => Promise<void>)[], signal: AbortSignal): Promise<boolean> {
  const queue = [...steps];
  const work = async (): Promise<void> => {
    for (let step = queue.shift(); step !== undefined; step = queue.shift()) {
      if (signal.aborted) return;
      await step();
    }
  };
  await Promise.all(Array.from({ length: IN_PARALLEL }, work));
  return !signal.aborted;
}

/** Returns the file with the outcomes of more lines added. */
function withOutcomes(file: SettlementFile, compared: readonly Compared[]): SettlementFile {
  const count = (outcome: LineOutcome): number => compared.filter(({ finding }) => finding.outcome === outcome).length;
  return {
    ...file,
    matched: file.matched + count('matched'),
    reported: file.reported + count('reported'),
    differs: file.differs + count('differs'),
    duplicate: file.duplicate + count('duplicate'),
    missingInLedger: file.missingInLedger + count('missing_in_ledger'),
  };
}

function matchedEvent(file: SettlementFile): DomainEvent {
  const record = toFileRecord(file);
  return { type: 'settlement.matched', programId: null, subjectId: record.file_id, payload: JSON.stringify(record) };
}

const leavesWork = ({ finding: { outcome } }: Compared): boolean => outcome === 'reported' || outcome === 'differs';

function outcomeOf({ line: { lineNumber, attempt }, finding: { outcome } }: Compared) {
  return { lineNumber, outcome, attemptId: attempt?.attemptId ?? null };
}

/**
 * Compares lines in order, so that a second line about the same attempt is recognized. Stops before a line whose attempt an earlier
 * line changes: the next portion compares it with the changed attempt. Also stops before a line that changes an attempt which an
 * earlier line settles, so that the earlier line is counted before that.
 */
function compare(lines: readonly Line[]): readonly Compared[] {
  const compared: Compared[] = [];
  const settled = new Set<string>();
  const changed = new Set<string>();
  for (const line of lines) {
    const orders: readonly (Attempt | BatchOrder)[] = line.batch ?? (line.attempt === undefined ? [] : [line.attempt]);
    if (orders.some(({ attemptId }) => changed.has(attemptId))) break;
    const one = compareLine(line, settled);
    const work = leavesWork(one) ? changedBy(one) : [];
    if (work.length > 0 && changed.size > 0 && changed.size + work.length > PORTION) break;
    if (work.some(({ attemptId }) => settled.has(attemptId))) break;
    compared.push(one);
    for (const { attemptId } of settledBy(one)) settled.add(attemptId);
    for (const { attemptId } of leavesWork(one) ? orders : []) changed.add(attemptId);
  }
  return compared;
}

/** Compares one line. `settled` has the attempts that earlier lines have settled in this portion. */
function compareLine(line: Line, settled: ReadonlySet<string>): Compared {
  const { attempt, outcome } = line;
  if (line.batch !== null) {
    const batch = line.batch.map((order) => (settled.has(order.attemptId) ? { ...order, isSettled: true } : order));
    return { line: { ...line, batch }, finding: batchFindingOf(line, batch, line.isStored ? outcome : null) };
  }
  const isSettled = line.settledBy !== null || (attempt !== undefined && settled.has(attempt.attemptId));
  return { line, finding: findingOf(line, attempt, isSettled, outcome) };
}

/** Applies a line to the current state of one of its attempts. Applying the same line again changes nothing. */
async function record(
  parts: ReportParts,
  traits: Connector['traits'],
  file: SettlementFile,
  { line, finding }: Compared,
  named: NamedAttempt,
): Promise<void> {
  const attempt = await readAgain(parts.database, named);
  if (attempt === undefined) return;
  if (finding.outcome === 'differs') await recordDifference(parts, file, line, attempt, finding.stated);
  if (finding.outcome !== 'reported') return;
  const answer = {
    outcome: finding.answer,
    processorReference: attempt.processorReference,
    ...{ code: null, retryAfterSeconds: null, detail: null },
  };
  const answered = { question: 'notice', answer, traits, now: () => line.now } as const;
  await recordNow(parts, { ...answered, attempt });
  const after = (await readAgain(parts.database, attempt)) ?? attempt;
  if (isEnded(after.status)) {
    // The attempt had an open contradiction before it ended, and this line agrees with how it ended.
    if (isContradicted(after)) await recordNow(parts, { ...answered, attempt: after });
    return;
  }
  // The answer does not end an attempt that is being reversed. Without a break, this line would be lost.
  await recordDifference(parts, file, line, after, line.status === 'settled' ? after.amount : 0n);
}

function recordDifference(
  { database }: ReportParts,
  file: SettlementFile,
  line: ComparedLine,
  attempt: Attempt,
  stated: bigint | null,
): Promise<void> {
  const { status: expected } = attempt;
  const said = { kind: 'contradiction', expected, found: inFile(file, line), stated } as const;
  return recordContradiction(database, attempt, said, line.now);
}

/** Creates breaks for lines that do not fit the books: one for each attempt or reference. */
function breaksOf(file: SettlementFile, compared: readonly Compared[]): readonly Statement[] {
  const { fileId, connectorId } = file;
  const found = { duplicate: new Map<string, LineBreak>(), missing_in_ledger: new Map<string, LineBreak>() };
  for (const { line, finding } of compared) {
    const { outcome } = finding;
    if (outcome !== 'duplicate' && outcome !== 'missing_in_ledger') continue;
    const key = line.attempt?.attemptId ?? line.reference;
    const before = found[outcome].get(key);
    const one = breakOf(file, line);
    found[outcome].set(key, before === undefined ? one : together(before, one));
  }
  const sentOf = (kind: keyof typeof found) => ({ fileId, connectorId, sent: [...found[kind].values()] });
  return [
    ...(found.duplicate.size === 0 ? [] : [insertDuplicates(sentOf('duplicate'))]),
    ...(found.missing_in_ledger.size === 0 ? [] : [insertMissing(sentOf('missing_in_ledger'))]),
  ];
}

function breakOf(file: SettlementFile, line: Line): LineBreak {
  const { attempt, batch, settledBy, amount, currency, reference } = line;
  const about = { breakId: newId(), amount, currency, found: inFile(file, line) };
  if (attempt === undefined) {
    const unknown = { programId: null, attemptId: null, transferId: null };
    const expected = batch === null ? 'no attempt' : `${batchInWords(line, batch)}: ${batchProblem(line, batch, true)}`;
    return { ...about, ...unknown, sentAttemptId: reference, expected };
  }
  const { programId, attemptId, transferId } = attempt;
  const expected = `settled in ${toWireId('stl', settledBy ?? file.fileId)}`;
  return { ...about, programId, attemptId, transferId, sentAttemptId: null, expected };
}

function together(before: LineBreak, { found }: LineBreak): LineBreak {
  return before.found.length < MAX_FOUND_CHARACTERS ? { ...before, found: `${before.found}, ${found}` } : before;
}

/** Describes a line. The statements in `server/store/processors/break.ts` find the line by this text. */
function inFile({ fileId }: SettlementFile, line: ComparedLine): string {
  return `${lineInWords(line)} (line ${line.lineNumber} of ${toWireId('stl', fileId)})`;
}

/** Undoes the effects of a portion of a withdrawn file, and closes the breaks that only this file caused. */
async function takeBackPortion(parts: ReportParts, file: SettlementFile): Promise<void> {
  const { fileId, linesExamined: after, withdrawnBy } = file;
  if (withdrawnBy === null) throw new Error('a settlement file is being withdrawn, but withdrawn_by is null');
  const portion = readPortionEnd({ fileId, after, lines: PORTION, orders: MAX_BATCH_ORDERS });
  const [end] = (await parts.database.read(portion)).map(toPortionEnd);
  if (end !== undefined) {
    const { until } = end;
    // A batch has more attempts than one statement changes, so this line comes again in the next round.
    const unmarked = await parts.database.write(unmarkSettled({ fileId, after, until, count: PORTION }));
    if (unmarked.length === PORTION) return;
    await changeUnlessChanged(parts, file, [], () => [
      clearBatches({ fileId, after, until }),
      updateSettlementFile({ ...file, linesExamined: until }),
    ]);
    return;
  }
  const note = `The settlement file ${toWireId('stl', fileId)} was withdrawn.`;
  const closing = { fileId, closedBy: withdrawnBy, note, count: PORTION };
  const closed = await parts.database.write(closeBreaksOfFile(closing));
  if (closed.length === PORTION) return;
  await changeUnlessChanged(parts, file, [], () => [updateSettlementFile({ ...file, status: 'withdrawn' })]);
}

/**
 * Writes under the lock of a file, unless another process has changed or withdrawn the file since it was read, or one of the
 * attempts has changed: it was booked, settled by another line or, if it is fixed, contradicted or ended. Returns whether it wrote.
 */
function changeUnlessChanged(
  { database }: ReportParts,
  { fileId, connectorId, status, linesExamined }: SettlementFile,
  attempts: readonly SettledAttempt[],
  writes: (file: SettlementFile, now: number, batchId: string) => readonly Statement[],
): Promise<boolean> {
  const compared = new Map(attempts.map((one) => [one.attemptId, one]));
  const attemptIds = [...compared.keys()];
  const load = {
    files: lockSettlementFile({ fileId }),
    breaks: attemptIds.length === 0 ? null : lockBreaksOfAttempts({ connectorId, attemptIds }),
    attempts: attemptIds.length === 0 ? null : lockComparedAttempts({ attemptIds }),
  };
  const deadline = performance.now() + DEADLINE_MILLISECONDS;
  return transact<boolean, keyof typeof load>(
    database,
    deadline,
    load,
    ({ files: [row], attempts: locked }, batchId) => {
      const known = row === undefined ? undefined : toSettlementFile(row);
      const isUnchanged = locked
        .map(toLocked)
        .every((now) => now.settlementFileId === null && isSame(now, compared.get(now.attemptId)));
      if (row === undefined || known?.status !== status || known.linesExamined !== linesExamined || !isUnchanged) {
        return { result: false, writes: [], readsOnly: true };
      }
      return { result: true, writes: writes(known, (row.now as Date).getTime(), batchId) };
    },
  );
}

/** Whether an attempt has not changed since it was compared with a line. */
function isSame(now: Fixed, before: SettledAttempt | undefined): boolean {
  if (before === undefined || now.correctedAmount !== before.correctedAmount) return false;
  return (
    !before.isFixed ||
    (now.status === before.status &&
      now.contradictedAt === before.contradictedAt &&
      now.contradictionSettledAt === before.contradictionSettledAt)
  );
}
