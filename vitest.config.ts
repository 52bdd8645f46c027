import { availableParallelism } from 'node:os';
import type { ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The suites, and the folders of their `*.test.ts`. Every test file belongs to one; `npm test` checks that. */
export const SUITES: Readonly<Record<string, readonly string[]>> = {
  // Without a running service or a database.
  unit: ['domain', 'contract', 'server', 'sdk', 'cli', 'console'],
  rules: ['test/rules'],
  // The model of the money rules, and the commit path on a store in memory, in an order that a seed decides.
  simulation: ['verification/model', 'verification/environments/memory'],
  mutants: ['verification/mutants'],
  smoke: ['test/smoke'],
  sdk: ['test/sdk'],
  cli: ['test/cli'],
  http: ['test/http'],
  pages: ['test/pages'],
  guides: ['test/guides'],
  // Tests of the tarballs, installed outside the clone.
  packages: ['test/packages'],
  store: ['test/store'],
  plans: ['test/plans'],
  api: ['test/api'],
  delivery: ['test/delivery'],
  errors: ['test/errors'],
  security: ['test/security'],
  metrics: ['test/metrics'],
  outbound: ['test/outbound'],
  // Simulator, adapters and the suite that checks them.
  processors: ['test/processors'],
  codes: ['test/codes'],
  // Requests that the served OpenAPI document allows.
  contract: ['test/contract'],
  embedded: ['test/embedded'],
  start: ['test/start'],
  crashes: ['test/crashes', 'verification/checkers'],
  faults: ['test/faults'],
  campaigns: ['verification/campaigns', 'verification/environments/processes'],
  upgrade: ['test/upgrade'],
  // In a browser, which tools/console/fetch-browser.mjs brings.
  console: ['test/console'],
};

/**
 * The folders and files of tests that `npm test` leaves to `npm run verify`: every further kill, fault, start and screen, what
 * builds and installs packages, and what takes long by construction. What is not named here runs in `npm test`.
 */
export const SLOW: readonly string[] = [
  // Every further kill, fault, full disk and race; `npm test` keeps one of each.
  'test/api/clocks.test.ts',
  'test/api/day-checks.test.ts',
  'test/crashes/incident-end.test.ts',
  'test/crashes/lost-mark.test.ts',
  'test/crashes/move-in-kills.test.ts',
  'test/crashes/required-standby.test.ts',
  'test/crashes/settlement-kills.test.ts',
  'test/crashes/standby.test.ts',
  'test/delivery/failures.test.ts',
  'test/delivery/outages.test.ts',
  'test/delivery/processes.test.ts',
  'test/outbound/isolation.test.ts',
  'test/cli/cut-over.test.ts',
  'test/cli/listen.test.ts',
  'test/errors/outages.test.ts',
  'test/errors/reports.test.ts',
  'test/faults/after.test.ts',
  'test/faults/batch.test.ts',
  'test/faults/few-connections.test.ts',
  'test/faults/hosts.test.ts',
  'test/faults/load.test.ts',
  'test/faults/read-only.test.ts',
  'test/faults/save.test.ts',
  'test/faults/unknown-commit.test.ts',
  'test/http/paused.test.ts',
  'test/http/slow-clients.test.ts',
  'test/pages/go-programs.test.ts',
  'test/processors/recovery.test.ts',
  'test/processors/sending.test.ts',
  'test/processors/simulator.test.ts',
  'test/sdk/event-restarts.test.ts',
  'test/store/mix.test.ts',
  'test/store/races.test.ts',
  'test/store/standby.test.ts',
  'verification/campaigns/small-forms.test.ts',
  // Every further start, setting, user, disk and copy of a database.
  'test/embedded/backup-failures.test.ts',
  'test/embedded/backups.test.ts',
  'test/embedded/placement.test.ts',
  'test/embedded/server.test.ts',
  'test/embedded/visit.test.ts',
  'test/start/commands.test.ts',
  'test/start/database-problems.test.ts',
  'test/start/database-users.test.ts',
  'test/start/distribute.test.ts',
  'test/start/foreign-server.test.ts',
  'test/start/host',
  'test/start/ledger-mode.test.ts',
  'test/start/request-log.test.ts',
  'test/start/settings',
  'test/start/start.test.ts',
  'test/start/traces.test.ts',
  'test/start/two-schemas.test.ts',
  'test/start/webhook-key.test.ts',
  'test/store/migration-checksums.test.ts',
  'test/store/session-settings.test.ts',
  'test/upgrade/autovacuum.test.ts',
  'test/upgrade/compatibility.test.ts',
  'test/upgrade/concurrent-index.test.ts',
  'test/upgrade/rolling-upgrade.test.ts',
  // What fills a ledger first, or goes through every operation and every code.
  'test/api/events/event-types.test.ts',
  'test/api/events/streams.test.ts',
  'test/api/overview.test.ts',
  'test/api/transfers/idempotent-operations.test.ts',
  'test/api/transfers/exports.test.ts',
  'test/codes/provoked.test.ts',
  'test/codes/real-causes.test.ts',
  'test/metrics/metrics.test.ts',
  'test/plans',
  'test/security/abuse.test.ts',
  'test/security/audit.test.ts',
  'test/security/logs.test.ts',
  'test/security/planted-numbers.test.ts',
  'test/security/programs-apart.test.ts',
  'test/store/transfer-list.test.ts',
  'test/pages/example-programs.test.ts',
  // The tarballs, every guide, and every screen with every role, theme and width.
  'test/console/all-screens',
  'test/console/audit.test.ts',
  'test/console/cards.test.ts',
  'test/console/errors.test.ts',
  'test/console/forms.test.ts',
  'test/console/keys.test.ts',
  'test/console/lists.test.ts',
  'test/console/overview.test.ts',
  'test/console/pages.test.ts',
  'test/console/provider.test.ts',
  'test/console/sandbox.test.ts',
  'test/console/sdk-package.test.ts',
  'test/console/search.test.ts',
  'test/console/shell.test.ts',
  'test/console/operators',
  'test/console/support',
  'test/console/switch.test.ts',
  'test/console/transfers.test.ts',
  'test/console/webhooks.test.ts',
  'test/guides/build',
  'test/guides/more',
  'test/guides/quickstart.test.ts',
  'test/guides/readme.test.ts',
  'test/guides/run',
  'test/packages',
  // It needs the packages of an example.
  'test/processors/adapters/increase.test.ts',
];

/** The fast files that `npm run verify` runs again with more cases: see VERIFY in tools/check.ts. */
export const DEEPER: readonly string[] = [
  'contract/search/error-search.test.ts',
  'domain/cards/card-number.test.ts',
  'test/api/clock.test.ts',
  'test/api/transfers/limits.test.ts',
  'test/contract/contract.test.ts',
  'test/crashes/kill.test.ts',
  'test/faults',
  'test/processors/matrix.test.ts',
];

/** Tests that other tests find mistakes: `npm test` runs them, `npm run check` the tests themselves. */
export const PROOFS: readonly string[] = ['verification/environments/memory/mistakes.test.ts'];

const cores = availableParallelism();

/** Folders that start first: those that guard money, then those with the longest files, so that none is left alone at the end. */
const FIRST = [
  'test/crashes',
  'test/faults',
  'verification',
  'test/processors',
  'test/store',
  'test/api/events',
  'test/http',
  'test/codes',
  'test/delivery',
  'test/start',
  'test/embedded',
];

class MoneyFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = FIRST.findIndex((name) => moduleId.includes(`/${name}/`));
      return found === -1 ? FIRST.length : found;
    };
    return (await super.sort(files)).toSorted((left, right) => place(left) - place(right));
  }
}

export default {
  test: {
    include: Object.values(SUITES).flatMap((folders) => folders.map((folder) => `${folder}/**/*.test.ts`)),
    sequence: { sequencer: MoneyFirst },
    globalSetup: ['test/harness/ledger-templates.ts', 'test/harness/run/bundle.ts'],
    pool: 'forks',
    // All files share a few processes, which load each module once: no test changes what others see.
    isolate: false,
    // Many files wait for processes, so there are two more workers than cores; each worker starts what its files share, and loads all
    // modules. More than eight ledgers at once would need too much memory.
    maxWorkers: cores === 1 ? 1 : Math.min(cores + 2, 8),
    // Only a test that hangs takes this long: on one slow, busy core a test may take a hundred times as long as usual.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    // One line for each file: many tests take long by construction.
    slowTestThreshold: 120_000,
    passWithNoTests: false,
    globals: false,
  },
} satisfies ViteUserConfig;
