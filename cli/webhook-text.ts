import type { AttemptRecord, ReplayRecord, WebhookRecord } from '../sdk/client.ts';
import { alignedLines, type Column, type Pair, pairsOf } from './output.ts';
import { plainTime } from './times.ts';

const ALL_PROGRAMS = 'all card programs';

/** The maximum number of characters of a response in a table. */
const MAX_EXCERPT_CHARACTERS = 60;

const timeOrNull = (time: string | null) => (time === null ? null : plainTime(time));

function typesOf({ types }: WebhookRecord): string {
  return types === null ? 'all' : types.join(', ');
}

/** Whether events are sent, and if not, why. */
function statusOf({ status, status_reason: reason, failures }: WebhookRecord): string {
  if (status === 'disabled') return `disabled ${DISABLED[reason ?? 'requested'].short}`;
  // A service of an earlier version does not count failures.
  if (!failures) return status;
  return `${status === 'paused' ? 'paused' : 'failing'} after ${failures} ${failures === 1 ? 'failure' : 'failures'}`;
}

function secretsOf({ secrets }: WebhookRecord): string {
  return secrets
    .map(({ secret_id: id, expires_at: end }) => (end === null ? id : `${id} until ${plainTime(end)}`))
    .join(', ');
}

/** A replay in one line. */
function replayText({ only, from, to, state, sent, position, until_position: end }: ReplayRecord): string {
  const done = state === 'running' ? `at ${position} of ${end}` : state;
  return `${only} events of ${plainTime(from)} to ${plainTime(to)}: ${done}, ${sent} sent`;
}

export function plainPairs(record: object): Pair[] {
  return pairsOf(record).map(([name, value]) => [name, plainTime(value)]);
}

export function webhookPairs(webhook: WebhookRecord): Pair[] {
  const { header_names: names, replay } = webhook;
  return plainPairs({
    ...webhook,
    program_id: webhook.program_id ?? ALL_PROGRAMS,
    types: typesOf(webhook),
    header_names: names.length === 0 ? null : names.join(', '),
    status: statusOf(webhook),
    status_reason: null,
    secrets: secretsOf(webhook),
    replay: replay === null ? null : replayText(replay),
  });
}

export const WEBHOOK_COLUMNS: readonly Column<WebhookRecord>[] = [
  'webhook_id',
  { heading: 'status', show: statusOf },
  'backlog',
  'dead',
  { heading: 'last_success_at', show: ({ last_success_at: time }) => timeOrNull(time) },
  { heading: 'types', show: typesOf },
  'url',
];

export const OPERATOR_WEBHOOK_COLUMNS: readonly Column<WebhookRecord>[] = [
  ...WEBHOOK_COLUMNS,
  { heading: 'program_id', show: ({ program_id: id }) => id ?? ALL_PROGRAMS },
];

/** The result of an attempt: `204 in 84 ms`. */
export function resultOf({ status, error, milliseconds }: AttemptRecord): string {
  return `${status ?? error ?? 'no response'} in ${milliseconds} ms`;
}

/** The beginning of the response, or else the failure in words, on one line. */
function answerOf({ response_start: start, message }: AttemptRecord, maxCharacters: number): string | null {
  const text = (start || message || '').replaceAll(/\s+/g, ' ').trim();
  if (text === '') return null;
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

export const ATTEMPT_COLUMNS: readonly Column<AttemptRecord>[] = [
  { heading: 'started_at', show: ({ started_at: time }) => plainTime(time) },
  'event_id',
  'type',
  'kind',
  'try',
  { heading: 'result', show: resultOf },
  { heading: 'response', show: (attempt) => answerOf(attempt, MAX_EXCERPT_CHARACTERS) },
];

export const FAILURE_COLUMNS: readonly Column<AttemptRecord>[] = [
  ...ATTEMPT_COLUMNS.slice(0, 1),
  'webhook_id',
  ...ATTEMPT_COLUMNS.slice(1),
];

/** An attempt with the beginning of the response. */
export function attemptText(attempt: AttemptRecord): string {
  const { succeeded, event_id, type, address } = attempt;
  const pairs: (readonly [string, string | null])[] = [
    ['event_id', event_id],
    ['type', type],
    ['result', `${succeeded ? 'delivered' : 'failed'}: ${resultOf(attempt)}`],
    ['address', address],
    ['response', answerOf(attempt, Number.POSITIVE_INFINITY)],
  ];
  return alignedLines(pairs.flatMap(([name, value]): Pair[] => (value === null ? [] : [[name, value]])));
}

/** What to do about a webhook that fails. `commandOf` writes a command about it. */
export function adviceOn(webhook: WebhookRecord, commandOf: (name: string, options?: string) => string): string {
  const { status, status_reason: reason, dead, next_attempt_at: next } = webhook;
  const lines: string[] = [];
  if (status === 'paused') {
    const when = next === null ? '' : `, next at ${plainTime(next)}`;
    lines.push(`Deliveries fail. Only the oldest event is tried${when}; the others follow once it succeeds.`);
    lines.push(`  see why:        ${commandOf('attempts', '--failed')}`);
    lines.push(`  retry now:      ${commandOf('update', '--status enabled')}`);
  }
  if (status === 'disabled') {
    lines.push(`Nothing is sent: ${DISABLED[reason ?? 'requested'].sentence}`);
    lines.push(`  send the backlog, then new events:  ${commandOf('update', '--status enabled')}`);
    lines.push(`  send only new events:               ${commandOf('update', '--status enabled --resume now')}`);
  }
  if (dead > 0) {
    lines.push(`${dead === 1 ? '1 event is' : `${dead} events are`} undelivered after the last retry.`);
    lines.push(`  send again:     ${commandOf('replay', '--only failed --from <time>')}`);
  }
  if (lines.length > 0) lines.push('More: /guides/webhooks-runbook of the service');
  return lines.map((line) => `${line}\n`).join('');
}

const DISABLED = {
  requested: { short: 'on request', sentence: 'the webhook was disabled by a request.' },
  gone: { short: 'because the URL responded with 410 Gone', sentence: 'the URL responded with 410 Gone.' },
  failing: { short: 'after 120 hours of failures', sentence: 'every attempt failed for 120 hours.' },
} as const;
