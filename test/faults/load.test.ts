import { LIMITS } from '../../server/store/connection/session-settings.ts';
import { during, type Fault, pauseServer, runFaults, trap } from './run-faults.ts';
import {
  change,
  crashServerFully,
  holdAccounts,
  holdLoads,
  lay,
  type Stage,
  terminateBackends,
  untilReady,
  untilWaiting,
} from './stage.ts';

/** Makes every statement that reads the switch exceed its time limit. */
const slowSwitch = change(
  `alter table switch rename to switch_kept;
    create view switch as select switch_kept.* from switch_kept right join (select pg_sleep(3)) as slow on true;
    grant select on switch to public`,
  'drop view switch; alter table switch_kept rename to switch',
);

/** Faults that begin before the request. Some of them are already over when it is sent. */
const BEFORE: readonly Fault[] = [
  { name: 'the database server is stopped', arrange: pauseServer },
  {
    name: 'the server refuses connections',
    arrange: during(async ({ proxy }) => {
      await proxy.listen(false);
      proxy.cutAll();
      return () => proxy.listen(true);
    }),
  },
  {
    name: 'the server accepts connections but does not respond',
    arrange: during(async ({ proxy }) => {
      proxy.mute(true);
      proxy.cutAll();
      return async () => {
        proxy.mute(false);
        proxy.cutAll();
      };
    }),
  },
  { name: 'every idle connection was cut', outcomes: ['made'], arrange: after(({ proxy }) => proxy.cutAll()) },
  { name: 'every idle connection was terminated', outcomes: ['made'], arrange: after(terminateBackends) },
  {
    name: 'the server crashed and has recovered',
    outcomes: ['made'],
    arrange: after(async (stage) => {
      await crashServerFully(stage);
      await untilReady(stage);
    }),
  },
];

/** A fault that is already over when the request is sent. */
function after(happen: (stage: Stage) => unknown): Fault['arrange'] {
  return async (stage) => {
    await happen(stage);
    return {};
  };
}

/** Another connection holds the locks that a load needs. Cuts or terminates the connection that waits for them. */
const whileWaiting =
  (outcome: 'cut' | 'continue', terminate: (stage: Stage) => Promise<void> = async () => undefined): Fault['arrange'] =>
  async (stage) => {
    const release = await holdLoads(stage);
    let isOver = false;
    const meanwhile = async () => {
      // On a slow machine, the request may be refused before the test sees it wait.
      await untilWaiting(stage, () => isOver);
      await terminate(stage);
      await release();
    };
    const mend = async () => {
      isOver = true;
      await release();
    };
    return { trap: lay(stage, 'during_load', outcome, meanwhile), mend };
  };

const terminateWaiting = (stage: Stage) => terminateBackends(stage, "wait_event_type = 'Lock'");

const LOAD: readonly Fault[] = [
  { name: 'the connection is cut at BEGIN', outcomes: ['made'], arrange: trap('before_load', 'cut') },
  {
    name: 'the connection is cut at BEGIN twice',
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
    arrange: whileWaiting('continue', terminateWaiting),
  },
  {
    name: 'the backend is terminated while it waits for a lock, twice',
    arrange: async (stage) => {
      const release = await holdLoads(stage);
      const terminate = () => untilWaiting(stage).then(() => terminateWaiting(stage));
      lay(stage, 'during_load', 'continue', terminate);
      return { trap: lay(stage, 'during_load', 'continue', terminate), mend: release };
    },
  },
  {
    name: 'another connection locks the accounts',
    code: 'service_unavailable',
    together: true,
    arrange: during(holdAccounts),
  },
  {
    name: 'a statement reaches its time limit',
    code: 'service_unavailable',
    least: LIMITS.statement,
    together: true,
    arrange: during(slowSwitch),
  },
  {
    name: 'a wait for a lock and a statement together take too long',
    code: 'service_unavailable',
    least: LIMITS.statement,
    together: true,
    arrange: during(async (stage) => {
      const mend = await slowSwitch(stage);
      const release = await holdAccounts(stage);
      const timer = setTimeout(release, LIMITS.lock - 100);
      return async () => {
        clearTimeout(timer);
        await release();
        await mend();
      };
    }),
  },
  { name: 'the reply to the load never arrives', arrange: trap('during_load', 'swallow') },
];

runFaults('load', [...BEFORE, ...LOAD]);
