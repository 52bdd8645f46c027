import { MAX_RETRY_AFTER_SECONDS } from './processors/order.ts';

/** Inner UUID of the demo program: a constant, so that the examples work in every sandbox. */
export const DEMO_PROGRAM_ID = '01900000-0000-7000-8000-0000000000de';

/** The id of the connector to the simulator, which every sandbox has. */
export const SIMULATOR_ID = 'simulator';

/** The people whose identity can be used to sign in to a sandbox without a provider, by their id at the provider. */
export const SANDBOX_PEOPLE = {
  operator: { name: 'Olivia Park', email: 'olivia@example.com', role: 'operator' },
  treasurer: { name: 'Tariq Haddad', email: 'tariq@example.com', role: 'treasurer' },
  approver: { name: 'Amara Nwosu', email: 'amara@example.com', role: 'approver' },
  support: { name: 'Sofia Lindqvist', email: 'sofia@example.com', role: 'support' },
} as const;

/** The behaviors that the simulated processor of a sandbox supports, as messages list them. */
export const SANDBOX_BEHAVIORS = [
  'approve',
  'decline=CODE',
  'slow=SECONDS',
  'silent_executed',
  'silent_not_executed',
  'late=SECONDS',
  'duplicate',
  'pending=SECONDS',
  'partial',
  'malformed',
  'wrong_amount',
  'cut',
  'cut_before',
  'refused',
  '500',
  'not_found_then_found',
] as const;

/** A code, and the processor's advised pause before another attempt, in seconds. */
const DECLINE = /^decline=[0-9A-Za-z]{1,8}(?::([0-9]{1,7}))?$/;
/**
 * A time of at most a day (86400 seconds), with up to three decimals. The grammar matches `readBehavior` in the simulator, which
 * imports nothing.
 */
const TIMED =
  /^(?:slow|late|pending)=(?:(?:[0-9]{1,4}|[0-7][0-9]{4}|8[0-5][0-9]{3}|86[0-3][0-9]{2})(?:\.[0-9]{1,3})?|86400(?:\.0{1,3})?)$/;

const PLAIN = SANDBOX_BEHAVIORS.filter((behavior) => !behavior.includes('='));

/** A regular expression for texts that ask for one of {@link SANDBOX_BEHAVIORS}. */
export const SANDBOX_BEHAVIOR_PATTERN = `^(?:${PLAIN.join('|')})$|${DECLINE.source}|${TIMED.source}`;

/** Whether a text asks for one of {@link SANDBOX_BEHAVIORS}. */
export function isSandboxBehavior(text: string): boolean {
  const [declined, after = '0'] = DECLINE.exec(text) ?? [];
  if (declined !== undefined) return BigInt(after) <= MAX_RETRY_AFTER_SECONDS;
  if (TIMED.test(text)) return true;
  return PLAIN.some((behavior) => behavior === text);
}
