import type { AttemptRecord, WebhookRecord } from '../../sdk/client.ts';
import { formatCount } from './amounts.ts';
import { formatDuration } from './times.ts';

type State = Pick<
  WebhookRecord,
  'status' | 'status_reason' | 'failures' | 'failing_since' | 'last_failure_at' | 'next_attempt_at'
>;

/**
 * Returns the reason for a webhook's status, to follow the status: `paused after 10 failures in 6 s, next try in 25 s`.
 * Undefined if the webhook works. `now` is the actual time, in milliseconds since 1970.
 */
export function reasonOf(webhook: State, now: number): string | undefined {
  const { status, status_reason: reason, failures } = webhook;
  if (status === 'disabled') return DISABLED[reason ?? 'requested'];
  if (failures === 0 && status === 'enabled') return undefined;
  const failed = `${counted(failures, 'failure')}${durationOf(webhook)}${nextTryOf(webhook.next_attempt_at, now)}`;
  return status === 'paused' ? `after ${failed}` : failed;
}

const DISABLED = {
  requested: 'on request',
  gone: 'because the URL responded with 410 Gone',
  failing: 'after 120 hours of failures',
} as const;

/** Says how long the webhook has been failing. */
function durationOf({ failing_since: since, last_failure_at: last }: State): string {
  if (since === null || last === null) return '';
  const milliseconds = Date.parse(last) - Date.parse(since);
  return milliseconds < 1000 ? '' : ` in ${formatDuration(milliseconds)}`;
}

function nextTryOf(at: string | null, now: number): string {
  if (at === null) return '';
  const wait = Date.parse(at) - now;
  return wait < 1000 ? ', next try now' : `, next try in ${formatDuration(wait)}`;
}

/** Returns the status for the badge: an enabled webhook that fails is `failing`. */
export function statusOf({ status, failures }: Pick<WebhookRecord, 'status' | 'failures'>): string {
  return status === 'enabled' && failures > 0 ? 'failing' : status;
}

/** Summarizes a page of failed attempts. Set `isAll` if it is the only page. */
export function failuresText(attempts: readonly Pick<AttemptRecord, 'webhook_id'>[], isAll: boolean): string {
  const webhooks = counted(new Set(attempts.map(({ webhook_id: id }) => id)).size, 'webhook');
  const failed = `${counted(attempts.length, 'attempt')} to ${webhooks} failed`;
  const what = isAll ? `${failed}.` : `These ${failed}. There are more.`;
  return `${what} Each event is retried for about three days. Resend sends it now.`;
}

/** Says why an event was sent. */
export function kindText({ kind, try: count }: Pick<AttemptRecord, 'kind' | 'try'>): string {
  switch (kind) {
    case 'event':
      return 'First try';
    case 'retry':
      return `Retry ${count - 1}`;
    case 'probe':
      return 'Try while paused';
    case 'replay':
      return 'Replay';
    case 'resend':
      return 'Resent';
    case 'test':
      return 'Test';
  }
}

/** Returns the status of the response, or what failed if there was none. */
export function resultText({ status, error }: Pick<AttemptRecord, 'status' | 'error'>): string {
  return status === null ? (error ?? 'no response').replaceAll('_', ' ').replace('answer', 'response') : String(status);
}

const SHOWN_LENGTH = 40;

/** Returns the start of a response on one line, for a list. */
export function beginningOf(response: string): string {
  const line = response.trim().replaceAll(/\s+/g, ' ');
  return line.length > SHOWN_LENGTH ? `${line.slice(0, SHOWN_LENGTH)}…` : line;
}

/** Splits types at spaces or commas. */
export function typesIn(field: string): readonly string[] {
  return field.split(/[\s,]+/).filter((type) => type !== '');
}

/** Whether the list of attempts accepts a string as a status filter: 404, 5xx, or none. */
export function isStatusFilter(text: string): boolean {
  return /^(?:[1-5](?:[0-9]{2}|xx)|none)$/.test(text);
}

function counted(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
}
