import { downAt, type Fault, runFaults } from './run-faults.ts';
import { holdWith, lay } from './stage.ts';

/** Faults at COMMIT whose outcome cannot be read before the deadline. */
const UNKNOWN_COMMIT: readonly Fault[] = [
  { name: 'the server has committed and is down past the deadline', arrange: downAt('after_commit') },
  { name: 'the server has not committed and is down past the deadline', arrange: downAt('before_commit') },
  {
    name: 'another connection locks the table with the outcome',
    arrange: async (stage) => {
      let release: (() => Promise<void>) | undefined;
      const trap = lay(stage, 'after_commit', 'cut', async () => {
        release = await holdWith(stage.server, 'lock table write_batch in access exclusive mode');
      });
      return { trap, mend: async () => release?.() };
    },
  },
];

runFaults(
  'unknown commit',
  UNKNOWN_COMMIT.map((fault) => ({ ...fault, outcomes: ['unknown'] })),
);
