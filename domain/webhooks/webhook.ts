/** Maximum length of the URL of a webhook. */
export const MAX_WEBHOOK_URL_CHARACTERS = 2_000;

/** Pattern of the name of a header: a token (RFC 9110). */
export const HEADER_NAME = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";

/** Pattern of its value: visible ASCII, with spaces between. */
export const HEADER_VALUE = '^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$';

export const MAX_WEBHOOK_HEADERS = 10;

/** How much of an event is sent: all of it, or everything except its `data`. */
export const WEBHOOK_PAYLOADS = ['full', 'thin'] as const;

export type WebhookPayload = (typeof WEBHOOK_PAYLOADS)[number];

/** The order of sending: several events at once, or each only after the previous one was delivered. */
export const WEBHOOK_ORDERS = ['parallel', 'strict'] as const;

export type WebhookOrder = (typeof WEBHOOK_ORDERS)[number];

/** Whether a webhook gets its events: all of them, an occasional one as a probe, or none. */
export const WEBHOOK_STATUSES = ['enabled', 'paused', 'disabled'] as const;

export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** Why a webhook is not enabled: a request, a response with 410, or failures. */
export const WEBHOOK_STATUS_REASONS = ['requested', 'gone', 'failing'] as const;

export type WebhookStatusReason = (typeof WEBHOOK_STATUS_REASONS)[number];

/** The events that a replay sends: only the dead ones, or all. */
export const REPLAY_SELECTIONS = ['failed', 'all'] as const;

export type ReplaySelection = (typeof REPLAY_SELECTIONS)[number];

export const REPLAY_STATES = ['running', 'completed', 'canceled'] as const;

export type ReplayState = (typeof REPLAY_STATES)[number];

/**
 * Why a request is sent to a webhook: an `event` for the first time, a `retry` of one that failed, a `probe` to find out whether
 * a paused webhook works again, a `replay` of many events, a `resend` of one, or a `test`.
 */
export const ATTEMPT_KINDS = ['event', 'retry', 'probe', 'replay', 'resend', 'test'] as const;

export type AttemptKind = (typeof ATTEMPT_KINDS)[number];

/** Requests in flight at first and after a time-out. A receiver that never responds ties up no more than this. */
export const FIRST_WINDOW = 1;

/** How many requests a webhook may have in flight after a success, at most `limit`. The number doubles every round. */
export function widenWindow(window: number, limit: number): number {
  return window < limit ? window + 1 : limit;
}

/** How many requests a webhook may have in flight after a failure. */
export function narrowWindow(window: number, hasTimedOut: boolean): number {
  return hasTimedOut || window < 4 ? FIRST_WINDOW : (window - (window % 2)) / 2;
}
