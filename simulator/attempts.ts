import { type Behavior, readBehavior } from './behavior.ts';
import type { Fact } from './book.ts';
import type { Answer, OrderKey, Status } from './order.ts';

/** An attempt, built from the facts about it. */
export type Attempt = {
  readonly attemptId: string;
  readonly order: OrderKey;
  readonly behavior: Behavior;
  /** `dueAt` and `notAfter` are in milliseconds since 1970. Each is null if it does not apply. */
  readonly dueAt: number | null;
  readonly notAfter: number | null;
  state: 'received' | 'executed' | 'declined' | 'not_executed' | 'reversed';
  executed: { readonly amount: number; readonly reference: string } | null;
  declined: { readonly code: string; readonly retryAfterSeconds: number | null } | null;
  /** How many inquiries were answered with `not_found`. */
  notFounds: number;
  noticesSent: number;
};

/** Applies a fact: a new one or, after a restart, one from the book. */
export function apply(attempts: Map<string, Attempt>, fact: Omit<Fact, 'at'> & Pick<Fact, 'fact'>): void {
  // `Omit` merges the types of the facts into one. The cast makes them a union again.
  const it = fact as Fact;
  if (it.fact === 'received') attempts.set(it.attempt_id, received(it));
  const attempt = attempts.get(it.attempt_id);
  // There is no attempt if the fact is an inquiry about an order that never arrived.
  if (attempt === undefined) return;
  switch (it.fact) {
    case 'executed':
      attempt.state = 'executed';
      attempt.executed = { amount: it.amount, reference: it.processor_reference };
      break;
    case 'declined':
      attempt.state = 'declined';
      attempt.declined = { code: it.code, retryAfterSeconds: it.retry_after_seconds };
      break;
    case 'not_executed':
    case 'reversed':
      attempt.state = it.fact;
      break;
    case 'answered':
      if (it.call === 'inquire' && it.status === 'not_found') attempt.notFounds += 1;
      break;
    case 'notice_sent':
      attempt.noticesSent += 1;
      break;
  }
}

function received(fact: Extract<Fact, { fact: 'received' }>): Attempt {
  const { attempt_id, behavior, due_at, not_after, ...order } = fact;
  const time = (text: string | null) => (text === null ? null : Date.parse(text));
  return {
    attemptId: attempt_id,
    order,
    behavior: readBehavior(behavior ?? 'approve') ?? { kind: 'approve' },
    dueAt: time(due_at),
    notAfter: time(not_after),
    state: 'received',
    executed: null,
    declined: null,
    notFounds: 0,
    noticesSent: 0,
  };
}

export function answerOf({ attemptId, order, executed, declined }: Attempt, status: Status): Answer {
  return {
    attempt_id: attemptId,
    status,
    amount: executed?.amount ?? order.amount,
    currency: order.currency,
    processor_reference: executed?.reference ?? null,
    code: status === 'declined' ? (declined?.code ?? null) : null,
    retry_after_seconds: status === 'declined' ? (declined?.retryAfterSeconds ?? null) : null,
  };
}

export function noticesOf({ behavior }: Attempt): number {
  if (behavior.kind === 'duplicate') return 2;
  return behavior.kind === 'late' || behavior.kind === 'pending' ? 1 : 0;
}
