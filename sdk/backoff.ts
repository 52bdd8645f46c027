import { readRetryAfter } from './error.ts';
import type { Failure } from './outcome.ts';
import type { PreparedRequest } from './request.ts';

const FIRST_BACKOFF_MILLISECONDS = 200;
const MAX_BACKOFF_MILLISECONDS = 5_000;
/** With a longer Retry-After, such as an hour, the call throws the error instead of waiting. The error reports the time. */
const MAX_RETRY_AFTER_SECONDS = 30;

/** Returns how long to wait before a retry, or undefined if the request must not be retried. */
export function backoffMilliseconds(outcome: Failure, request: PreparedRequest, attempts: number): number | undefined {
  if (!request.repeatable || request.signal?.aborted) return undefined;
  const jittered = jitteredBackoff(attempts);
  if (outcome.kind === 'no response') return jittered;
  if (outcome.headers.get('should-retry') !== 'true') return undefined;
  const retryAfter = readRetryAfter(outcome.headers);
  if (retryAfter === undefined) return jittered;
  return retryAfter > MAX_RETRY_AFTER_SECONDS ? undefined : Math.max(retryAfter * 1000, jittered);
}

/** Returns how long to wait after this number of failed attempts, from 1. */
export function jitteredBackoff(attempts: number): number {
  // Up to half is random, so that clients that failed together do not retry together.
  const backoff = Math.min(FIRST_BACKOFF_MILLISECONDS * 2 ** (attempts - 1), MAX_BACKOFF_MILLISECONDS);
  return backoff * (0.5 + Math.random() / 2);
}

/** Waits, or returns immediately when the signal aborts. The next attempt then reports the abort. */
export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}
