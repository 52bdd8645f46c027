import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'domain/**/*.test.ts', 'contract/**/*.test.ts', 'server/**/*.test.ts'],
    globalSetup: ['test/harness/ledger-templates.ts'],
    pool: 'forks',
    // As many as cores, and no more than two: suites run beside each other, too.
    maxWorkers: Math.min(2, availableParallelism()),
    // Only what hangs gets there: on one slow core beside other work, a test may take a hundred times as long.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    passWithNoTests: false,
    globals: false,
  },
});
