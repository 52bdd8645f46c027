import { setTimeout as sleep } from 'node:timers/promises';
import { type Attempt, isUnchanged } from '../../../domain/processors/attempt.ts';
import { nextStep, type Question, type Step } from '../../../domain/processors/next-step.ts';
import type { Answer, Traits } from '../../../domain/processors/order.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { newId } from '../../foundation/ids.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  attemptAfter,
  type NamedAttempt,
  readAttemptsForReport,
  toAttempt,
  updateAttempt,
} from '../../store/processors/attempt.ts';
import type { TransferService } from '../../subjects/transfers/lane.ts';
import type { OnFailure } from '../jobs/rounds.ts';
import { recordContradiction } from './record-contradiction.ts';

const DEADLINE_MILLISECONDS = 5_000;

/**
 * How long this process keeps trying to record an answer. Afterwards the lease of its attempt ends, and the processor is asked
 * again.
 */
const KEPT_MILLISECONDS = 20_000;

const PAUSE_MILLISECONDS = 200;

/** Everything that is needed to record answers: the lane, and a database that sees all programs. */
export type ReportParts = {
  readonly database: Database;
  readonly transfers: Pick<TransferService['transfers'], 'submit'>;
  readonly onFailure: OnFailure;
};

export type Answered = {
  readonly attempt: Attempt;
  readonly question: Question;
  readonly answer: Answer;
  readonly traits: Traits;
  /** The service's time, in milliseconds since 1970. In a sandbox it may be ahead of the real time. */
  readonly now: () => number;
};

/**
 * Records an answer. If the database fails, retries for some time, because the connector may not be able to answer again. Returns
 * whether the answer was recorded. Never rejects.
 */
export async function recordAnswer(parts: ReportParts, answered: Answered, signal?: AbortSignal): Promise<boolean> {
  const { answer, traits, now } = answered;
  const giveUpAt = performance.now() + KEPT_MILLISECONDS;
  let { attempt, question } = answered;
  let hasFailed = false;
  for (;;) {
    try {
      const known = hasFailed ? await readAgain(parts.database, attempt) : attempt;
      if (known === undefined) return true;
      // Another process has changed the attempt in the meantime. So the answer may no longer fit the question, and counts only if
      // it is final.
      if (!isUnchanged(known, attempt)) question = 'notice';
      attempt = known;
      if (await recordOnce(parts, { attempt, question, answer, traits, now })) return true;
    } catch (error) {
      parts.onFailure(error, hasFailed);
    }
    hasFailed = true;
    if (performance.now() > giveUpAt || signal?.aborted === true) return false;
    await sleep(PAUSE_MILLISECONDS, undefined, { ref: false, signal }).catch(() => undefined);
  }
}

/**
 * Returns false if another process has changed the attempt in the meantime. Rejects if it is unknown whether the answer
 * was written.
 */
export async function recordOnce(
  parts: ReportParts,
  { attempt, question, answer, traits, now }: Answered,
): Promise<boolean> {
  const step = nextStep(attempt, question, answer, traits, now());
  if (step === undefined) return true;
  if (!('kind' in step)) return applyStep(parts, attempt, step, now());
  await recordContradiction(parts.database, attempt, step, now());
  return true;
}

/** How many times to retry recording an answer because another process has changed its attempt. */
const MAX_RACES = 5;

/**
 * Records an answer, even if its attempt has changed in the meantime. Rejects if it is unknown whether the answer was
 * written.
 */
export async function recordNow(parts: ReportParts, answered: Answered): Promise<void> {
  let { attempt } = answered;
  for (let race = 0; race < MAX_RACES; race += 1) {
    if (await recordOnce(parts, { ...answered, attempt })) return;
    const known = await readAgain(parts.database, attempt);
    if (known === undefined) return;
    attempt = known;
  }
  throw new Error(`the attempt of an answer was changed ${MAX_RACES} times while the answer was recorded`);
}

/** Applies a step to an attempt. Returns false or rejects for the same reasons as {@link recordOnce}. */
export async function applyStep(parts: ReportParts, attempt: Attempt, step: Step, now: number): Promise<boolean> {
  if (step.effect === null) {
    const after = attemptAfter(attempt, step, now);
    const rows = await parts.database.write(updateAttempt({ before: attempt, after }));
    return rows.length > 0;
  }
  const { programId, transferId, attemptId } = attempt;
  const request = { command: 'report', programId, transferId, requestId: newId(), key: null, operator: null } as const;
  const outcome = await parts.transfers.submit(
    { ...request, attemptId, attempt, step },
    performance.now() + DEADLINE_MILLISECONDS,
  );
  return !(outcome instanceof Refusal);
}

export async function readAgain(database: Database, attempt: NamedAttempt): Promise<Attempt | undefined> {
  const [row] = await database.read(readAttemptsForReport([attempt], false));
  return row === undefined ? undefined : toAttempt(row);
}
