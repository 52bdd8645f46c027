/** The ways in which the simulator handles an order. */
export type Behavior =
  | { readonly kind: 'approve' | 'silent_executed' | 'silent_not_executed' | 'duplicate' | 'partial' | 'malformed' }
  | { readonly kind: 'wrong_amount' | 'cut' | 'cut_before' | 'refused' | '500' | 'not_found_then_found' }
  | { readonly kind: 'slow' | 'late' | 'pending'; readonly seconds: number }
  | { readonly kind: 'decline'; readonly code: string; readonly retryAfterSeconds: number | null };

const PLAIN = [
  'approve',
  'silent_executed',
  'silent_not_executed',
  'duplicate',
  'partial',
  'malformed',
  'wrong_amount',
  'cut',
  'cut_before',
  'refused',
  '500',
  'not_found_then_found',
] as const;
const TIMED = ['slow', 'late', 'pending'] as const;

/** Longer than any test can wait. */
const MAX_SECONDS = 86_400;
/** The longest wait before a retry that the adapter contract allows. A longer one would make the outcome unknown. */
const MAX_RETRY_AFTER_SECONDS = 2_678_400;
/** The ISO 8583 code for a card number that does not exist. */
const NO_SUCH_CARD = '14';
/** The ISO 8583 code for an invalid transaction. */
const INVALID_TRANSACTION = '12';

/**
 * Returns the behavior that an order asks for: its `sandbox_behavior`, or else its token after `sim_`. An order with any other
 * token is approved. An order with an unknown behavior is declined, because an error would leave its outcome unknown.
 */
export function behaviorOf(asked: string | null, processorToken: string): Behavior {
  const decline = (code: string): Behavior => ({ kind: 'decline', code, retryAfterSeconds: null });
  if (asked !== null) return readBehavior(asked) ?? decline(INVALID_TRANSACTION);
  if (!processorToken.startsWith('sim_')) return { kind: 'approve' };
  return readBehavior(processorToken.slice('sim_'.length)) ?? decline(NO_SUCH_CARD);
}

/**
 * Reads a behavior such as `cut`, `slow=2`, `decline=51` or, with the seconds until a retry is allowed, `decline=65:3600`.
 */
export function readBehavior(text: string): Behavior | undefined {
  const plain = PLAIN.find((name) => name === text);
  if (plain !== undefined) return { kind: plain };
  const [, name, value = ''] = /^([a-z]+)=(.+)$/.exec(text) ?? [];
  const timed = TIMED.find((one) => one === name);
  if (timed !== undefined) {
    const seconds = /^\d{1,5}(?:\.\d{1,3})?$/.test(value) ? Number(value) : Number.NaN;
    return seconds <= MAX_SECONDS ? { kind: timed, seconds } : undefined;
  }
  const [, code, after] = /^([0-9A-Za-z]{1,8})(?::(\d{1,7}))?$/.exec(value) ?? [];
  if (name !== 'decline' || code === undefined || Number(after ?? 0) > MAX_RETRY_AFTER_SECONDS) return undefined;
  return { kind: 'decline', code, retryAfterSeconds: after === undefined ? null : Number(after) };
}
