import { waitFor } from '../harness/process.ts';
import type { TrapPlace } from '../harness/proxy.ts';
import type { Attempt } from './attempt.ts';
import { sendAndLeave } from './attempt.ts';
import { type Arranged, type Fault, runFaults } from './run-faults.ts';
import { holdAccounts, lay, type Stage, untilAtRest, untilWaiting } from './stage.ts';

const AFTER: readonly Fault[] = [
  {
    name: 'the client has gone before the load is answered',
    outcomes: ['silence'],
    arrange: (stage, attempt) => leaveAt(stage, attempt, 'during_load'),
  },
  {
    name: 'the client has gone before COMMIT',
    outcomes: ['silence'],
    arrange: (stage, attempt) => leaveAt(stage, attempt, 'before_commit'),
  },
  {
    name: 'the client has gone before the reply',
    outcomes: ['silence'],
    arrange: (stage, attempt) => leaveAt(stage, attempt, 'after_commit'),
  },
  {
    name: 'the service is killed before COMMIT',
    outcomes: ['silence'],
    arrange: (stage) => killAt(stage, 'before_commit'),
  },
  {
    name: 'the service is killed before the reply',
    outcomes: ['silence'],
    arrange: (stage) => killAt(stage, 'after_commit'),
  },
  {
    name: 'the service is told to stop before COMMIT',
    outcomes: ['made'],
    arrange: (stage) => stopAt(stage, 'before_commit'),
  },
  {
    name: 'the service is told to stop before the reply',
    outcomes: ['made'],
    arrange: (stage) => stopAt(stage, 'after_commit'),
  },
  {
    name: 'the service is told to stop and the database does not let it end',
    outcomes: ['no'],
    code: 'service_unavailable',
    arrange: async (stage) => {
      const letGo = await holdAccounts(stage);
      const service = stage.service();
      const trap = lay(stage, 'during_load', 'go_on', async () => {
        await untilWaiting(stage);
        service.child.kill('SIGTERM');
      });
      const mend = async (): Promise<void> => {
        await service.stop();
        await letGo();
        await stage.restart();
      };
      return { trap, mend };
    },
  },
  {
    name: 'the service is told to stop and its COMMIT is not answered',
    outcomes: ['made', 'unknown'],
    arrange: async (stage) => {
      const service = stage.service();
      const trap = lay(stage, 'after_commit', 'swallow', () => service.child.kill('SIGTERM'));
      const mend = async (): Promise<void> => {
        await service.stop();
        await stage.restart();
      };
      return { trap, mend };
    },
  },
];

/** The caller hangs up at a moment of the transaction; the service then ends it or not, as it likes. */
async function leaveAt(stage: Stage, attempt: Attempt, at: TrapPlace): Promise<Arranged> {
  const reached = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  const trap = lay(stage, at, 'go_on', async () => {
    reached.resolve();
    await gone.promise;
  });
  const send = async () => {
    const { leave, heard } = sendAndLeave(stage, attempt);
    await reached.promise;
    leave();
    const silence = await heard;
    gone.resolve();
    await untilAtRest(stage);
    return silence;
  };
  return { trap, send };
}

/** SIGKILL at a moment of the transaction, then a new process. */
async function killAt(stage: Stage, at: TrapPlace): Promise<Arranged> {
  return { trap: lay(stage, at, 'cut', () => stage.service().kill()), mend: () => stage.restart() };
}

/** SIGTERM at a moment of the transaction: what is under way is ended and answered first. */
async function stopAt(stage: Stage, at: TrapPlace): Promise<Arranged> {
  const service = stage.service();
  const trap = lay(stage, at, 'go_on', async () => {
    service.child.kill('SIGTERM');
    await waitFor('the service to stop', async () => service.output().includes('Stopping'));
  });
  const mend = async (): Promise<void> => {
    await service.stop();
    await stage.restart();
  };
  return { trap, mend };
}

runFaults('after', AFTER);
