/**
 * Why a request is sent to a webhook: an `event` for the first time, a `retry` of one that failed, a `probe` that finds out
 * whether a paused webhook works again, a `replay` of many events, a `resend` of one, or a `test`.
 */
export type AttemptKind = 'event' | 'retry' | 'probe' | 'replay' | 'resend' | 'test';
