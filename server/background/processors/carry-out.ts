import { CARD_RULES, cardRefusal, cardStatusOn } from '../../../domain/cards/card.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import {
  expiredStep,
  type Failure,
  heldStep,
  lostStep,
  overdueStep,
  refusedStep,
  type Step,
  unreachable,
} from '../../../domain/processors/next-step.ts';
import type { Answer, Order } from '../../../domain/processors/order.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { notify } from '../../foundation/notify.ts';
import {
  type ClaimedAttempt,
  claimAttempts,
  markSent,
  toAttempt,
  toClaimedAttempt,
} from '../../store/processors/attempt.ts';
import { type RunningJob, startRounds } from '../jobs/rounds.ts';
import type { Connector } from './http-connector.ts';
import { applyStep, type ReportParts, recordAnswer } from './report.ts';

// Invariant: The order of an attempt is sent only after the status `sent` is committed, and by only one process. It is never
//   sent again before the processor has been asked
// Kept by: `markSent`: only the orders of the rows that it returns are sent; `lostStep`
// Tested by: `test/processors/matrix.test.ts`

// Invariant: No transaction is open during a call to a processor
// Kept by: every statement of this job is a separate transaction
// Tested by: `test/processors/sending.test.ts`

/** Maximum delay before the job finds attempts that became due or that another process created. */
const INTERVAL_MILLISECONDS = 1_000;

const RETRY_MILLISECONDS = 1_000;

/** How long an order may be executed after it was marked as sent. Without an answer, it then counts as lost. */
const SEND_WINDOW_MILLISECONDS = 30_000;

/** How long an attempt belongs to the process that claimed it: enough for a call and for recording its answer. */
const LEASE_SECONDS = { ready: 5, other: 40 };

/** Maximum number of answers that wait to be recorded, as a multiple of the connector's maximum number of parallel calls. */
const MAX_UNRECORDED = 4;

type Asked = 'inquire' | 'reverse';

/** Receives an ended call to a connector, for metrics and the breaker. */
export type NoteCall = (call: {
  readonly connectorId: string;
  readonly question: 'send' | Asked;
  readonly answer: Answer;
  readonly milliseconds: number;
}) => void;

export type CarryOutParts = ReportParts & {
  /** Whether new orders may be sent. False while the breaker is open. */
  readonly isOpen: (connectorId: string) => boolean;
  readonly onCall: NoteCall;
};

export type Carrier = RunningJob & {
  readonly inFlight: number;
  readonly whenIdle: () => Promise<void>;
};

/**
 * Carries out the attempts of one connector, at most `maxInFlight` at the same time. After `stop`, it claims no more
 * attempts, and calls in flight continue. Another process claims unfinished attempts when their leases expire.
 */
export function startCarryingOut(connector: Connector, parts: CarryOutParts): Carrier {
  const inFlight = new Map<string, Promise<void>>();
  const { connectorId, traits } = connector;
  let mayBeMore = false;
  let calls = 0;
  /** Limits both the calls in flight and the answers that wait to be recorded. */
  const countFree = (): number =>
    Math.min(traits.maxInFlight - calls, MAX_UNRECORDED * traits.maxInFlight - inFlight.size);
  /** Attempts are claimed and marked as sent in groups, because each group costs two statements and a commit. */
  const isWorthwhile = (): boolean => 4 * countFree() >= traits.maxInFlight;
  const wakeForMore = (): void => {
    if (mayBeMore && isWorthwhile()) job.wake();
  };
  const onCalls = (change: 1 | -1): void => {
    calls += change;
    if (change === -1) wakeForMore();
  };
  const begin = (attempt: Attempt, work: () => Promise<unknown>): void => {
    const done = work()
      .catch((error: unknown) => parts.onFailure(error))
      .then(() => {
        inFlight.delete(attempt.attemptId);
        wakeForMore();
      });
    inFlight.set(attempt.attemptId, done);
  };
  const job = startRounds({
    firstPauseMilliseconds: 0,
    retryMilliseconds: RETRY_MILLISECONDS,
    onFailure: parts.onFailure,
    run: async (signal) => {
      if (!isWorthwhile()) {
        mayBeMore = true;
        return INTERVAL_MILLISECONDS;
      }
      const free = countFree();
      const rows = await parts.database.writeUnguarded(claimAttempts([connectorId], free, LEASE_SECONDS));
      const readAt = performance.now();
      mayBeMore = rows.length === free;
      const claimed = rows.map(toClaimedAttempt).filter(({ attempt }) => !inFlight.has(attempt.attemptId));
      const work = new AttemptWork(connector, { ...parts, onCalls }, readAt);
      const ready: ClaimedAttempt[] = [];
      for (const one of claimed) {
        const { attempt } = one;
        const step = work.stepBefore(one);
        if (step !== undefined) begin(attempt, () => work.apply(one, step));
        else if (attempt.status === 'ready') ready.push(one);
        else begin(attempt, () => work.ask(one));
      }
      // When the round is being stopped, the attempts stay unchanged, because nothing was sent.
      if (ready.length > 0 && !signal.aborted) {
        for (const { one, sent, until } of await work.markSent(ready)) begin(sent, () => work.send(one, sent, until));
      }
      return mayBeMore && isWorthwhile() ? 0 : INTERVAL_MILLISECONDS;
    },
  });
  return {
    ...job,
    get inFlight() {
      return inFlight.size;
    },
    whenIdle: async () => {
      while (inFlight.size > 0) await Promise.all(inFlight.values());
    },
  };
}

/** Handles the attempts that were claimed together. */
class AttemptWork {
  readonly #connector: Connector;
  readonly #parts: CarryOutParts & { readonly onCalls: (change: 1 | -1) => void };
  readonly #readAt: number;

  /** Calls `onCalls` at the beginning and at the end of each call to the processor. */
  constructor(
    connector: Connector,
    parts: CarryOutParts & { readonly onCalls: (change: 1 | -1) => void },
    readAt: number,
  ) {
    this.#connector = connector;
    this.#parts = parts;
    this.#readAt = readAt;
  }

  /** Returns the next step, or undefined if the processor must be asked first. */
  stepBefore(claimed: ClaimedAttempt): Step | undefined {
    const { attempt, now } = claimed;
    const { traits, connectorId } = this.#connector;
    if (attempt.status === 'sent') return lostStep(attempt, traits, now);
    if (attempt.status !== 'ready') return overdueStep(attempt, traits, now);
    const refused = cardFailure(claimed);
    if (refused !== undefined) return refusedStep(attempt, refused);
    if (claimed.isDisabled) return heldStep(attempt, disabled(attempt), traits, now);
    if (this.#parts.isOpen(connectorId)) return heldStep(attempt, unreachable(attempt), traits, now);
    return expiredStep(attempt, traits, now);
  }

  async apply({ attempt, now }: ClaimedAttempt, step: Step): Promise<void> {
    await applyStep(this.#parts, attempt, step, now);
  }

  /**
   * Marks attempts as sent. Returns the attempts that this process may send, and the deadline for sending them, by the
   * database's real clock.
   */
  async markSent(ready: readonly ClaimedAttempt[]) {
    // Read before the transaction begins, so the processor gets slightly less time than the books assume.
    const until = databaseTime() + SEND_WINDOW_MILLISECONDS;
    const byId = new Map(ready.map((one) => [one.attempt.attemptId, one]));
    const attempts = ready.map(({ attempt }) => attempt);
    const rows = await this.#parts.database.write(markSent(attempts, SEND_WINDOW_MILLISECONDS));
    return rows.map(toAttempt).flatMap((sent) => {
      const one = byId.get(sent.attemptId);
      return one === undefined ? [] : [{ one, sent, until }];
    });
  }

  async send(claimed: ClaimedAttempt, sent: Attempt, until: number): Promise<void> {
    // The process was paused for so long that other processes consider the attempt lost.
    if (databaseTime() >= until) return;
    const sentAt = performance.now();
    const order = toOrder({ ...claimed, attempt: sent }, { notAfter: until, isRepeat: sent.tries > 1 });
    const answer = await this.#call('send', order);
    const now = (): number => (sent.sentAt ?? 0) + performance.now() - sentAt;
    await recordAnswer(this.#parts, { attempt: sent, question: 'send', answer, traits: this.#connector.traits, now });
  }

  async ask(claimed: ClaimedAttempt): Promise<void> {
    const { attempt } = claimed;
    const question = attempt.status === 'reversing' ? 'reverse' : 'inquire';
    const answer = await this.#call(question, toOrder(claimed, { notAfter: null, isRepeat: attempt.tries > 1 }));
    const now = (): number => claimed.now + performance.now() - this.#readAt;
    await recordAnswer(this.#parts, { attempt, question, answer, traits: this.#connector.traits, now });
  }

  async #call(question: 'send' | Asked, order: Order): Promise<Answer> {
    const beganAt = performance.now();
    this.#parts.onCalls(1);
    const answer = await this.#connector[question](order).finally(() => this.#parts.onCalls(-1));
    const milliseconds = performance.now() - beganAt;
    const { connectorId } = this.#connector;
    notify(() => this.#parts.onCall({ connectorId, question, answer, milliseconds }));
    return answer;
  }
}

function disabled({ tries }: Attempt): Failure {
  const known =
    tries === 0
      ? 'until it was too late to send the order. Nothing was sent to the processor.'
      : 'until it was too late to send the order again. The processor has not executed it.';
  return { code: 'service_disabled', message: `Transfers like this were disabled ${known}` };
}

/** Returns the reason why the card may no longer be used, although it was allowed when the transfer was created. */
function cardFailure({ attempt, cardName, cardStatus, expiresOn, today }: ClaimedAttempt): Failure | undefined {
  const status = cardStatusOn({ status: cardStatus, expiresOn }, today);
  const code = cardRefusal(status, attempt.kind === 'push' ? 'in' : 'out');
  if (code === null) return undefined;
  const action = attempt.kind === 'push' ? 'receive money' : 'be debited';
  const known =
    attempt.tries === 0 ? 'Nothing was sent to its processor.' : 'Its processor has not executed the transfer.';
  const message = `The card '${cardName}' ${CARD_RULES[status].meaning} and cannot ${action}. ${known}`;
  return { code, message };
}

function toOrder(
  { attempt, processorToken }: Pick<ClaimedAttempt, 'attempt' | 'processorToken'>,
  { notAfter, isRepeat }: Pick<Order, 'notAfter' | 'isRepeat'>,
): Order {
  return {
    attemptId: toWireId('pat', attempt.attemptId),
    programId: toWireId('prog', attempt.programId),
    transferId: toWireId('tr', attempt.transferId),
    kind: attempt.kind,
    amount: attempt.amount,
    currency: attempt.currency,
    processorToken,
    notAfter,
    isRepeat,
    sandboxBehavior: attempt.sandboxBehavior,
  };
}
