// Follows docs/managed-postgresql.md on a PostgreSQL 15, and docs/three-machines.md on machines of network namespaces. Part of
// `npm run verify`.
import { Resources } from '../../bench/resources.ts';
import { followManaged } from './managed-database.ts';
import { checkUnits } from './patroni-units.ts';
import { followThreeMachines } from './three-machines.ts';

// Invariant: The commands of the guides about database failover work unchanged
// Kept by: `ops/patroni/`
// Tested by: `tools/verify/database-guides.ts` in `npm run verify`

const resources = new Resources();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void resources.endAll(console.error).finally(() => process.exit(1)));
try {
  await followManaged(resources);
  checkUnits();
  await followThreeMachines(resources);
} catch (error) {
  console.error(`FAILED  ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await resources.endAll(console.error);
}
