import type { ServiceStatus } from '../../../contract/service/status.ts';
import { type Concern, READINESS } from '../../../domain/service-status.ts';
import type { TransferType } from '../../../domain/transfers/transfer.ts';
import { type RunbookPage, runbookPath } from '../../foundation/runbook.ts';
import { type DisabledAtConnector, type DisabledInPrograms, MAX_NAMED_PROGRAMS } from '../../store/figures.ts';
import type { YesterdayFigures } from '../../store/ledger/day-check.ts';

const PAGES: Readonly<Record<Concern, RunbookPage>> = {
  few_connections: 'few-connections',
  schema_newer: 'schema-newer',
  service_disabled: 'service-disabled',
  delivery_off: 'delivery-off',
  webhooks_failing: 'webhooks-failing',
  error_spool_filling: 'error-spool-filling',
  errors_dropped: 'errors-dropped',
  relay_late: 'relay-late',
  due_transfers_late: 'due-transfers-late',
  books_not_verified: 'books-not-verified',
  books_not_balanced: 'books-not-balanced',
  day_not_adding_up: 'books-not-balanced',
  day_not_checked: 'books-not-verified',
  funding_low: 'funding-low',
  standby_missing: 'standby-missing',
  replication_late: 'replication-late',
  archiving_failing: 'archiving-failing',
  backup_overdue: 'backup-overdue',
};

/** The job for due transfers runs every second. This limit and the following ones match ops/alerts.yml. */
const MAX_LATE_SECONDS = 60;

/** Much longer than usual: the relay runs at least four times a second. */
const MAX_RELAY_LAG_SECONDS = 30;

/**
 * Maximum age of an undelivered event of a working webhook. An event waits longer only if its delivery has failed several times.
 */
const MAX_UNDELIVERED_SECONDS = 300;

/** The books are verified every hour. If a verification takes more than two minutes, they are verified less often. */
const MAX_UNVERIFIED_SECONDS = 3_600;
const MAX_UNVERIFIED_FACTOR = 25;

/** The service makes a base backup every week, and the first one when it starts. A backup of 100 GB takes an hour. */
const MAX_UNCOPIED_SECONDS = 8 * 86_400;
const MAX_FIRST_COPY_SECONDS = 2 * 3_600;

/** Four segments of the write-ahead log. */
const MAX_REPLICATION_LAG_BYTES = 64 * 1_048_576;

/** The share of the spool that may be in use without a concern. */
const MAX_SPOOL_SHARE = 0.2;

/** The facts that the checks use: the status, some ages, and the list of everything that is disabled. */
export type Facts = Omit<ServiceStatus, 'degraded' | 'unknown'> &
  Ages & {
    /** Undefined if unknown. */
    readonly disabledInPrograms: DisabledInPrograms | undefined;
    /** Undefined if unknown. */
    readonly days: YesterdayFigures | undefined;
    /** Whether too few synchronous standbys are connected. */
    readonly isWaitingForStandby: boolean;
    /** Undefined if unknown. */
    readonly disabledAtConnectors: readonly DisabledAtConnector[] | undefined;
  };

export type Ages = {
  /** The time since the books were last verified, or null if unknown. */
  readonly unverifiedSeconds: number | null;
  /** How long the last verification took. */
  readonly verificationSeconds: number;
  /** Whether the last attempt to archive the write-ahead log failed. */
  readonly isArchivingFailing: boolean;
  /** The time since the last base backup, or null if the service takes no backups. */
  readonly uncopiedSeconds: number | null;
};

/** Returns the concerns about a service. Unknown figures cause none. */
export function findConcerns(facts: Facts): ServiceStatus['degraded'] {
  const found = Object.entries(CHECKS).flatMap(([name, check]) => {
    const message = check(facts);
    return message === undefined ? [] : [{ name: name as Concern, message }];
  });
  return found.map(({ name, message }) => ({ name, message, runbook: runbookPath(PAGES[name]) }));
}

const CHECKS: Readonly<Record<Concern, (facts: Facts) => string | undefined>> = {
  few_connections: ({ readiness, connections: { max, in_use: inUse, waiting } }) =>
    when(
      readiness.reason === 'few_connections',
      `${READINESS.few_connections.sentence} It may open ${max}, ${inUse} are in use, and ${waiting} requests wait for one.`,
    ),
  schema_newer: ({ schema }) => when(schema.state === 'newer_usable', READINESS.schema_newer.sentence),
  service_disabled: ({ switch: { service_disabled: service, programs_disabled: count }, ...facts }) => {
    if (service === true) return 'Transfers of the whole service are disabled by the switch.';
    const inPrograms = (count ?? 0) > 0 ? [disabledSentence(count ?? 0, facts.disabledInPrograms)] : [];
    const sentences = [...inPrograms, ...(facts.disabledAtConnectors ?? []).map(connectorSentence)];
    return when(sentences.length > 0, sentences.join(' '));
  },
  delivery_off: ({ webhooks }) => when(webhooks.delivery === 'off', 'This process does not deliver to webhooks.'),
  webhooks_failing: ({ webhooks: { failing, paused, oldest_undelivered_seconds: oldest } }) =>
    when(
      // A webhook that is only paused is no concern: it is paused after a minute of failures, and resumes automatically.
      (failing ?? 0) > 0 || (oldest ?? 0) > MAX_UNDELIVERED_SECONDS,
      `${counted(failing, 'webhook')} failing for 15 minutes or more, ${paused ?? 0} paused` +
        `${(oldest ?? 0) < 1 ? '' : `; the oldest event that waits for an enabled webhook is ${durationOf(oldest ?? 0)} old`}.`,
    ),
  error_spool_filling: ({ error_log: { spool_bytes: bytes, max_spool_bytes: max } }) =>
    when(bytes > MAX_SPOOL_SHARE * max, `Errors that wait for the database take ${bytes} of ${max} bytes.`),
  errors_dropped: ({ error_log: { dropped } }) =>
    when(dropped > 0, `${counted(dropped, 'error')} could not be recorded since the process started.`),
  relay_late: ({ relay_lag_seconds: lag }) =>
    when(
      (lag ?? 0) > MAX_RELAY_LAG_SECONDS,
      `New events are delayed: the oldest has waited for ${durationOf(lag ?? 0)}.`,
    ),
  due_transfers_late: ({ due_late_seconds: late }) =>
    when((late ?? 0) > MAX_LATE_SECONDS, `The oldest transfer that is due is ${durationOf(late ?? 0)} late.`),
  books_not_verified: ({ books, unverifiedSeconds, verificationSeconds }) =>
    when(
      unverifiedSeconds !== null &&
        unverifiedSeconds > Math.max(MAX_UNVERIFIED_SECONDS, MAX_UNVERIFIED_FACTOR * verificationSeconds),
      books.verified_at === null
        ? 'The books were never verified.'
        : `The books were last verified ${durationOf(unverifiedSeconds ?? 0)} ago.`,
    ),
  books_not_balanced: ({ books }) => when(books.balanced === false, 'The books do not balance.'),
  day_not_adding_up: ({ days }) => days && sentencesOf(differingSentence(days), earlierSentence(days)),
  day_not_checked: ({ days }) => days && lateSentence(days),
  funding_low: ({ funding_low: low }) =>
    when((low ?? 0) > 0, `The funding of ${counted(low, 'card program')} is below its threshold.`),
  standby_missing: ({ isWaitingForStandby, database }) =>
    when(isWaitingForStandby, database.survives_primary_loss.reason),
  replication_late: ({ database: { replication_lag_bytes: lag } }) =>
    when((lag ?? 0) > MAX_REPLICATION_LAG_BYTES, `A standby is ${lag} bytes behind.`),
  archiving_failing: ({ isArchivingFailing }) =>
    when(isArchivingFailing, 'The write-ahead log cannot be archived, so the latest changes are in no backup.'),
  backup_overdue: ({ backups, uncopiedSeconds }) =>
    when(
      uncopiedSeconds !== null &&
        uncopiedSeconds > (backups.last_copy_at === null ? MAX_FIRST_COPY_SECONDS : MAX_UNCOPIED_SECONDS),
      backups.last_copy_at === null
        ? 'There is no copy of the ledger yet.'
        : `The ledger was last copied ${durationOf(uncopiedSeconds ?? 0)} ago.`,
    ),
};

function when(isSo: boolean, message: string): string | undefined {
  return isSo ? message : undefined;
}

/** The sentence may name card programs, because only operators who may list them can read it. */
function disabledSentence(
  count: number,
  { programs, types }: DisabledInPrograms = { programs: [], types: [] },
): string {
  if (count > MAX_NAMED_PROGRAMS || programs.length < count) {
    const kinds = types.length === 0 ? '' : `: ${kindsOf(types)}`;
    return `Transfers of ${counted(count, 'card program')} are disabled by the switch${kinds}.`;
  }
  const byKinds = Map.groupBy(programs, (program) => kindsOf(program.types));
  const named = [...byKinds].map(([kinds, alike]) => {
    const names = joined(alike.map(({ name }) => `'${name}'`));
    return `${kinds} of the card program${alike.length === 1 ? '' : 's'} ${names}`;
  });
  return capitalized(`${joined(named)} are disabled by the switch.`);
}

function connectorSentence({ connectorId, types, inEveryProgram, settings, only }: DisabledAtConnector): string {
  const where = inEveryProgram ? '' : ' in some card programs';
  const by = only === null ? `${settings} settings of the switch` : `the switch (${settingText(only)})`;
  return capitalized(`${kindsOf(types)} at the connector '${connectorId}'${where} are disabled by ${by}.`);
}

function settingText({ since, until, reason }: NonNullable<DisabledAtConnector['only']>): string {
  const end = until === null ? '' : ` until ${new Date(until).toISOString()}`;
  return `since ${new Date(since).toISOString()}${end}${reason === null ? '' : `: ${reason}`}`;
}

function capitalized(sentence: string): string {
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
}

const KINDS: Readonly<Record<TransferType, string>> = {
  load: 'loads',
  unload: 'unloads',
  card_to_card: 'transfers between cards',
};

function kindsOf(types: readonly (TransferType | null)[]): string {
  if (types.includes(null) || Object.keys(KINDS).every((type) => types.includes(type as TransferType)))
    return 'all transfers';
  return joined(types.flatMap((type) => (type === null ? [] : KINDS[type])));
}

/** Says whether the last day of all card programs adds up, and which earlier days do not. */
export function yesterdaySentence(days: YesterdayFigures): string {
  const problems = sentencesOf(differingSentence(days), lateSentence(days));
  return sentencesOf(problems ?? plainSentence(days), earlierSentence(days)) ?? '';
}

function plainSentence({ programs, checked }: YesterdayFigures): string {
  if (programs === 0) return 'There was no card program yesterday.';
  const all = counted(programs, 'card program');
  if (checked < programs) return `Yesterday is being checked: ${checked} of ${all}.`;
  return `Yesterday added up for ${programs === 1 ? '' : 'all '}${all}.`;
}

function differingSentence({ programs, checked, differing }: YesterdayFigures): string | undefined {
  const names = differing.named.map(({ name }) => name);
  const which = `${differing.count} of ${counted(programs, 'card program')}${someOf(names, differing.count)}`;
  const beginning = checked === programs ? 'Yesterday' : 'So far, yesterday';
  return when(differing.count > 0, `${beginning} does not add up for ${which}.`);
}

function lateSentence({ programs, late }: YesterdayFigures): string | undefined {
  const names = late.named.map(({ name }) => name);
  const which = `${late.count} of ${counted(programs, 'card program')}${someOf(names, late.count)}`;
  return when(late.count > 0, `Yesterday was not checked for ${which}.`);
}

function earlierSentence({ earlier: { count, named } }: YesterdayFigures): string | undefined {
  const which = someOf(
    named.map(({ name, day }) => `${day} of ${name}`),
    count,
  );
  return when(count > 0, `${counted(count, 'earlier day')} ${count === 1 ? 'does' : 'do'} not add up${which}.`);
}

function sentencesOf(...sentences: readonly (string | undefined)[]): string | undefined {
  return sentences.filter((sentence) => sentence !== undefined).join(' ') || undefined;
}

/** `: a, b and c`, or if these are not all, `, such as a, b, c`. */
function someOf(names: readonly string[], count: number): string {
  return count > names.length ? `, such as ${names.join(', ')}` : `: ${joined(names)}`;
}

/** `a`, `a and b`, `a, b and c`. */
function joined(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

function counted(count: number | null, one: string): string {
  return `${count ?? 0} ${one}${count === 1 ? '' : 's'}`;
}

/** Returns a duration in the largest unit that gives a number of at least two. */
export function durationOf(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} seconds`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} minutes`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} hours`;
  return `${Math.round(seconds / 86_400)} days`;
}
