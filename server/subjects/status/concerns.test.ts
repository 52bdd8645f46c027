import { expect, test } from 'vitest';
import { CONCERNS, type Concern } from '../../../domain/service-status.ts';
import type { YesterdayFigures } from '../../store/ledger/day-check.ts';
import { durationOf, type Facts, findConcerns, yesterdaySentence } from './concerns.ts';

const MOMENT = '2030-01-31T12:00:00.000Z';
const LATER = '2030-01-31T14:00:00.000Z';

const NO_DAYS = { count: 0, named: [] };

const RIGHT: YesterdayFigures = { programs: 2, checked: 2, differing: NO_DAYS, late: NO_DAYS, earlier: NO_DAYS };

function daysOf(count: number, ...names: readonly string[]): YesterdayFigures['late'] {
  return { count, named: names.map((name) => ({ programId: '', name, day: '2030-01-30' })) };
}

const HEALTHY: Facts = {
  version: '1.0.0',
  mode: 'live',
  host: 'one',
  process_id: 1,
  started_at: MOMENT,
  uptime_seconds: 100_000,
  readiness: { ready: true, reason: 'ready', message: '', runbook: null, since: MOMENT },
  schema: { state: 'current', newest_migration: '0001_ledger.sql' },
  database: {
    kind: 'external',
    state: 'up',
    host: 'db1:5432',
    host_since: MOMENT,
    version: '15.4',
    size_bytes: 1,
    standbys: 2,
    waits_for_standby: true,
    replication_lag_bytes: 0,
    standby_list: [],
    survives_primary_loss: {
      answer: 'yes',
      reason: 'A commit is acknowledged once a synchronous standby has it on disk.',
    },
  },
  connections: { max: 27, in_use: 1, idle: 1, waiting: 0 },
  webhooks: { delivery: 'running', enabled: 3, paused: 0, failing: 0, oldest_undelivered_seconds: 1 },
  error_log: { spool_bytes: 0, max_spool_bytes: 100, dropped: 0 },
  relay_lag_seconds: 0.1,
  due_late_seconds: 0,
  switch: { service_disabled: false, programs_disabled: 0, connectors_disabled: 0 },
  funding_low: 0,
  books: { verified_at: MOMENT, balanced: true },
  yesterday: { programs: 2, checked: 2, not_checked: 0, not_adding_up: 0, days: [], message: 'Yesterday added up.' },
  backups: { last_copy_at: MOMENT, last_archived_at: MOMENT, restorable_until: MOMENT },
  days: RIGHT,
  unverifiedSeconds: 3_000,
  verificationSeconds: 1,
  isArchivingFailing: false,
  disabledAtConnectors: [],
  isWaitingForStandby: false,
  disabledInPrograms: { programs: [], types: [] },
  uncopiedSeconds: 86_400,
};

/** For each concern, a difference from a healthy service that causes it, and the message. */
const DEGRADED: Readonly<Partial<Record<Concern, readonly [Partial<Facts>, RegExp]>>> = {
  few_connections: [{ readiness: { ...HEALTHY.readiness, reason: 'few_connections' } }, /It may open 27, 1 are in use/],
  schema_newer: [{ schema: { state: 'newer_usable', newest_migration: '0002_x.sql' } }, /newer version/],
  service_disabled: [
    { switch: { service_disabled: true, programs_disabled: 0, connectors_disabled: 0 } },
    /^Transfers of the whole service are disabled by the switch\.$/,
  ],
  delivery_off: [{ webhooks: { ...HEALTHY.webhooks, delivery: 'off' } }, /does not deliver/],
  webhooks_failing: [
    { webhooks: { ...HEALTHY.webhooks, failing: 2 } },
    /^2 webhooks failing for 15 minutes or more, 0 paused/,
  ],
  error_spool_filling: [
    { error_log: { ...HEALTHY.error_log, spool_bytes: 26 } },
    /^Errors that wait for the database take 26 of \d+ bytes/,
  ],
  errors_dropped: [{ error_log: { ...HEALTHY.error_log, dropped: 1 } }, /^1 error could not be recorded/],
  relay_late: [{ relay_lag_seconds: 61 }, /the oldest has waited for 61 seconds/],
  due_transfers_late: [{ due_late_seconds: 3_600 }, /is 60 minutes late/],
  books_not_verified: [{ unverifiedSeconds: 9 * 3_600 }, /last verified 9 hours ago/],
  books_not_balanced: [{ books: { verified_at: MOMENT, balanced: false } }, /do not balance/],
  day_not_adding_up: [
    { days: { ...RIGHT, earlier: daysOf(1, 'B') } },
    /^1 earlier day does not add up: 2030-01-30 of B\.$/,
  ],
  day_not_checked: [
    { days: { ...RIGHT, checked: 1, late: daysOf(1, 'B') } },
    /^Yesterday was not checked for 1 of 2 card programs: B\.$/,
  ],
  funding_low: [{ funding_low: 2 }, /of 2 card programs is below/],
  standby_missing: [{ isWaitingForStandby: true }, /^A commit is acknowledged/],
  replication_late: [{ database: { ...HEALTHY.database, replication_lag_bytes: 1e9 } }, /1000000000 bytes behind/],
  archiving_failing: [{ isArchivingFailing: true }, /cannot be archived/],
  backup_overdue: [{ uncopiedSeconds: 9 * 86_400 }, /last copied 9 days ago/],
};

test('finds no concerns in a healthy service', () => {
  expect(findConcerns(HEALTHY)).toEqual([]);
});

test.each(CONCERNS.filter((name) => DEGRADED[name] !== undefined))(
  'reports %s with its message and a runbook page',
  (name) => {
    const [difference, message] = DEGRADED[name] ?? [{}, /./];
    expect(findConcerns({ ...HEALTHY, ...difference })).toEqual([
      { name, message: expect.stringMatching(message), runbook: expect.stringMatching(/^docs\/runbook\/[a-z-]+\.md$/) },
    ]);
  },
);

test('reports a paused webhook only after it has failed for a long time', () => {
  expect(findConcerns({ ...HEALTHY, webhooks: { ...HEALTHY.webhooks, paused: 1 } })).toEqual([]);
});

test('allows less frequent verification if a verification takes a long time', () => {
  expect(findConcerns({ ...HEALTHY, unverifiedSeconds: 9 * 3_600, verificationSeconds: 3_600 })).toEqual([]);
});

test.each<[string, number, Facts['disabledInPrograms']]>([
  ["Loads of the card program 'A' are", 1, { programs: [{ name: 'A', types: ['load'] }], types: ['load'] }],
  [
    "All transfers of the card program 'A' and unloads and transfers between cards of the card program 'B' are",
    2,
    {
      programs: [
        { name: 'A', types: ['load', null] },
        { name: 'B', types: ['unload', 'card_to_card'] },
      ],
      types: ['card_to_card', 'load', 'unload', null],
    },
  ],
  [
    "Loads of the card programs 'A' and 'B' and all transfers of the card program 'C' are",
    3,
    {
      programs: [
        { name: 'A', types: ['load'] },
        { name: 'B', types: ['load'] },
        { name: 'C', types: ['card_to_card', 'load', 'unload'] },
      ],
      types: ['card_to_card', 'load', 'unload'],
    },
  ],
  ['Transfers of 4 card programs are', 4, undefined],
])('says which transfers the switch disables: %s disabled', (beginning, count, disabledInPrograms) => {
  const disabled = { service_disabled: false, programs_disabled: count, connectors_disabled: 0 };
  expect(findConcerns({ ...HEALTHY, switch: disabled, disabledInPrograms })).toMatchObject([
    { message: `${beginning} disabled by the switch.` },
  ]);
});

test('lists the disabled transfer types of more than three card programs together', () => {
  const programs = ['A', 'B', 'C'].map((name) => ({ name, types: ['load'] as const }));
  const disabledInPrograms = { programs, types: ['load', 'unload'] as const };
  const disabled = { service_disabled: false, programs_disabled: 4, connectors_disabled: 0 };
  const [found] = findConcerns({ ...HEALTHY, switch: disabled, disabledInPrograms });
  expect(found?.message).toBe('Transfers of 4 card programs are disabled by the switch: loads and unloads.');
});

test('names the disabled connectors, with time and reason, next to the card programs', () => {
  const disabled = { service_disabled: false, programs_disabled: 1, connectors_disabled: 3 };
  const [found] = findConcerns({
    ...HEALTHY,
    switch: disabled,
    disabledInPrograms: { programs: [{ name: 'A', types: ['load'] }], types: ['load'] },
    disabledAtConnectors: [
      {
        connectorId: 'bank',
        types: ['unload'],
        inEveryProgram: false,
        settings: 1,
        only: { since: Date.parse(MOMENT), until: Date.parse(LATER), reason: 'fraud' },
      },
      { connectorId: 'increase', types: ['load', null], inEveryProgram: true, settings: 2, only: null },
      {
        connectorId: 'third',
        types: [null],
        inEveryProgram: true,
        settings: 1,
        only: { since: Date.parse(MOMENT), until: null, reason: 'outage' },
      },
    ],
  });
  expect(found?.message).toBe(
    "Loads of the card program 'A' are disabled by the switch. " +
      "Unloads at the connector 'bank' in some card programs are disabled by the switch " +
      `(since ${MOMENT} until ${LATER}: fraud). ` +
      "All transfers at the connector 'increase' are disabled by 2 settings of the switch. " +
      `All transfers at the connector 'third' are disabled by the switch (since ${MOMENT}: outage).`,
  );
});

test('reports no concern about unknown figures', () => {
  const unknown: Facts = {
    ...HEALTHY,
    schema: { state: null, newest_migration: null },
    database: { ...HEALTHY.database, state: 'silent', standbys: null, replication_lag_bytes: null },
    webhooks: { delivery: 'running', enabled: null, paused: null, failing: null, oldest_undelivered_seconds: null },
    relay_lag_seconds: null,
    due_late_seconds: null,
    switch: { service_disabled: null, programs_disabled: null, connectors_disabled: null },
    funding_low: null,
    books: { verified_at: null, balanced: null },
    yesterday: {
      ...{ programs: null, checked: null, not_checked: null },
      ...{ not_adding_up: null, days: null, message: null },
    },
    days: undefined,
    unverifiedSeconds: null,
  };
  expect(findConcerns(unknown)).toEqual([]);
});

test.each<[string, Partial<YesterdayFigures>]>([
  ['There was no card program yesterday.', { programs: 0, checked: 0 }],
  ['Yesterday is being checked: 3 of 12 card programs.', { checked: 3 }],
  ['Yesterday added up for all 12 card programs.', {}],
  ['Yesterday added up for 1 card program.', { programs: 1, checked: 1 }],
  ['Yesterday does not add up for 1 of 12 card programs: Demo.', { differing: daysOf(1, 'Demo') }],
  [
    'So far, yesterday does not add up for 2 of 12 card programs: A and B.',
    { checked: 11, differing: daysOf(2, 'A', 'B') },
  ],
  ['Yesterday does not add up for 4 of 12 card programs, such as A, B, C.', { differing: daysOf(4, 'A', 'B', 'C') }],
  ['Yesterday was not checked for 1 of 12 card programs: B.', { checked: 10, late: daysOf(1, 'B') }],
  [
    'So far, yesterday does not add up for 1 of 12 card programs: A. ' +
      'Yesterday was not checked for 4 of 12 card programs, such as B, C, D. ' +
      '2 earlier days do not add up: 2030-01-30 of A and 2030-01-30 of B.',
    { checked: 8, differing: daysOf(1, 'A'), late: daysOf(4, 'B', 'C', 'D'), earlier: daysOf(2, 'A', 'B') },
  ],
  [
    'Yesterday added up for all 12 card programs. 1 earlier day does not add up: 2030-01-30 of B.',
    { earlier: daysOf(1, 'B') },
  ],
])('says whether yesterday added up: %s', (sentence, difference) => {
  expect(yesterdaySentence({ ...RIGHT, programs: 12, checked: 12, ...difference })).toBe(sentence);
});

test.each([
  [1, '1 seconds'],
  [119, '119 seconds'],
  [120, '2 minutes'],
  [7_200, '2 hours'],
  [172_800, '2 days'],
])('%d seconds are %s', (seconds, text) => {
  expect(durationOf(seconds)).toBe(text);
});
