import type { Row } from './command-line.ts';
import { measureObservation } from './observation.ts';
import type { Outcome } from './outcome.ts';
import { profileTransfers } from './profile.ts';
import type { Results } from './report/results.ts';
import { runRounds, workloadsOf } from './rounds/run-rounds.ts';
import { ROUND_ROWS } from './rows/from-rounds.ts';
import { measureGrowth, memoryRow, storageRows } from './rows/growth.ts';
import { observationRows } from './rows/observation-rows.ts';
import { measureStoredLedger, storedLedgerRows } from './rows/stored-ledger.ts';
import { isolationRows } from './rows/webhook-rows.ts';
import type { Stage } from './stage.ts';
import { measureIsolation } from './webhooks/isolation.ts';

export const PGBENCH_ROWS: readonly Row[] = [1, 2, 3, 8, 23];

type Findings = Pick<Results, 'outcomes' | 'stored' | 'profile' | 'omitted' | 'failed'>;

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** Measures the parts that the options select. A failed part does not affect the others. */
export async function measureParts(stage: Stage, cores: number, directory: string): Promise<Findings> {
  const { options } = stage;
  const { possible, omitted } = divideRows(stage);
  const outcomes: Outcome[] = [];
  const failed: string[] = [];
  const findings: Mutable<Pick<Findings, 'stored' | 'profile'>> = {
    stored: null,
    profile: null,
  };
  const attempt = (name: string, task: () => Promise<void>) => attemptPart(stage, failed, name, task);
  const roundRows = possible.filter((row) => ROUND_ROWS[row] !== undefined);
  if (roundRows.length > 0) {
    await attempt(`rows ${roundRows.join(', ')}`, async () => {
      const rounds = await runRounds(stage, workloadsOf(roundRows, options.pgbenchClients));
      for (const row of roundRows) outcomes.push(...[ROUND_ROWS[row]?.(rounds, { cores, options }) ?? []].flat());
    });
  }
  if (possible.includes(13) || possible.includes(14)) {
    await attempt('rows 13, 14', async () => {
      const growth = await measureGrowth(stage);
      if (possible.includes(13)) outcomes.push(memoryRow(growth));
      if (possible.includes(14)) outcomes.push(...storageRows(growth));
    });
  }
  if (possible.includes(18)) {
    await attempt('row 18', async () => void outcomes.push(...isolationRows(await measureIsolation(stage))));
  }
  if (possible.includes(21)) {
    await attempt('row 21', async () => void outcomes.push(...observationRows(await measureObservation(stage))));
  }
  if (options.extras.includes('profile')) {
    await attempt('profile', async () => {
      findings.profile = await profileTransfers(stage, directory);
    });
  }
  if (possible.includes(10)) {
    await attempt('row 10', async () => {
      const stored = await measureStoredLedger(stage);
      outcomes.push(...storedLedgerRows(stage, stored));
      findings.stored = { reads: stored.reads };
    });
  }
  outcomes.sort((one, other) => one.row - other.row);
  return { ...findings, outcomes, omitted, failed };
}

function divideRows({ options, pgbench, ownSite }: Stage) {
  const needPgbench = options.rows.filter((row) => pgbench === undefined && PGBENCH_ROWS.includes(row));
  const needOwn = options.rows.filter((row) => ownSite === undefined && row === 12);
  return {
    possible: options.rows.filter((row) => !needPgbench.includes(row) && !needOwn.includes(row)),
    omitted: [
      ...needPgbench.map((row) => `row ${row}, which needs pgbench (Debian: postgresql)`),
      ...needOwn.map((row) => `row ${row}, which needs PostgreSQL 15 (Debian: postgresql-15)`),
    ],
  };
}

async function attemptPart(
  { resources, say }: Stage,
  failed: string[],
  name: string,
  task: () => Promise<void>,
): Promise<void> {
  say(`${new Date().toTimeString().slice(0, 8)}  ${name}`);
  const resourcesBefore = resources.count;
  try {
    await task();
  } catch (error) {
    if (resources.isOver) throw error;
    failed.push(`${name}: ${String(error)}`);
    say(`  ${name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    await resources.endAll(say, resourcesBefore);
  }
}
