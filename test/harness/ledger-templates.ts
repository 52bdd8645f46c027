import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const VARIABLE = 'TEST_LEDGER_TEMPLATES';

/** Directory, of one run of tests, for what `ledgerDirectory` copies; undefined outside such a run. */
export function templatesOfThisRun(): string | undefined {
  return process.env[VARIABLE];
}

/**
 * Makes that directory, empty, for this process and those that it starts; gives what removes it. Inside a run that has
 * one already it does nothing. vitest calls it before the first file, and setup/check.ts before the first suite.
 */
export default function makeTemplates(): (() => void) | undefined {
  if (templatesOfThisRun() !== undefined) return undefined;
  const path = mkdtempSync(join('/tmp', 'transfer-service-templates-'));
  // The user that PostgreSQL runs as, when the tests run as root, must get through.
  chmodSync(path, 0o711);
  process.env[VARIABLE] = path;
  return () => {
    delete process.env[VARIABLE];
    rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  };
}
