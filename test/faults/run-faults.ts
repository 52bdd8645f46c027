import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Attempt, type Heard, movementsOf, newAttempts, prepare, send } from './attempt.ts';
import { type Laid, openStage, type Stage, untilAtRest, untilReady } from './stage.ts';
import { judge, type Line, type Outcome, outcomeOf, tableOf } from './verdict.ts';

/** What is done about a fault when the answer has come, or never will. */
export type Fault = {
  /** What is broken, and when. */
  readonly name: string;
  /** What may be said of the money; an answer that says anything else means that the fault did not happen. */
  readonly outcomes: readonly Outcome[];
  /**
   * Whether the server has crashed and comes back by itself. On a busy machine that can take longer than anyone waits,
   * and then, but not before, the outcome may be left in doubt.
   */
  readonly recovers?: true;
  /** Code of the failure, where it is none of its own. */
  readonly code?: string;
  /** Whether those that wait behind the first may also be told that there is too much to do. */
  readonly orBusy?: true;
  /** Whether all requests are sent at once: the fault is there for each of them, and waiting for it takes long. */
  readonly together?: true;
  /** Whether it meets postings only, which a cancellation has none of. */
  readonly ofPostings?: true;
  /** Brings the fault about, and gives what mends it. */
  readonly arrange: (stage: Stage, attempt: Attempt) => Promise<Arranged>;
};

/** A fault that waits for its request. */
export type Arranged = {
  /** Whether it has happened; a fault that is there from the start needs none. */
  readonly trap?: Laid;
  readonly mend?: () => Promise<void>;
  /** Sends the request in its own way. */
  readonly send?: () => Promise<Heard>;
};

/** Runs every fault under every kind of request, on a stage of its own, and prints what was said and what was true. */
export function runFaults(step: string, faults: readonly Fault[]): void {
  let stage: Stage;
  const lines: Line[] = [];
  let expected = 0;
  const judged: { readonly attempt: Attempt; readonly moved: number; readonly fault: string }[] = [];
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(async () => {
    await stage.end();
    process.stdout.write(`\n${tableOf(lines)}\n`);
  });

  test.each(faults)(`${step}: $name`, { timeout: 90_000 }, async (fault) => {
    const attempts = attemptsFor(fault, faults.indexOf(fault));
    expected += attempts.length;
    const turns = fault.together === true ? [attempts] : attempts.map((attempt) => [attempt]);
    for (const turn of turns) {
      const heard = await undergo(stage, fault, turn);
      for (const [at, attempt] of turn.entries()) {
        const line = await judge(stage, { step, fault: fault.name }, attempt, heard[at] ?? NOTHING);
        lines.push(line);
        judged.push({ attempt, fault: fault.name, moved: await movementsOf(stage, attempt) });
      }
    }
  });

  test(`${step}: nothing has moved late, after it was judged`, async () => {
    await untilAtRest(stage);
    expect(judged.length).toBe(expected);
    for (const { attempt, moved, fault } of judged) expect(await movementsOf(stage, attempt), fault).toBe(moved);
  });
}

/**
 * The requests that undergo a fault: all kinds when FAULTS=all asks for it (npm run verify); otherwise one kind, another
 * for each fault, and every second kind where they undergo it together.
 */
function attemptsFor(fault: Fault, at: number): readonly Attempt[] {
  const all = newAttempts().filter(({ operation }) => fault.ofPostings !== true || operation !== 'cancel_transfer');
  if (process.env.FAULTS === 'all') return all;
  return all.filter((_, kind) => (fault.together === true ? kind % 2 === at % 2 : kind === at % all.length));
}

/** How long the service looks for the outcome of a commit before it says that it is unknown, in milliseconds. */
const DEADLINE = 5000;

const NOTHING: Heard = { answer: undefined, milliseconds: 0 };

/** Sends requests into a fault, mends it, and makes sure that it was that fault and no other which they met. */
async function undergo(stage: Stage, fault: Fault, attempts: readonly Attempt[]): Promise<readonly Heard[]> {
  await untilReady(stage);
  for (const attempt of attempts) await prepare(stage, attempt);
  await untilReady(stage);
  const [first] = attempts;
  if (first === undefined) return [];
  const { trap, mend, send: ownWay } = await fault.arrange(stage, first);
  let heard: readonly Heard[];
  try {
    heard = await Promise.all(attempts.map((attempt) => ownWay?.() ?? send(stage, attempt)));
  } finally {
    stage.proxy.traps.length = 0;
    await mend?.();
  }
  expect(trap?.sprung ?? true, 'the fault has happened').toBe(true);
  for (const [at, one] of heard.entries()) {
    const isGivenUp = fault.recovers === true && one.milliseconds >= DEADLINE;
    const outcomes = isGivenUp ? [...fault.outcomes, 'unknown'] : fault.outcomes;
    expect(outcomes, one.answer?.text).toContain(outcomeOf(one));
    const { status = 201 } = one.answer ?? {};
    const own = `unknown_${attempts[at]?.operation}`;
    const codes = [fault.code ?? own, ...(fault.orBusy === true ? ['service_unavailable'] : [])];
    if (status >= 300) expect(codes).toContain(one.answer?.fields.Code);
  }
  return heard;
}
