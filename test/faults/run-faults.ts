import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '../../server/store/connection/session-settings.ts';
import type { TrapOutcome, TrapPlace } from '../harness/proxy.ts';
import { type Attempt, again, type Heard, movementsOf, newAttempts, prepare, send } from './attempt.ts';
import { type Laid, lay, openStage, type Stage, untilAtRest, untilReady } from './stage.ts';
import { judge, MAX_TRIES, type Outcome, outcomeOf } from './verdict.ts';

/** A fault and the responses that it may lead to. */
export type Fault = {
  /** What fails, and when. */
  readonly name: string;
  /**
   * The outcomes that a response may report, by default only `no`. Any other outcome means that the fault did not
   * happen.
   */
  readonly outcomes?: readonly Outcome[];
  /**
   * Whether the server crashes and restarts. On a busy machine, the restart can take longer than the deadline. Only
   * then may the outcome be unknown.
   */
  readonly recovers?: true;
  /** The error code. The default is `unknown_` followed by the operation. */
  readonly code?: string;
  /** Whether requests queued after the first may also get service_unavailable. */
  readonly orBusy?: true;
  /** Whether all requests are sent at once, because the fault affects each of them and lasts a long time. */
  readonly together?: true;
  /**
   * The shortest possible duration of a request, in milliseconds. A shorter duration means that something else failed.
   */
  readonly least?: number;
  /** Whether the fault affects only postings, and therefore not cancellations. */
  readonly ofPostings?: true;
  /** Causes or prepares the fault, and returns its repair. */
  readonly arrange: (stage: Stage, attempt: Attempt) => Promise<Arranged>;
};

/** Causes or prepares a fault of any request. */
type Arrange = (stage: Stage) => Promise<Arranged>;

/** A prepared fault. */
export type Arranged = {
  /** Whether the fault happened. Missing if the fault exists before the request. */
  readonly trap?: Laid;
  readonly mend?: () => Promise<void>;
  /** Sends the request differently. */
  readonly send?: () => Promise<Heard>;
};

/** Sets a trap at a point of the transaction. `first` runs when the trap springs, before its outcome. */
export const trap =
  (at: TrapPlace, outcome: TrapOutcome, first?: (stage: Stage) => unknown): Arrange =>
  async (stage) => ({ trap: lay(stage, at, outcome, () => first?.(stage)) });

/** A fault that exists before the request and lasts until the function that `begin` returns repairs it. */
export const during =
  (begin: (stage: Stage) => Promise<() => Promise<void>>): Arrange =>
  async (stage) => ({ mend: await begin(stage) });

/** Stops the database server until the request has its response. */
export const pauseServer: Arrange = during(async ({ server }) => {
  await server.embedded.pause();
  return () => server.embedded.resume();
});

/** Stops the database server at a point of the transaction, until the request has its response. */
export const downAt =
  (at: TrapPlace): Arrange =>
  async (stage) => ({
    trap: lay(stage, at, 'cut', () => stage.server.embedded.pause()),
    mend: () => stage.server.embedded.resume(),
  });

/** Runs every fault of this step on one stage. */
export function runFaults(step: string, faults: readonly Fault[]): void {
  let stage: Stage;
  const judged: { readonly attempt: Attempt; readonly moved: number; readonly fault: string }[] = [];
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage.end());

  test.each(faults)(`${step}: $name`, async (fault) => {
    const attempts = attemptsFor(fault, faults.indexOf(fault));
    const turns = fault.together === true ? [attempts] : attempts.map((attempt) => [attempt]);
    for (const turn of turns) {
      for (let tries = 1, now = turn; ; tries += 1, now = now.map(again)) {
        const { heard, problem } = await undergo(stage, fault, now);
        for (const [at, attempt] of now.entries()) {
          await judge(stage, fault.name, attempt, heard[at] ?? NOTHING);
          judged.push({ attempt, fault: fault.name, moved: await movementsOf(stage, attempt) });
        }
        if (problem === undefined) break;
        const isSlow = heard.some(({ milliseconds }) => milliseconds >= SHORTEST_LIMIT);
        if (!isSlow || tries === MAX_TRIES) throw new Error(problem);
      }
    }
  });

  test(`${step}: no money moves after the outcome has been judged`, async () => {
    await untilAtRest(stage);
    expect(judged.length).toBeGreaterThanOrEqual(faults.length);
    for (const { attempt, moved, fault } of judged) expect(await movementsOf(stage, attempt), fault).toBe(moved);
  });
}

/**
 * Returns the requests to send during a fault. With FAULTS=all (npm run verify), it returns a request of each kind.
 * Otherwise, it returns one request, of a different kind for each fault. If the requests are sent together, it returns
 * a request of every second kind.
 */
function attemptsFor(fault: Fault, at: number): readonly Attempt[] {
  const all = newAttempts().filter(({ operation }) => fault.ofPostings !== true || operation !== 'cancel_transfer');
  if (process.env.FAULTS === 'all') return all;
  return all.filter((_, kind) => (fault.together === true ? kind % 2 === at % 2 : kind === at % all.length));
}

/** The time after which the service reports that the outcome of a commit is unknown. */
const DEADLINE_MILLISECONDS = 5000;

const NOTHING: Heard = { response: undefined, milliseconds: 0 };

/**
 * The shortest time limit of the service, in milliseconds. A request that takes longer, for example on a slow machine,
 * may have reached a time limit in addition to the fault or instead of it. Its response must still be correct, but the
 * fault is tried again to test the fault's own outcome.
 */
const SHORTEST_LIMIT = LIMITS.lock;

/** The responses during a fault, and a problem if they did not result from the fault. */
type Undergone = { readonly heard: readonly Heard[]; readonly problem: string | undefined };

/** Sends requests during a fault, and repairs it. */
async function undergo(stage: Stage, fault: Fault, attempts: readonly Attempt[]): Promise<Undergone> {
  await untilReady(stage);
  for (const attempt of attempts) await prepare(stage, attempt);
  await untilReady(stage);
  const [first] = attempts;
  if (first === undefined) return { heard: [], problem: undefined };
  const { trap, mend, send: ownWay } = await fault.arrange(stage, first);
  let heard: readonly Heard[];
  try {
    heard = await Promise.all(attempts.map((attempt) => ownWay?.() ?? send(stage, attempt)));
  } finally {
    stage.proxy.traps.length = 0;
    await mend?.();
  }
  if (trap?.sprung === false) return { heard, problem: 'the fault did not happen' };
  const problems = attempts.map((attempt, at) => problemOf(fault, attempt, heard[at] ?? NOTHING));
  return { heard, problem: problems.find((problem) => problem !== undefined) };
}

function problemOf(fault: Fault, { operation }: Attempt, one: Heard): string | undefined {
  const { status = 201, text, fields } = one.response ?? {};
  const isGivenUp = fault.recovers === true && one.milliseconds >= DEADLINE_MILLISECONDS;
  const outcomes: readonly Outcome[] = [...(fault.outcomes ?? ['no']), ...(isGivenUp ? (['unknown'] as const) : [])];
  const outcome = outcomeOf(one);
  if (one.milliseconds <= (fault.least ?? 0)) return `it took only ${one.milliseconds} ms: ${text}`;
  if (!outcomes.includes(outcome)) return `${outcome} instead of ${outcomes.join(' or ')}: ${text}`;
  const codes = [fault.code ?? `unknown_${operation}`, ...(fault.orBusy === true ? ['service_unavailable'] : [])];
  if (status >= 300 && !codes.includes(String(fields?.Code))) return `not ${codes.join(' or ')}: ${text}`;
  return undefined;
}
