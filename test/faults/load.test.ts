import { LIMITS } from '../../server/store/connection/session-settings.ts';
import { during, type Fault, runFaults, trap } from './run-faults.ts';
import { change, holdAccounts, holdLoads, lay, type Stage, terminateBackends, untilWaiting } from './stage.ts';

/** Another connection holds the locks that a load needs. Cuts or terminates the connection that waits for them. */
const whileWaiting =
  (outcome: 'cut' | 'go_on', terminate: (stage: Stage) => Promise<void> = async () => undefined): Fault['arrange'] =>
  async (stage) => {
    const letGo = await holdLoads(stage);
    let isOver = false;
    const meanwhile = async () => {
      // On a slow machine the request may be refused before this sees it wait.
      await untilWaiting(stage, () => isOver);
      await terminate(stage);
      await letGo();
    };
    const mend = async () => {
      isOver = true;
      await letGo();
    };
    return { trap: lay(stage, 'during_load', outcome, meanwhile), mend };
  };

const terminateWaiting = (stage: Stage) => terminateBackends(stage, "wait_event_type = 'Lock'");

const LOAD: readonly Fault[] = [
  { name: 'the connection is cut at BEGIN', outcomes: ['made'], arrange: trap('before_load', 'cut') },
  {
    name: 'the connection is cut at BEGIN twice',
    outcomes: ['no'],
    arrange: async (stage) => {
      lay(stage, 'before_load', 'cut');
      return { trap: lay(stage, 'before_load', 'cut') };
    },
  },
  {
    name: 'the connection is cut before the reply to the load',
    outcomes: ['made'],
    arrange: trap('during_load', 'cut'),
  },
  { name: 'the connection is cut while it waits for a lock', outcomes: ['made'], arrange: whileWaiting('cut') },
  {
    name: 'the backend is terminated while it waits for a lock',
    outcomes: ['made'],
    arrange: whileWaiting('go_on', terminateWaiting),
  },
  {
    name: 'the backend is terminated while it waits for a lock, twice',
    outcomes: ['no'],
    arrange: async (stage) => {
      const letGo = await holdLoads(stage);
      const terminate = () => untilWaiting(stage).then(() => terminateWaiting(stage));
      lay(stage, 'during_load', 'go_on', terminate);
      return { trap: lay(stage, 'during_load', 'go_on', terminate), mend: letGo };
    },
  },
  {
    name: 'another connection holds the accounts',
    outcomes: ['no'],
    code: 'service_unavailable',
    together: true,
    arrange: during(holdAccounts),
  },
  {
    name: 'a statement reaches its time limit',
    outcomes: ['no'],
    code: 'service_unavailable',
    least: LIMITS.statement,
    together: true,
    arrange: during((stage) =>
      change(
        stage,
        `alter table switch rename to switch_kept;
          create view switch as select switch_kept.* from switch_kept
            right join (select pg_sleep(3)) as slow on true;
          grant select on switch to public`,
        'drop view switch; alter table switch_kept rename to switch',
      ),
    ),
  },
  { name: 'the reply to the load never arrives', outcomes: ['no'], arrange: trap('during_load', 'swallow') },
];

runFaults('load', LOAD);
