// All campaigns. Each is a row with an environment, a nemesis, a generator of requests, and checkers. `npm run campaigns`, the
// small forms in `npm run verify` and the table in docs/reliability.md use these rows.
import type { Campaign, OtherCampaign } from './campaign.ts';
import type { RUNS } from './campaigns/cluster.ts';

/** The nemesis of the campaigns that kill services. */
const KILLS =
  'SIGKILL of the service that owns PostgreSQL, the other service, both, PostgreSQL’s main process, all its processes, or ' +
  'everything; in one of ten cases, again during the recovery';

const HONEST = 'nothing acknowledged is lost, duplicated or changed; every response says correctly whether money moved';

/** The variants of `failover`. */
const ON_CLUSTER = {
  environment: 'cluster: as `failover`',
  generator: 'as `failover`',
  checkers: ['transfers', 'events', 'deliveries', 'snapshots'],
} as const;

const FAILOVER = { counts: { unit: 'failovers', small: 5, medium: 30, large: 100 }, control: 'asynchronous' } as const;

const SWITCHOVER = { ...ON_CLUSTER, counts: { unit: 'switchovers', small: 2, medium: 10, large: 30 } } as const;

const PATRONI = {
  ...ON_CLUSTER,
  nemesis: 'the leader hands over to its synchronous standby, or loses power',
  proves: 'as `failover`, without the time limit: the pauses are reported',
  counts: { unit: 'changes of the leader', small: 2, medium: 10, large: 40 },
} as const;

const ON_PLACEMENT = {
  ...ON_CLUSTER,
  environment: 'cluster: a [placement](when-one-machine-is-not-enough.md) on Citus with two workers',
  counts: { small: 2, medium: 20, large: 40 },
  ring: 'npm run verify -- citus',
} as const;

const onCluster = (row: Omit<Campaign, 'run'> & { readonly name: keyof typeof RUNS }): Campaign => ({
  ...row,
  run: async (setting) => (await import('./campaigns/cluster.ts')).RUNS[row.name](setting),
});

/** The campaigns of `npm run campaigns`, which take a seed, a count and a negative control. */
export const CAMPAIGNS: readonly Campaign[] = [
  {
    name: 'kills',
    environment: 'processes: two services on one PostgreSQL',
    nemesis: KILLS,
    generator: '96 clients with the transfer load, at one service or both',
    checkers: ['transfers', 'snapshots'],
    proves: `${HONEST}; a running service responds to every request; recovery p99 below 5 s`,
    counts: { unit: 'kills', small: 20, medium: 100, large: 1000 },
    ring: 'npm test',
    control: 'answer-before-commit',
    run: async (setting) => (await import('./campaigns/kills.ts')).run(setting),
  },
  {
    name: 'commit-cuts',
    environment: 'processes: a service behind a proxy to PostgreSQL',
    nemesis:
      'the proxy cuts the connection before or after COMMIT or between the two parts of a chained group, isolates the ' +
      'server, or reports an error instead of a success',
    generator: '96 clients with the transfer load',
    checkers: ['transfers', 'snapshots'],
    proves: HONEST,
    counts: { unit: 'cuts', small: 200, medium: 1000, large: 10_000 },
    run: async (setting) => (await import('./campaigns/commit-cuts.ts')).run(setting),
  },
  {
    name: 'proxy-faults',
    environment: 'processes: a service behind a proxy to PostgreSQL',
    nemesis: 'latency, resets, refused connections, lost packets, one-byte slices, half-open connections',
    generator: '96 clients with the transfer load',
    checkers: ['transfers', 'snapshots'],
    proves: `${HONEST}; every request gets a response, every failure returns the error record; the service works again within 10 s`,
    counts: { unit: 'faults', small: 50, medium: 200, large: 2000 },
    run: async (setting) => (await import('./campaigns/proxy-faults.ts')).run(setting),
  },
  {
    name: 'approvals',
    environment: 'processes: two services on one PostgreSQL',
    nemesis: KILLS,
    generator:
      '12 callers with the keys of three people ask for withdrawals and loads, send them again, decide on each other’s requests ' +
      'and their own, and briefly disable transfers',
    checkers: ['approvals'],
    proves:
      'no amount above the limit of a rule moves without the approval of a second person, nothing moves twice, and every ' +
      'acknowledged request and decision is kept',
    counts: { unit: 'kills', small: 4, medium: 40, large: 200 },
    ring: 'npm run verify',
    run: async (setting) => (await import('./campaigns/approvals.ts')).run(setting),
  },
  {
    name: 'events',
    environment: 'processes: two services, and so two relays, on one PostgreSQL',
    nemesis: `${KILLS}; the clock of one service is an hour slow or fast`,
    generator:
      '32 clients move money in one card program; 8 callers change cards, the switch and programs, and hold, schedule and ' +
      'capture in another; 7 readers at both services, by pull and by stream, continue across all kills',
    checkers: ['events', 'transfers', 'snapshots'],
    proves:
      'every reader sees positions 1, 2, 3 and so on with the same contents; the list, read from newest to oldest, ' +
      'contains the same events; every event that was read before a kill is in the books after it; each acknowledged ' +
      'change has one event; if a change was acknowledged before the next one was sent, its event comes first',
    counts: { unit: 'kills', small: 4, medium: 40, large: 200 },
    ring: 'npm run verify',
    run: async (setting) => (await import('./campaigns/events.ts')).run(setting),
  },
  {
    name: 'webhooks',
    environment: 'processes: two services on one PostgreSQL, and a receiver',
    nemesis: `${KILLS}; some receivers are slow, fail, respond with 429, close connections, or are dead for several kills`,
    generator:
      '12 clients and 6 callers as in `events`; eleven webhooks of two card programs and of operators, parallel and strict, ' +
      'full and thin, with and without a filter; secrets are rolled halfway',
    checkers: ['deliveries', 'events', 'transfers', 'snapshots'],
    proves:
      'every receiver accepts every subscribed event; a webhook gets no event that is missing from the books after the next ' +
      'kill; each body equals the event, byte for byte, and is signed; strict webhooks keep the order; accepted events are ' +
      'sent again only after a kill, and no more than can be in flight: one in strict order, otherwise the `concurrency` ' +
      '(default 10)',
    counts: { unit: 'kills', small: 4, medium: 40, large: 200 },
    ring: 'npm run verify',
    run: async (setting) => (await import('./campaigns/webhooks.ts')).run(setting),
  },
  {
    name: 'disk-full',
    environment: 'processes: a service on two small disks',
    nemesis:
      'the disk is full at startup; then the disks of the ledger and of its log fill up in turn, until space is freed',
    generator: '24 clients with the transfer load',
    checkers: ['transfers'],
    proves: `each start reports the full disk in one sentence; ${HONEST}; failures return the error record; the service works within 10 s after space is freed`,
    counts: { unit: 'full disks', small: 2, medium: 6, large: 20 },
    ring: 'npm run verify',
    run: async (setting) => (await import('./campaigns/disk-full.ts')).run(setting),
  },
  {
    name: 'changes',
    environment: 'processes: two services on one PostgreSQL',
    nemesis: 'accounts and idempotency keys are locked from outside for up to 3 s',
    generator:
      '96 clients at each service use one shared program and separate ones, while a caller changes cards, limits, the rules of ' +
      'programs, the switch and the funding',
    checkers: ['transfers', 'serial order'],
    proves:
      'the model, which decides all requests again one by one in the database’s commit order, gets the same results, and the ' +
      'same refusals with the same figures; a request that was sent after the response to another comes later in that order; ' +
      'locks from outside do not delay other requests for long',
    counts: { unit: 'transfers', small: 2_000, medium: 100_000, large: 1_000_000 },
    ring: 'npm run verify',
    run: async (setting) => (await import('./campaigns/changes.ts')).run(setting),
  },
  {
    name: 'point-in-time',
    environment: 'processes: a service that archives, and ledgers from `restore --to`',
    nemesis: 'none',
    generator:
      '12 clients that record when each transfer was sent and acknowledged; keys are created, and `backup` runs halfway',
    checkers: ['transfers', 'its own'],
    proves:
      'after a restore to a random millisecond, the books have no fault, and the ledger has every transfer acknowledged ' +
      'before that time and none sent after it; the head of the audit log is in the original log',
    counts: { unit: 'restores', small: 2, medium: 10, large: 40 },
    ring: 'npm run verify',
    run: async (setting) => (await import('./campaigns/point-in-time.ts')).run(setting),
  },
  {
    name: 'rolling-restart',
    environment: 'processes: two, then three services on one PostgreSQL',
    nemesis: 'SIGTERM and a restart of each service in turn',
    generator: '24 clients with the transfer load',
    checkers: ['transfers', 'responses', 'readiness'],
    proves:
      'every response is a success, a 409 or a correct 503; readiness fails first; few requests get no response, and those made no ' +
      'transfer or reversal; the books balance',
    counts: { unit: 'restarts', small: 4, medium: 50, large: 150 },
    ring: 'npm run verify',
    run: async (setting) => (await import('./campaigns/rolling-restart.ts')).run(setting),
  },
  onCluster({
    ...FAILOVER,
    name: 'failover',
    environment: 'cluster: a primary, a standby and a link that can withhold data; one address points to the primary',
    nemesis:
      'the link withholds the primary’s data, the standby’s confirmations, or neither; then all processes of the primary ' +
      'get SIGKILL, anything withheld is lost, and the standby is promoted',
    generator:
      '48 clients with the transfer load, event readers by pull and by stream, a strict and a parallel webhook',
    checkers: ON_CLUSTER.checkers,
    proves:
      `${HONEST}; events have no gap, and everything that readers and webhooks got is in the books, in order; the ` +
      'first transfer succeeds less than 3 s after the promotion was ordered (p99)',
    ring: 'npm run verify',
    counts: { ...FAILOVER.counts, inVerify: 3 },
  }),
  onCluster({
    ...ON_CLUSTER,
    ...FAILOVER,
    name: 'failover-of-hosts',
    environment: 'cluster: as `failover`, but the services know both hosts',
    nemesis: 'as `failover`',
    proves: 'as `failover`',
  }),
  onCluster({
    ...ON_CLUSTER,
    name: 'isolated-primary',
    nemesis:
      'the primary keeps running: it is cut off from its standby, or suspended until the standby is promoted, and open ' +
      'connections go to it for up to 3 s more; or only the services cannot reach it, and their requests arrive later',
    proves:
      'as `failover`; the primary acknowledges nothing alone, and its unacknowledged commits are not in the books',
    counts: { unit: 'isolations', small: 3, medium: 6, large: 20, inVerify: 1 },
    control: 'asynchronous',
    ring: 'npm run verify',
  }),
  onCluster({
    ...ON_CLUSTER,
    name: 'standby-gone',
    nemesis: 'the standby is killed, or cut off in both directions, for up to 8 s',
    proves: 'as `failover`; nothing is acknowledged without the standby; readiness says so within 2 s (p99)',
    counts: { unit: 'absences', small: 2, medium: 6, large: 20, inVerify: 1 },
    ring: 'npm run verify',
  }),
  onCluster({
    ...SWITCHOVER,
    name: 'switchover',
    nemesis: 'the primary is stopped properly, its standby is promoted, and the old primary follows it',
    proves: 'as `failover`; no request fails if the service was unavailable for less than 3 s',
  }),
  onCluster({
    ...SWITCHOVER,
    name: 'switchover-of-hosts',
    environment: 'cluster: as `failover`, but the services know both hosts',
    nemesis: 'as `switchover`',
    proves: 'as `switchover`',
  }),
  onCluster({
    ...PATRONI,
    name: 'patroni',
    environment: 'cluster: the four machines of [Three machines](three-machines.md) as network namespaces',
  }),
  onCluster({
    ...PATRONI,
    name: 'patroni-of-hosts',
    environment: 'cluster: as `patroni`, without HAProxy: the services know the three hosts',
  }),
  onCluster({
    ...PATRONI,
    name: 'patroni-in-folder',
    environment: 'cluster: as `patroni`, with the Patroni whose source is in `PATRONI_SOURCE`',
  }),
  onCluster({
    ...ON_PLACEMENT,
    name: 'place-moves',
    nemesis: 'the placement moves to the other worker',
    proves: 'as `failover`; the service is unavailable for less than 2 s around a move (p99)',
    counts: { ...ON_PLACEMENT.counts, unit: 'moves' },
  }),
  onCluster({
    ...ON_PLACEMENT,
    name: 'place-workers',
    nemesis: 'SIGKILL of all processes of the worker that has the placement',
    proves: 'as `failover`',
    counts: { ...ON_PLACEMENT.counts, unit: 'kills' },
  }),
  onCluster({
    ...ON_PLACEMENT,
    name: 'place-coordinators',
    nemesis: 'the coordinator is gone for two seconds',
    proves: 'as `failover`; transfers continue without the coordinator',
    counts: { ...ON_PLACEMENT.counts, unit: 'kills' },
  }),
  onCluster({
    ...ON_PLACEMENT,
    name: 'place-denials',
    nemesis: 'successful responses to COMMIT arrive as errors',
    proves: 'as `failover`',
    counts: { ...ON_PLACEMENT.counts, unit: 'attacks' },
    control: 'error-at-commit-believed',
  }),
];

/** Campaigns that are suites or separate scripts. */
export const OTHER_CAMPAIGNS: readonly OtherCampaign[] = [
  {
    name: 'simulation',
    environment: 'memory',
    nemesis:
      'killed processes, cut connections, lost responses to COMMIT, locks, late timers, a processor that contradicts itself',
    generator:
      'random requests from several callers, with retries under the same keys, in several currencies and time zones; in one of five ' +
      'schedules, scenarios in which the clock jumps by hours or days',
    checkers: 'the model, and rules after every commit and response',
    proves:
      'each commit is allowed by the model and each refusal is correct, in thousands of interleavings; planted mistakes are found',
    ring: 'npm test',
    command: 'node tools/run.mjs verification/environments/memory/main.ts --schedules 3000',
  },
  {
    name: 'contract',
    environment: 'a service through its API',
    nemesis: 'requests with faults or damaged bytes',
    generator: 'every request that the OpenAPI document allows, in different but equivalent spellings',
    checkers: 'rules for every response',
    proves: 'responses follow the document and say correctly whether money moved; ten planted mistakes are found',
    ring: 'npm test',
    command: 'npm test -- contract',
  },
  {
    name: 'faults',
    environment: 'processes: a service behind a proxy to PostgreSQL',
    nemesis: 'a cut, swallowed or denied message, a lock or a full pool at each step of a transaction',
    generator: 'each kind of request once per fault',
    checkers: 'the outcome that the fault allows',
    proves: 'the response is correct, a retry with the same key gets the final outcome, and money moves at most once',
    ring: 'npm run verify',
    command: 'FAULTS=all npm test -- faults',
  },
  {
    name: 'processors',
    environment: 'processes: a service, and a card processor',
    nemesis:
      'in every cell of `test/processors/matrix.ts`: SIGKILL of the service or PostgreSQL, cut, silent or slow connections, ' +
      'messages that are repeated, reordered, garbled or with a changed amount, moved clocks, a machine’s clock that is 3 h off',
    generator: 'a load and an unload of cards for each cell; the cells of one incident run at the same time',
    checkers: 'the processor’s book against the ledger',
    proves:
      'each transfer ends with the outcome at the processor, and responses report that outcome; no order is executed twice, or ' +
      'after its time; after a kill, nothing stays open for longer than a lease and an inquiry ' +
      '(`test/processors/recovery.test.ts`, `domain/processors/next-step.test.ts`)',
    ring: 'npm run verify',
    command: 'FAULTS=all MATRIX_ROUNDS=20 npx vitest run test/processors/matrix.test.ts',
  },
  {
    name: 'crashes',
    environment: 'processes: one or two services on one PostgreSQL, or a primary and its standby',
    nemesis: 'SIGKILL, SIGTERM, a disconnected standby',
    generator: 'one key sent to two services at the same instant; the load of `kills`',
    checkers: 'transfers',
    proves: 'the same as `kills`, for one kill, race and stop of each kind at a chosen moment',
    ring: 'npm run verify',
    command: 'npm test -- crashes',
  },
  {
    name: 'newest-release',
    environment: 'processes: two services, of the newest release and of this version, on one PostgreSQL',
    nemesis: 'SIGTERM and SIGKILL of each service in turn, during an upgrade and a rollback',
    generator: '16 clients with the transfer load; operators and two webhooks',
    checkers: 'transfers',
    proves: `${HONEST} in every state of an upgrade; both versions show the same events`,
    ring: 'npm run verify',
    command: 'node tools/run.mjs test/upgrade/newest-release.ts',
  },
  {
    name: 'mutants',
    environment: 'copies of the source',
    nemesis: 'one planted mistake at a time',
    generator: 'the tests that must find it',
    checkers: 'those tests fail',
    proves: 'the tests find mistakes in guards, chains, the relay, leases, erasure, sessions, webhooks and processors',
    ring: 'npm run verify',
    command: 'npm run mutants',
  },
];
