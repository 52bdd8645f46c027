const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The kind of a failure, which determines the next attempt. */
export type FailureKind = 'failed' | 'too_many_requests' | 'timed_out';

/** The pauses after the first, second and further attempts of an event. After the last attempt the event is dead. */
const RETRY_PAUSES = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const;

/** How many times an event is sent before it is dead. */
export const MAX_TRIES = RETRY_PAUSES.length + 1;

/**
 * The pauses between the probes of a failing webhook. The last one repeats. A probe is one request, so a webhook that works again
 * gets its backlog after about half an hour at most, however long it failed.
 */
const PROBE_PAUSES = [5 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE] as const;

/** The shortest pause after a receiver responded that it gets too many requests, or did not respond. */
const MIN_BUSY_PAUSE = MINUTE;

/** Pauses vary at random by up to this share, so that attempts that failed together are not retried together. */
const VARIATION = 0.2;

/** The facts that determine the pause after a failed attempt. `random` is from 0 to 1. Times are in milliseconds. */
export type FailedAttempt = {
  readonly kind: FailureKind;
  /** The receiver's Retry-After. */
  readonly retryAfterMilliseconds: number | null;
  readonly random: number;
};

/**
 * The pause until the next attempt of an event, in milliseconds, or null if there is none. `tries` counts the attempts made,
 * including the failed one.
 */
export function retryPause(tries: number, attempt: FailedAttempt): number | null {
  const pause = RETRY_PAUSES[tries - 1];
  return pause === undefined ? null : adjust(pause, attempt);
}

/** The pause until the next probe, in milliseconds. `probes` counts the probes that failed in a row. */
export function probePause(probes: number, attempt: FailedAttempt): number {
  const last = PROBE_PAUSES[PROBE_PAUSES.length - 1] ?? HOUR;
  return adjust(PROBE_PAUSES[probes] ?? last, attempt);
}

/** Honors a longer Retry-After only up to twice the pause. Otherwise a receiver could stop its events forever. */
function adjust(pause: number, { kind, retryAfterMilliseconds, random }: FailedAttempt): number {
  const min = kind === 'failed' ? 0 : MIN_BUSY_PAUSE;
  const base = pause < min ? min : pause;
  const varied = pause * (1 - VARIATION + 2 * VARIATION * random);
  const own = varied < min ? min : varied;
  if (retryAfterMilliseconds === null || retryAfterMilliseconds <= own) return own;
  return retryAfterMilliseconds > 2 * base ? 2 * base : retryAfterMilliseconds;
}
