import {
  afterFailure,
  afterSuccess,
  type FailedAttempt,
  type FailureKind,
  findNotice,
  retryPause,
} from '../../../domain/webhooks/health.ts';
import { narrowWindow, widenWindow } from '../../../domain/webhooks/webhook.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { idAt } from '../../foundation/ids.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import type { Attempt } from '../../store/webhooks/attempt.ts';
import type { FailedDelivery, FinishedDelivery } from '../../store/webhooks/delivery.ts';
import type { Answer } from '../outbound/sender.ts';
import type { Item } from './endpoint/definition.ts';
import type { Endpoint } from './endpoint/endpoint.ts';

/** A report about a webhook, which becomes an event and an entry in the log. */
export type Notice = 'failing' | 'disabled' | 'gone';

export type Outcome = {
  readonly endpoint: Endpoint;
  readonly item: Item;
  readonly attempt: Attempt | null;
  readonly failed: FailedDelivery | null;
  readonly finished: readonly FinishedDelivery[];
  /** Whether the cursor may move past the event. */
  readonly isPassed: boolean;
  readonly notice: Notice | null;
  /** The revision that the webhook had when the item was sent. */
  readonly revision: number;
};

/**
 * A receiver is slow if it takes longer than this. Requests to slow receivers may take up only half of the limit for requests in
 * flight.
 */
export const SLOW_MILLISECONDS = 2_000;

/** The time of sending, in milliseconds since 1970, and the webhook's revision at that time. */
export type Sent = { readonly startedAt: number; readonly revision: number };

/** Determines the outcome of an attempt, and updates the window and the health of the webhook. */
export function judge(endpoint: Endpoint, item: Item, answer: Answer, { startedAt, revision }: Sent): Outcome {
  const succeeded = answer.error === null && answer.status >= 200 && answer.status < 300;
  const attempt = toAttempt(endpoint, item, answer, { startedAt, succeeded });
  endpoint.isSlow = answer.milliseconds > SLOW_MILLISECONDS;
  const isRequested = item.kind === 'test' || item.kind === 'resend';
  if (item.replay !== null) item.replay.sent += 1;
  const common = { endpoint, item, attempt, revision } as const;
  if (isRequested) {
    if (succeeded) endpoint.probeSoon();
    const finished = finishRequested(endpoint, item, succeeded);
    return { ...common, failed: null, finished, isPassed: false, notice: null };
  }
  if (succeeded) {
    endpoint.window = widenWindow(endpoint.window, endpoint.definition.concurrency);
    endpoint.health = afterSuccess(endpoint.health, databaseTime());
    endpoint.isFailingTold = false;
    const hasRow = item.place === null || item.replay !== null;
    const finished = hasRow ? [finish(endpoint, item, 'event')] : [];
    return { ...common, failed: null, finished, isPassed: true, notice: null };
  }
  const failure: FailedAttempt = {
    kind: kindOf(answer),
    retryAfterMilliseconds: answer.error === null ? readRetryAfter(answer.retryAfter, databaseTime()) : null,
    random: Math.random(),
  };
  const { isStrict } = endpoint;
  const hasTimedOut = failure.kind === 'timed_out';
  endpoint.window = narrowWindow(endpoint.window, hasTimedOut);
  const timing = { startedAt, endedAt: databaseTime(), dueAt: item.dueAt, isStrict };
  endpoint.health = afterFailure(endpoint.health, { ...failure, ...timing });
  const failed = storeFailure(endpoint, item, failure);
  const isPutBack = failed === null && item.place !== null;
  if (isPutBack) endpoint.putBack(item, revision !== endpoint.definition.revision);
  // An answer from a previous URL must not disable the webhook.
  const notice = revision === endpoint.definition.revision ? noticeOf(endpoint, answer) : null;
  return { ...common, failed, finished: [], isPassed: !isPutBack, notice };
}

function kindOf(answer: Answer): FailureKind {
  if (answer.error === null) return answer.status === 429 ? 'too_many_requests' : 'failed';
  return answer.error === 'answer_timeout' || answer.error === 'connect_timeout' ? 'timed_out' : 'failed';
}

function noticeOf(endpoint: Endpoint, answer: Answer): Notice | null {
  if (endpoint.health.status === 'disabled') return null;
  if (answer.error === null && answer.status === 410) return 'gone';
  const notice = findNotice(endpoint.health);
  return notice === 'failing' && endpoint.isFailingTold ? null : notice;
}

/** Returns the row of a failed event. Null if the event is sent again without a row, or if its row does not change. */
function storeFailure(endpoint: Endpoint, item: Item, failure: FailedAttempt): FailedDelivery | null {
  const isNew = item.place !== null;
  // A probe is not a retry of the event. It only tests the webhook.
  if (item.kind === 'probe' || (isNew && endpoint.isStrict)) return null;
  const tries = isNew ? 1 : item.tries + 1;
  const pause = retryPause(tries, failure);
  const nextAt = pause === null ? null : databaseTime() + pause;
  const { held, webhookId, definition } = endpoint;
  const { programId } = definition;
  return { webhookId, ...held, programId, eventId: item.eventId, position: item.position ?? 0, tries, nextAt };
}

/**
 * Returns the finished row of a resend or a test. After a successful resend, also returns the row of the event, because the event
 * needs no further retry.
 */
function finishRequested(endpoint: Endpoint, item: Item, succeeded: boolean): readonly FinishedDelivery[] {
  const own = { ...finish(endpoint, item, item.kind === 'test' ? 'test' : 'resend'), dueAt: item.dueAt };
  return item.kind === 'resend' && succeeded ? [own, finish(endpoint, item, 'event')] : [own];
}

function finish({ webhookId, held }: Endpoint, { eventId }: Item, kind: FinishedDelivery['kind']): FinishedDelivery {
  return { webhookId, ...held, kind, eventId, dueAt: null };
}

function toAttempt(
  { webhookId, definition: { programId, headers } }: Endpoint,
  item: Item,
  answer: Answer,
  { startedAt, succeeded }: { readonly startedAt: number; readonly succeeded: boolean },
): Attempt {
  const { eventId, eventType, position, kind, tries } = item;
  const { milliseconds, address, error } = answer;
  return {
    attemptId: idAt(startedAt),
    webhookId,
    programId,
    eventId,
    eventType,
    position,
    kind,
    try: tries + 1,
    startedAt,
    milliseconds,
    succeeded,
    status: error === null ? answer.status : null,
    address,
    error,
    message: error === null ? null : redactAnswer(answer.message, headers),
    responseStart: error === null ? redactAnswer(answer.bodyStart, headers) : null,
  };
}

/** Larger values of Retry-After are reduced to this, which is longer than any pause of a webhook. */
const MAX_SECONDS = 1_000_000;

/**
 * Reads Retry-After: seconds or an HTTP date. Returns milliseconds from `now` (milliseconds since 1970). Null for anything else.
 */
export function readRetryAfter(text: string | null, now: number): number | null {
  const trimmed = text?.trim() ?? '';
  if (/^[0-9]{1,10}$/.test(trimmed)) return Math.min(Number(trimmed), MAX_SECONDS) * 1000;
  // Date.parse also accepts strings that are not HTTP dates, such as a number.
  if (!/^[A-Za-z]{3,9},? /.test(trimmed)) return null;
  const moment = Date.parse(trimmed);
  return Number.isNaN(moment) ? null : Math.max(0, moment - now);
}

// Invariant: The stored part of an answer contains no card numbers, keys or headers of the webhook
// Tested by: `server/background/delivery/judge.test.ts`, `test/delivery/deliver.test.ts`

const REDACTED = '[redacted]';

/** Maximum number of characters of an answer that are stored. */
const MAX_LENGTH = 1_024;

/** Minimum length of a redacted value. A shorter value could occur in any response. */
const MIN_SECRET_LENGTH = 6;

/** Returns the stored part of an answer, without the webhook's secrets and headers, because a receiver may repeat them. */
export function redactAnswer(text: string, headers: Readonly<Record<string, string>>): string {
  let redacted = text;
  for (const value of Object.values(headers)) {
    // A receiver may repeat a token or password without its scheme, such as Bearer.
    for (const secret of new Set([value, value.slice(value.indexOf(' ') + 1)])) {
      if (secret.length < MIN_SECRET_LENGTH) continue;
      redacted = redacted.replaceAll(secret, REDACTED);
      redacted = withoutStartAtEnd(redacted, secret);
    }
  }
  return withoutSecrets(redacted, MAX_LENGTH);
}

/** If the text ends with the beginning of a secret that was cut off, redacts that beginning. */
function withoutStartAtEnd(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= MIN_SECRET_LENGTH; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + REDACTED;
  }
  return text;
}
