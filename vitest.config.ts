import { availableParallelism } from 'node:os';
import type { ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The suites, and the folders of their `*.test.ts`. Every test file belongs to one; `npm test` checks that. */
export const SUITES: Readonly<Record<string, readonly string[]>> = {
  // Without a running service or a database.
  unit: ['domain', 'contract', 'server', 'sdk', 'cli', 'console'],
  rules: ['test/rules'],
  properties: ['test/properties'],
  mutants: ['test/mutants'],
  smoke: ['test/smoke'],
  sdk: ['test/sdk'],
  cli: ['test/cli'],
  http: ['test/http'],
  pages: ['test/pages'],
  guides: ['test/guides'],
  // Of the tarballs, installed outside the clone.
  packages: ['test/packages'],
  store: ['test/store'],
  plans: ['test/plans'],
  api: ['test/api'],
  delivery: ['test/delivery'],
  errors: ['test/errors'],
  security: ['test/security'],
  metrics: ['test/metrics'],
  door: ['test/door'],
  codes: ['test/codes'],
  fuzz: ['test/fuzz'],
  embedded: ['test/embedded'],
  start: ['test/start'],
  crashes: ['test/crashes'],
  faults: ['test/faults'],
  torture: ['test/torture'],
  upgrade: ['test/upgrade'],
  // In a browser, which setup/console/fetch-browser.mjs brings.
  console: ['test/console'],
};

const cores = availableParallelism();

/** Suites with the longest files, which start first, so that none of them is left alone at the end. */
const FIRST = ['torture', 'crashes', 'codes', 'delivery', 'store', 'start', 'faults', 'embedded'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project }: TestSpecification) =>
      (FIRST.indexOf(project.name) + FIRST.length + 1) % (FIRST.length + 1);
    return (await super.sort(files)).toSorted((left, right) => place(left) - place(right));
  }
}

export default {
  test: {
    projects: Object.entries(SUITES).map(([name, folders]) => ({
      extends: true,
      test: { name, include: folders.map((folder) => `${folder}/**/*.test.ts`) },
    })),
    sequence: { sequencer: LongestFirst },
    globalSetup: ['test/harness/ledger-templates.ts'],
    pool: 'forks',
    // The files of a suite share a few processes, which load each module once: no test changes what others see.
    isolate: false,
    // Most files wait for processes half of the time, so each of two cores runs two files. More than eight ledgers at once
    // would need too much memory.
    maxWorkers: cores === 1 ? 1 : Math.min(cores + 2, 8),
    // Only what hangs gets there: on one slow core beside other work, a test may take a hundred times as long.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    // One line for each file: many tests take long by construction.
    slowTestThreshold: 120_000,
    passWithNoTests: false,
    globals: false,
  },
} satisfies ViteUserConfig;
