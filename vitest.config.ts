import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'domain/**/*.test.ts'],
    globalSetup: ['test/harness/ledger-templates.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // Embedded databases start and stop in hooks, on machines that do other things as well.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    passWithNoTests: false,
    globals: false,
  },
});
