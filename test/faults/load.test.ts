import { type Fault, runFaults } from './run-faults.ts';
import { change, holdAccounts, lay, terminateBackends, untilWaiting } from './stage.ts';

const LOAD: readonly Fault[] = [
  {
    name: 'the connection is cut as BEGIN leaves',
    outcomes: ['made'],
    arrange: async (stage) => ({ trap: lay(stage, 'before_load', 'cut') }),
  },
  {
    name: 'and the next one, too',
    outcomes: ['no'],
    arrange: async (stage) => {
      lay(stage, 'before_load', 'cut');
      return { trap: lay(stage, 'before_load', 'cut') };
    },
  },
  {
    name: 'it is cut while the load is answered',
    outcomes: ['made'],
    arrange: async (stage) => ({ trap: lay(stage, 'during_load', 'cut') }),
  },
  {
    name: 'it is cut while a lock is waited for',
    outcomes: ['made'],
    arrange: async (stage) => {
      const letGo = await holdAccounts(stage);
      const trap = lay(stage, 'during_load', 'cut', async () => {
        await untilWaiting(stage);
        await letGo();
      });
      return { trap };
    },
  },
  {
    name: 'the backend is terminated while it waits',
    outcomes: ['made'],
    arrange: async (stage) => {
      const letGo = await holdAccounts(stage);
      const trap = lay(stage, 'during_load', 'go_on', async () => {
        await untilWaiting(stage);
        await terminateBackends(stage, "wait_event_type = 'Lock'");
        await letGo();
      });
      return { trap };
    },
  },
  {
    name: 'and the next one, too, while both wait',
    outcomes: ['no'],
    arrange: async (stage) => {
      const letGo = await holdAccounts(stage);
      const terminate = async () => {
        await untilWaiting(stage);
        await terminateBackends(stage, "wait_event_type = 'Lock'");
      };
      lay(stage, 'during_load', 'go_on', terminate);
      return { trap: lay(stage, 'during_load', 'go_on', terminate), mend: letGo };
    },
  },
  {
    name: 'a stranger holds the accounts for good',
    outcomes: ['no'],
    code: 'service_unavailable',
    together: true,
    arrange: async (stage) => ({ mend: await holdAccounts(stage) }),
  },
  {
    name: 'a statement runs into its time limit',
    outcomes: ['no'],
    together: true,
    arrange: async (stage) => ({
      mend: await change(
        stage,
        `alter table switch rename to switch_kept;
          create view switch as select switch_kept.* from switch_kept
            right join (select pg_sleep(3)) as slow on true`,
        'drop view switch; alter table switch_kept rename to switch',
      ),
    }),
  },
  {
    name: 'the answer never comes',
    outcomes: ['no'],
    arrange: async (stage) => ({ trap: lay(stage, 'during_load', 'swallow') }),
  },
];

runFaults('load', LOAD);
