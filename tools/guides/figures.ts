import { MAX_APPROVAL_HOURS } from '../../contract/approvals.ts';
import { DUPLICATE_WINDOW_SECONDS } from '../../contract/look-up/timeline.ts';
import { MAX_BATCH_ROWS } from '../../contract/transfers.ts';
import { MAX_WEBHOOKS } from '../../contract/webhooks/requests.ts';
import { MAX_METADATA_PAIRS } from '../../domain/metadata.ts';
import { MAX_RETRY_AFTER_SECONDS } from '../../domain/processors/order.ts';
import { PROPOSAL_DAYS } from '../../domain/processors/settlement.ts';
import { MAX_CASE_MESSAGES, REOPENING_DAYS } from '../../domain/support/case.ts';
import {
  DEFAULT_HOLD_MILLISECONDS,
  MAX_HOLD_MILLISECONDS,
  MAX_SCHEDULE_MILLISECONDS,
} from '../../domain/transfers/transfer.ts';
import { DISABLED_AFTER_MILLISECONDS } from '../../domain/webhooks/health.ts';
import { MAX_WEBHOOK_HEADERS } from '../../domain/webhooks/webhook.ts';
import {
  LISTED_SETTINGS,
  MIN_EVENT_RETENTION_DAYS,
  MIN_KEY_RETENTION_DAYS,
} from '../../server/foundation/configuration/settings.ts';
import { MAX_TEXT_LENGTH } from '../../server/foundation/redaction.ts';
import { MAX_PARAMETER_LENGTH } from '../../server/http/router.ts';
import { MAX_PATH_LENGTH } from '../../server/http/wire/error-response.ts';
import { MIN_CONNECTIONS } from '../../server/store/connection/connections.ts';
import { FENCE_DAYS } from '../../server/store/events/retention.ts';
import { KEPT_DAYS } from '../../server/store/idempotency.ts';
import { VERIFICATION_RETENTION_DAYS } from '../../server/store/ledger/books-verification.ts';
import { HELD_DAYS, KEPT_COUNTER_DAYS, READ_DAYS } from '../../server/store/ledger/limits.ts';
import { DAYS_AHEAD, MONTHS_AHEAD } from '../../server/store/partition.ts';
import { IDLE_MINUTES, MAX_HOURS } from '../../server/store/session.ts';
import { MAX_REQUEST_LENGTH } from '../../server/subjects/errors/redacted-entry.ts';
import { DEFAULT_OVERLAP_MILLISECONDS } from '../../server/subjects/keys/manage-keys.ts';
import { DEFAULT_OVERLAP_MILLISECONDS as SECRET_OVERLAP_MILLISECONDS } from '../../server/subjects/webhooks/change-webhook.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const SETTING_DEFAULTS: ReadonlyMap<string, number> = new Map(
  LISTED_SETTINGS.filter(({ fallback }) => /^[0-9]+$/.test(fallback)).map(({ name, fallback }) => [
    name,
    Number(fallback),
  ]),
);

function defaultOf(name: string): number {
  const value = SETTING_DEFAULTS.get(name);
  if (value === undefined) throw new Error(`the setting ${name} has no number as its default`);
  return value;
}

/**
 * The numbers of constants and settings, each with the phrases that contain it in texts. `{}` stands for the number. The numbers
 * are written wherever a phrase occurs, in guides and in code. A phrase that occurs nowhere is a mistake.
 */
const FIGURES: readonly (readonly [value: number, ...phrases: readonly string[]])[] = [
  [
    DEFAULT_HOLD_MILLISECONDS / DAY,
    'and after {} days it **expires**',
    'this is {} days after the transfer was created',
    'for a hold of {} days',
    '{} days if omitted; only with capture manual',
    'a duration such as 36h (default: {}d)',
  ],
  [
    MAX_HOLD_MILLISECONDS / DAY,
    'The maximum is {} days. From that',
    'holds of up to {} days',
    'a hold lasts up to {} days',
    'a hold lasts at most {} days',
    'hold expires: up to {} days ahead',
    'hold expires, at most {} days from now',
  ],
  [MAX_APPROVAL_HOURS / 24, 'bodies until the request has ended, at most {} days'],
  [MAX_RETRY_AFTER_SECONDS, '3,600 seconds; up to {}, which is'],
  [MAX_RETRY_AFTER_SECONDS / 86_400, '{} days | `retry_after_seconds` of the attempt'],
  [PROPOSAL_DAYS, 'were approved in the {} days'],
  [MAX_SCHEDULE_MILLISECONDS / DAY, '`scheduled_for` can be up to {} days ahead'],
  [
    KEPT_COUNTER_DAYS,
    'counters are kept for {} days',
    '{} days, fixed: limits and',
    'a job, after {} days (below)',
    'are removed after {} days, a thousand rows',
  ],
  [
    READ_DAYS,
    'although they are read for {}.',
    'reads go back {} days',
    'by account, {} days at most',
    'a check reads at most {} of them',
  ],
  [HELD_DAYS, 'the hold was counted, at most {} days ago'],
  [
    defaultOf('ERROR_RETENTION_DAYS'),
    'for {} days unless the operator has chosen',
    'they are deleted after {} days, unless your operator',
    '{} days, in whole months',
  ],
  [
    defaultOf('EVENT_RETENTION_DAYS'),
    '`events_expired`, after {} days',
    'Events are stored for {} days',
    'events are stored for {} days',
    'Events are kept for {} days',
    '{} days | `EVENT_RETENTION_DAYS`',
    'Events older than {} days are gone',
    'kept for {} days. [The runbook]',
    'all events of the last {} days and does not depend',
  ],
  [
    MIN_EVENT_RETENTION_DAYS,
    '`EVENT_RETENTION_DAYS` (at least {})',
    'That is at least {}, so that a key never',
    '`EVENT_RETENTION_DAYS` cannot be below {}.',
    'payloads of their events, which are kept for at least {} days',
  ],
  [
    MIN_KEY_RETENTION_DAYS,
    'byte for byte, **for at least {} days',
    'loses its body before the {} days are over',
    'For {} days, a repeated idempotency key gets',
    'but not for less than {} days',
    'refusals (409) {} days and more',
  ],
  [
    defaultOf('REFUSED_KEY_RETENTION_DAYS'),
    'Like other refused keys, they are deleted after {} days',
    'the same refusal, for {} days',
    '## After {} days',
    'gets the same refusal for {} days',
    'a job, after {} days, or `REFUSED_KEY_RETENTION_DAYS`',
  ],
  [
    KEPT_DAYS,
    'its finished transfers of the last {} days',
    'Keys are kept for {} days, and references',
    'bodies of earlier versions {} days',
    'have their own body too. It is deleted after {} days',
    'repeat `erase_card_holder` after {} days',
  ],
  [
    defaultOf('WEBHOOK_ATTEMPT_RETENTION_DAYS'),
    'Deliveries are kept for {} days',
    '{} days | `WEBHOOK_ATTEMPT_RETENTION_DAYS`',
    '{} days (`WEBHOOK_ATTEMPT_RETENTION_DAYS`)',
    'of all webhooks in the last {} days',
    'list attempts of the last {} days',
    'Nothing was sent in the last {} days',
  ],
  [
    FENCE_DAYS,
    '{} days, fixed: no request waits that long',
    'one partition per day, dropped after {} days',
    'whole days, after {} days and when all events have positions',
    'and fences after {} days',
  ],
  [VERIFICATION_RETENTION_DAYS, 'in the table `books_verification` for {} days', "{} days, fixed: for a year's audit"],
  [DAYS_AHEAD, 'partitions of the coming {} days'],
  [MONTHS_AHEAD, 'days and {} months when it starts'],
  [
    REOPENING_DAYS,
    'a message within {} days reopens it',
    'A message within {} days reopens the case',
    'For {} days after a case was resolved',
    'which happens {} days after it is resolved',
    'was resolved more than {} days ago',
    'that was resolved within {} days',
  ],
  [
    DISABLED_AFTER_MILLISECONDS / HOUR,
    'After {} hours of failures it is disabled',
    'Everything failed for {} hours',
    'nothing but failures for {} hours',
    'everything has failed for {} hours',
    'after {} hours of failures',
    'every attempt failed for {} hours',
    'after {} hours. A receiver that needs',
  ],
  [
    MAX_HOURS,
    'without use, {} hours at most',
    'after {} hours at most, and up to an hour longer',
    '{} hours after it was created',
    'because it is {} hours old',
    'it is {} hours old, or its key no longer works',
  ],
  [IDLE_MINUTES, '{} minutes without use', '{} minutes after someone last used it', 'was not used for {} minutes'],
  [
    DEFAULT_OVERLAP_MILLISECONDS / HOUR,
    '({} hours by default, and never beyond its own expiry)',
    'When the old key stops working: after {} hours if omitted',
    'to let the old key work for {} hours',
  ],
  [
    SECRET_OVERLAP_MILLISECONDS / HOUR,
    'unless they expire sooner. The default is after {} hours',
    'to let previous secrets sign for {} hours',
    'previous secrets sign for another {} hours',
  ],
  [
    MAX_METADATA_PAIRS,
    '`metadata` has up to {} pairs',
    'A transfer can have up to {} pairs',
    'Up to {} key-value pairs',
    'Up to {} pairs of strings',
  ],
  [MAX_CASE_MESSAGES, 'a case has at most {} messages'],
  [MAX_BATCH_ROWS, 'Up to {} transfers in one request'],
  [MAX_WEBHOOKS, 'A card program can have {} webhooks'],
  [MAX_WEBHOOK_HEADERS, 'Up to {} headers to send'],
  [DUPLICATE_WINDOW_SECONDS / 60, 'type and amount within {} minutes, oldest first'],
  [MIN_CONNECTIONS, 'by default, at least {})'],
  [MAX_PATH_LENGTH, 'only {} characters of an unknown path are stored', 'Unknown paths are cut at {} characters'],
  [
    MAX_PARAMETER_LENGTH,
    'store ids as text of up to {} characters',
    'A segment of the path is longer than {} characters',
  ],
  [MAX_TEXT_LENGTH, 'Text is cut at {} characters'],
  [MAX_REQUEST_LENGTH, '{} characters) after a text of the row', 'characters and requests at {}.'],
];

/** Numbers of days, hours and characters in guides that come from no constant of the code. */
const OTHERS: readonly RegExp[] = [
  // The period of the service level objectives, in ops/alerts.yml, with the alerts of a job and of an incident.
  /Over 30 days:|budget of 30 days|of the requests in 30 days|6 times the allowed rate, over both 6 hours/,
  /alert ends 26 hours after|has not been updated for 4 hours/,
  // The longest day of any time zone, and the 24 points of the overview.
  /a day has up to 25 hours|(?:of|in) the last 24 hours/,
  // Other companies' processors.
  /forget it after 30 seconds, 30 minutes or 24 hours/,
  // A pattern of the settings, and the last values in lists of pauses.
  /up to 32 characters \||14, 20 and 24 hours\. Each pause|2, 5 and up to 24 hours/,
];

export function withFigures(text: string): string {
  return replaceFigures(text, (before, number, after) => `${before}${number}${after}`);
}

/** Finds problems with the numbers in texts, by file: phrases that occur nowhere, and numbers in guides that nothing writes. */
export function findFigureProblems(texts: Readonly<Record<string, string>>): readonly string[] {
  const all = Object.values(texts).join('\n');
  const lost = FIGURES.flatMap(([, ...phrases]) => phrases)
    .filter((phrase) => !patternOf(phrase).test(all))
    .map((phrase) => `No text says "${phrase}": change that phrase in tools/guides/figures.ts, or remove it.`);
  const unknown = Object.entries(texts).flatMap(([file, text]) =>
    file.endsWith('.md') ? findUnknown(file, text) : [],
  );
  return [...lost, ...unknown];
}

function findUnknown(file: string, text: string): readonly string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '').replaceAll(/<!-- generated: .*?<!-- end of generated/gs, '');
  const rest = OTHERS.reduce(
    (left, other) => left.replaceAll(new RegExp(spaced(other.source), 'g'), ''),
    replaceFigures(prose, () => ''),
  );
  return [...rest.matchAll(/.{0,40}(?<![\d.,])\d[\d,.]* (?:days?|hours?|characters|pairs)\b.{0,40}/g)].map(
    ([found]) =>
      `${file}: no phrase of tools/guides/figures.ts writes the number in "${found.trim()}": add one, or add the text to OTHERS.`,
  );
}

function replaceFigures(text: string, write: (before: string, number: string, after: string) => string): string {
  const replaced = FIGURES.reduce(
    (outer, [value, ...phrases]) => phrases.reduce((inner, phrase) => replaceOne(inner, phrase, value, write), outer),
    text,
  );
  return replaced.replaceAll(/(`([A-Z_]+)` \()(\d[\d,]*)(?=\)| by default)/g, (whole, before: string, name: string) => {
    const value = SETTING_DEFAULTS.get(name);
    return value === undefined ? whole : write(before, shown(value), '');
  });
}

function replaceOne(
  text: string,
  phrase: string,
  value: number,
  write: (before: string, number: string, after: string) => string,
): string {
  return text.replaceAll(patternOf(phrase), (_, before: string, _number, after: string) =>
    write(before, shown(value), after),
  );
}

function patternOf(phrase: string): RegExp {
  const [before = '', after = ''] = phrase
    .split('{}')
    .map((part) => spaced(part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')));
  return new RegExp(`((?<![\\d.,])${before})(\\d(?:[\\d,]*\\d)?)(${after})`, 'g');
}

/** In Markdown, a line may end at each space. */
function spaced(pattern: string): string {
  return pattern.replaceAll(' ', '\\s+');
}

function shown(value: number): string {
  return value.toLocaleString('en-US');
}
