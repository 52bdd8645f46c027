import { randomBytes } from 'node:crypto';
import { type Attempt, answerOf, apply, noticesOf } from './attempts.ts';
import { type Behavior, behaviorOf } from './behavior.ts';
import type { Book, Fact, NewFact } from './book.ts';
import { type Answer, isSameOrder, keyOf, type Order, type Status } from './order.ts';

export type Reply =
  | { readonly kind: 'answer' | 'malformed'; readonly answer: Answer; readonly afterSeconds: number }
  /** The connection stays open without an answer, ends without one, or ends in the middle of one. */
  | { readonly kind: 'silence' | 'cut' | 'cut_in_answer' }
  | { readonly kind: 'server_error' | 'conflict' };

type Settings = {
  readonly book: Book;
  /** The facts in the book when it was opened. */
  readonly facts: readonly Fact[];
  /** Sends a notice repeatedly until it is received. Resolves to false if it stopped before that. */
  readonly sendNotice: (notice: Answer & { readonly notice_id: string }) => Promise<boolean>;
};

/** A processor that moves no money, but keeps a book as if it did. */
export class Processor {
  readonly #book: Book;
  readonly #sendNotice: Settings['sendNotice'];
  readonly #attempts = new Map<string, Attempt>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor({ book, facts, sendNotice }: Settings) {
    this.#book = book;
    this.#sendNotice = sendNotice;
    for (const fact of facts) apply(this.#attempts, fact);
    // Continues the work that a kill interrupted.
    for (const attempt of this.#attempts.values()) {
      if (attempt.state === 'received') this.#schedule(attempt);
      else void this.#sendNotices(attempt);
    }
  }

  /** Executes an order once. Writes the answer to the book before it returns it. */
  async send(order: Order): Promise<Reply> {
    const known = this.#attempts.get(order.attempt_id);
    if (known !== undefined && !isSameOrder(known.order, order)) return { kind: 'conflict' };
    const attempt = known ?? this.#receive(order, 'send');
    const reply = this.#decide(attempt, order, known === undefined);
    const isSaid = reply.kind === 'answer' || reply.kind === 'malformed';
    // The book writes facts in order, so once this one is on disk, all earlier ones are.
    await this.#note({
      fact: 'answered',
      attempt_id: attempt.attemptId,
      call: 'send',
      status: isSaid ? reply.answer.status : null,
    });
    if (known === undefined) this.#schedule(attempt);
    void this.#sendNotices(attempt);
    return reply;
  }

  async inquire(order: Order): Promise<Reply> {
    const attempt = this.#attempts.get(order.attempt_id);
    const status = attempt === undefined ? 'not_found' : statusOf(attempt);
    await this.#note({ fact: 'answered', attempt_id: order.attempt_id, call: 'inquire', status });
    if (attempt === undefined || status === 'not_found') return said(unknownTo(order));
    return said(answerOf(attempt, status));
  }

  /** Moves the money back. If the order itself arrives only later, it is not executed. */
  async reverse(order: Order): Promise<Reply> {
    const known = this.#attempts.get(order.attempt_id);
    if (known !== undefined && !isSameOrder(known.order, order)) return { kind: 'conflict' };
    const attempt = known ?? this.#receive(order, 'reverse');
    const { attemptId } = attempt;
    if (attempt.state !== 'reversed') void this.#note({ fact: 'reversed', attempt_id: attemptId });
    await this.#note({ fact: 'answered', attempt_id: attemptId, call: 'reverse', status: 'reversed' });
    return said(answerOf(attempt, 'reversed'));
  }

  /** Cancels all scheduled work. The next start reads it from the book. */
  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #note(fact: NewFact): Promise<void> {
    apply(this.#attempts, fact);
    return this.#book.write(fact);
  }

  #receive(order: Order, call: 'send' | 'reverse'): Attempt {
    const behavior = behaviorOf(order.sandbox_behavior, order.processor_token);
    const isLater = call === 'send' && (behavior.kind === 'late' || behavior.kind === 'pending');
    void this.#note({
      fact: 'received',
      call,
      attempt_id: order.attempt_id,
      ...keyOf(order),
      behavior: textOf(behavior),
      due_at: isLater ? new Date(Date.now() + behavior.seconds * 1000).toISOString() : null,
      not_after: order.not_after === null ? null : new Date(order.not_after).toISOString(),
    });
    const attempt = this.#attempts.get(order.attempt_id);
    if (attempt === undefined) throw new Error('a received order is an attempt');
    return attempt;
  }

  /**
   * Decides the action and the answer of /send. Only the first order gets the behavior. A repeated order is executed
   * normally.
   */
  #decide(attempt: Attempt, order: Order, isFirst: boolean): Reply {
    const { state, behavior, attemptId } = attempt;
    if (state === 'reversed') return said(answerOf(attempt, 'not_executed'));
    if (state !== 'received') return said(answerOf(attempt, statusOfEnded(state)));
    const isWaiting = attempt.dueAt !== null && !isFirst;
    if (isWaiting) return said(answerOf(attempt, 'pending'));
    if (order.not_after !== null && Date.now() > order.not_after) {
      void this.#note({ fact: 'not_executed', attempt_id: attemptId });
      return said(answerOf(attempt, 'not_executed'));
    }
    return isFirst ? this.#begin(attempt, behavior) : this.#execute(attempt);
  }

  #begin(attempt: Attempt, behavior: Behavior): Reply {
    switch (behavior.kind) {
      case 'silent_not_executed':
      case 'late':
        return { kind: 'silence' };
      case 'cut_before':
      case 'refused':
        return { kind: 'cut' };
      case '500':
        return { kind: 'server_error' };
      case 'pending':
        return said(answerOf(attempt, 'pending'));
      case 'decline': {
        const { code, retryAfterSeconds } = behavior;
        const { attemptId } = attempt;
        void this.#note({ fact: 'declined', attempt_id: attemptId, code, retry_after_seconds: retryAfterSeconds });
        return said(answerOf(attempt, 'declined'));
      }
      default:
        return answeredAs(behavior, this.#execute(attempt));
    }
  }

  #execute(attempt: Attempt): Reply & { readonly kind: 'answer' } {
    const { amount } = attempt.order;
    void this.#note({
      fact: 'executed',
      attempt_id: attempt.attemptId,
      amount: attempt.behavior.kind === 'partial' ? Math.ceil(amount / 2) : amount,
      processor_reference: `sim_${randomBytes(10).toString('hex')}`,
    });
    return said(answerOf(attempt, 'approved'));
  }

  #schedule(attempt: Attempt): void {
    if (attempt.dueAt === null) return;
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        void this.#executeDue(attempt);
      },
      Math.max(0, attempt.dueAt - Date.now()),
    );
    this.#timers.add(timer);
  }

  async #executeDue(attempt: Attempt): Promise<void> {
    if (attempt.state !== 'received') return;
    // An order that was answered as pending has no time limit. An unanswered order may already count as lost after its time limit.
    const isTooLate = attempt.behavior.kind === 'late' && attempt.notAfter !== null && Date.now() > attempt.notAfter;
    if (isTooLate) void this.#note({ fact: 'not_executed', attempt_id: attempt.attemptId });
    else this.#execute(attempt);
    await this.#sendNotices(attempt);
  }

  /** Sends the notices about an attempt that are not sent yet. A duplicate notice has the same id as the first one. */
  async #sendNotices(attempt: Attempt): Promise<void> {
    const status = attempt.executed !== null ? 'approved' : attempt.state;
    if (status !== 'approved' && status !== 'not_executed') return;
    const notice_id = `notice_${attempt.attemptId.slice('pat_'.length)}`;
    const answer = answerOf(attempt, status);
    while (attempt.noticesSent < noticesOf(attempt)) {
      if (!(await this.#sendNotice({ ...answer, notice_id }))) return;
      await this.#note({ fact: 'notice_sent', attempt_id: attempt.attemptId, notice_id });
    }
  }
}

/** Returns the reply in the form that the behavior requires. */
function answeredAs(behavior: Behavior, reply: Reply & { readonly kind: 'answer' }): Reply {
  const { answer } = reply;
  switch (behavior.kind) {
    case 'slow':
      return { ...reply, afterSeconds: behavior.seconds };
    case 'silent_executed':
      return { kind: 'silence' };
    case 'malformed':
      return { ...reply, kind: 'malformed' };
    case 'wrong_amount':
      return { ...reply, answer: { ...answer, amount: answer.amount + 1 } };
    case 'cut':
      return { kind: 'cut_in_answer' };
    case 'not_found_then_found':
      return { kind: 'cut' };
    default:
      return reply;
  }
}

function said(answer: Answer): Reply & { readonly kind: 'answer' } {
  return { kind: 'answer', answer, afterSeconds: 0 };
}

/** Returns the answer to an inquiry. An unanswered order that is executed later is not found until then. */
function statusOf({ state, behavior, notFounds }: Attempt): Status {
  if (state === 'reversed') return state;
  if (state === 'received') return behavior.kind === 'pending' ? 'pending' : 'not_found';
  return behavior.kind === 'not_found_then_found' && notFounds === 0 ? 'not_found' : statusOfEnded(state);
}

function statusOfEnded(state: 'executed' | 'declined' | 'not_executed'): Status {
  return state === 'executed' ? 'approved' : state;
}

function unknownTo({ attempt_id, amount, currency }: Order): Answer {
  const nothing = { processor_reference: null, code: null, retry_after_seconds: null };
  return { attempt_id, status: 'not_found', amount, currency, ...nothing };
}

function textOf(behavior: Behavior): string {
  if (behavior.kind !== 'decline')
    return 'seconds' in behavior ? `${behavior.kind}=${behavior.seconds}` : behavior.kind;
  return `decline=${behavior.code}${behavior.retryAfterSeconds === null ? '' : `:${behavior.retryAfterSeconds}`}`;
}
