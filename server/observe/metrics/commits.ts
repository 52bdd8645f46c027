import type { CommitObserver, CommitPath } from '../../commit/group-work.ts';
import type { Settlement } from '../../store/connection/database.ts';
import type { BoundHistogram, Metrics } from './registry.ts';

/** A group has at most 256 transfers. */
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Seconds; a request ends after 5. */
const SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Counts what the lanes of transfers do. */
export function countCommits(metrics: Metrics): CommitObserver {
  const size = metrics.histogram({ name: 'group_size', help: 'Transfers that were committed together.' }, SIZES)();
  const seconds = metrics.histogram(
    {
      name: 'commit_seconds',
      help: 'Time from the first statement of a group of transfers to its commit: chained, or with its accounts locked.',
      labels: ['path'],
    },
    SECONDS,
  );
  const byPath: Readonly<Record<CommitPath, BoundHistogram>> = {
    chained: seconds('chained'),
    locking: seconds('locking'),
  };
  const breaks = metrics.counter({
    name: 'chain_breaks_total',
    help: 'Chains of groups that broke, so that their groups were committed again with locks.',
  })();
  const settlements = metrics.counter({
    name: 'settlements_total',
    help: 'Commits without a certain response that were looked up, by what was found.',
    labels: ['outcome'],
  });
  const byOutcome = {
    committed: settlements('committed'),
    abandoned: settlements('abandoned'),
    unknown: settlements('unknown'),
  } satisfies Record<Settlement, unknown>;
  const unknown = metrics.counter({
    name: 'transfers_unknown_total',
    help: 'Transfers of which it was not known, at the end of their request, whether they were made.',
  })();
  for (const count of [breaks, unknown, ...Object.values(byOutcome)]) count.inc(0);
  return {
    onGroup: (path, transfers, milliseconds) => {
      size.observe(transfers);
      byPath[path].observe(milliseconds / 1000);
    },
    onBreak: () => breaks.inc(),
    onSettled: (settlement) => byOutcome[settlement].inc(),
    onUnknown: (transfers) => unknown.inc(transfers),
  };
}
