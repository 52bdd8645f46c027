import type { WebhookStatus } from './webhook.ts';

// Invariant: Downtime of the service never disables a webhook
// Kept by: this file moves the start of the failures forward by the time in which nothing was sent
// Tested by: `domain/webhooks/health.test.ts`, `test/delivery/failures.test.ts`

/** The record of a webhook's deliveries. Times are in milliseconds since 1970. */
export type Health = {
  readonly status: WebhookStatus;
  /** Failures in a row. */
  readonly failures: number;
  /** When the first of these failures began, moved forward by the time in which the service did not try. Null without failures. */
  readonly failingSince: number | null;
  readonly lastFailureAt: number | null;
  readonly lastSuccessAt: number | null;
  /** Failed probes in a row. */
  readonly probes: number;
  /** When the next single event may be sent, or null while events are sent as they come. */
  readonly nextProbeAt: number | null;
};

/** A webhook with this many failures in a row is paused. */
const MAX_FAILURES = 10;

/** A webhook to which every attempt has failed for this long is also paused. */
const MAX_FAILING_MILLISECONDS = 60_000;

/** After failures for this long, webhook.failing is sent. */
const TOLD_AFTER_MILLISECONDS = 3_600_000;

/** After failures for this long, a webhook is disabled. */
export const DISABLED_AFTER_MILLISECONDS = 120 * 3_600_000;

/** Fewer failures in a row than this never disable a webhook, however far apart they are. */
const MIN_FAILURES_TO_DISABLE = 10;

/** If an attempt begins this much later than it could have, the receiver did not cause the delay: the service was stopped. */
const MAX_LATENESS_MILLISECONDS = 300_000;

/** The facts about a failed attempt that matter to the health of its webhook. */
export type Failure = FailedAttempt & {
  readonly startedAt: number;
  readonly endedAt: number;
  /** When the attempt was due, for retries and probes. */
  readonly dueAt: number | null;
  /** Whether no other event may be sent before this one has succeeded. */
  readonly isStrict: boolean;
};

/** The health after a success, which clears all earlier failures. A webhook that was disabled on request stays disabled. */
export function afterSuccess(health: Health, endedAt: number): Health {
  const { status, lastFailureAt } = health;
  return {
    status: status === 'paused' ? 'enabled' : status,
    failures: 0,
    failingSince: null,
    lastFailureAt,
    lastSuccessAt: endedAt,
    probes: 0,
    nextProbeAt: null,
  };
}

/**
 * The stored health after a success that stored only its time, because a request was changing the webhook. A success later than
 * the last failure clears the failures.
 */
export function withLastSuccess(health: Health): Health {
  const { failures, lastSuccessAt, lastFailureAt } = health;
  const isOver = failures > 0 && lastSuccessAt !== null && lastFailureAt !== null && lastSuccessAt > lastFailureAt;
  return isOver ? afterSuccess(health, lastSuccessAt) : health;
}

/**
 * Merges the stored health of a webhook with facts that this process knows and the row may lack: a success after the last
 * failure, and a probe that has become due since. These are not stored while a request changes the webhook.
 */
export function mergeHealth(stored: Health, known: Health): Health {
  const lastSuccessAt = latest(stored.lastSuccessAt, known.lastSuccessAt);
  const lastFailureAt = latest(stored.lastFailureAt, known.lastFailureAt);
  const read = { ...stored, lastSuccessAt, lastFailureAt };
  const judged = withLastSuccess(read);
  if (judged !== read) return judged;
  const isDueSooner =
    known.nextProbeAt !== null && stored.nextProbeAt !== null && known.nextProbeAt < stored.nextProbeAt;
  return isDueSooner ? { ...stored, nextProbeAt: known.nextProbeAt } : stored;
}

function latest(one: number | null, other: number | null): number | null {
  return one === null || (other !== null && other > one) ? other : one;
}

/**
 * The health after a failure, which may pause the webhook: it then gets one event at a time, on a schedule. In strict order a
 * webhook waits after every failure, because the failed event must be sent next.
 */
export function afterFailure(health: Health, failure: Failure): Health {
  const failures = health.failures + 1;
  const failingSince = failingFrom(health, failure);
  const isLong = failures > 1 && failure.endedAt - failingSince >= MAX_FAILING_MILLISECONDS;
  const isPaused = health.status === 'paused';
  const pauses = health.status === 'enabled' && (failures >= MAX_FAILURES || isLong);
  const next: Health = {
    ...health,
    failures,
    failingSince,
    lastFailureAt: failure.endedAt,
    status: pauses ? 'paused' : health.status,
  };
  if (!isPaused && !pauses && !failure.isStrict) return next;
  // Attempts already in flight when the webhook was paused are not probes.
  const isProbe = health.nextProbeAt === null || failure.startedAt >= health.nextProbeAt;
  if (!isProbe) return next;
  const nextProbeAt = failure.endedAt + probePause(health.probes, failure);
  return { ...next, probes: health.nextProbeAt === null ? 1 : health.probes + 1, nextProbeAt };
}

/**
 * When the failures in a row began. The lateness of an attempt does not count: a webhook must not appear to have failed for days
 * because the service was stopped for days.
 */
function failingFrom({ failures, failingSince, lastFailureAt }: Health, { startedAt, dueAt }: Failure): number {
  if (failures === 0 || failingSince === null || lastFailureAt === null) return startedAt;
  const couldBeginAt = dueAt === null || dueAt < lastFailureAt ? lastFailureAt : dueAt;
  const lateness = startedAt - couldBeginAt;
  return lateness > MAX_LATENESS_MILLISECONDS ? failingSince + lateness : failingSince;
}

/** The notice that is due after a failure: the webhook has failed for an hour, or is now disabled. */
export function findNotice({ failures, failingSince, lastFailureAt }: Health): 'failing' | 'disabled' | null {
  if (failingSince === null || lastFailureAt === null) return null;
  const lasted = lastFailureAt - failingSince;
  if (lasted >= DISABLED_AFTER_MILLISECONDS && failures >= MIN_FAILURES_TO_DISABLE) return 'disabled';
  return lasted >= TOLD_AFTER_MILLISECONDS ? 'failing' : null;
}

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
