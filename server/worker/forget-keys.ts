import { forgetKeys } from '../operations/forget-keys.ts';

/** Often enough that a day's keys go in small portions. */
const INTERVAL = 60 * 60 * 1000;

/** Forgets old idempotency keys while the service runs (see the operation of that name). */
export function keepForgettingKeys(
  database: Parameters<typeof forgetKeys>[0],
  onFailure: (error: unknown) => void,
): { readonly stop: () => void } {
  const timer = setInterval(() => void forgetKeys(database).catch(onFailure), INTERVAL).unref();
  return { stop: () => clearInterval(timer) };
}
