import { waitFor } from '../harness/process.ts';
import type { TrapPlace } from '../harness/proxy.ts';
import { send as sendAttempt } from './attempt.ts';
import { type Fault, runFaults } from './run-faults.ts';
import { holdLoads, lay, type Stage, untilAtRest, untilWaiting } from './stage.ts';

const AFTER: readonly Fault[] = [
  { name: 'the client disconnects during the load', outcomes: ['silence'], arrange: leaveAt('during_load') },
  { name: 'the client disconnects before COMMIT', outcomes: ['silence'], arrange: leaveAt('before_commit') },
  { name: 'the client disconnects before the reply', outcomes: ['silence'], arrange: leaveAt('after_commit') },
  { name: 'the service is killed before COMMIT', outcomes: ['silence'], arrange: killAt('before_commit') },
  { name: 'the service is killed before the reply', outcomes: ['silence'], arrange: killAt('after_commit') },
  { name: 'the service gets SIGTERM before COMMIT', outcomes: ['made'], arrange: stopAt('before_commit') },
  { name: 'the service gets SIGTERM before the reply', outcomes: ['made'], arrange: stopAt('after_commit') },
  {
    name: 'the service gets SIGTERM while it waits for a lock',
    code: 'service_unavailable',
    arrange: async (stage) => {
      const release = await holdLoads(stage);
      const service = stage.service();
      const trap = lay(stage, 'during_load', 'continue', async () => {
        await untilWaiting(stage);
        service.child.kill('SIGTERM');
      });
      return { trap, mend: restartAfterStop(stage, release) };
    },
  },
  {
    name: 'the service gets SIGTERM and the reply to COMMIT never arrives',
    outcomes: ['made', 'unknown'],
    arrange: async (stage) => {
      const service = stage.service();
      const trap = lay(stage, 'after_commit', 'swallow', () => service.child.kill('SIGTERM'));
      return { trap, mend: restartAfterStop(stage) };
    },
  },
];

/** Waits until the service has stopped, then starts a new process. */
function restartAfterStop(stage: Stage, between?: () => Promise<void>): () => Promise<void> {
  const service = stage.service();
  return async () => {
    await service.stop();
    await between?.();
    await stage.restart();
  };
}

/** The caller disconnects during the transaction. The service may or may not commit it. */
function leaveAt(at: TrapPlace): Fault['arrange'] {
  return async (stage, attempt) => {
    const reached = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    const trap = lay(stage, at, 'continue', async () => {
      reached.resolve();
      await gone.promise;
    });
    const send = async () => {
      const caller = new AbortController();
      const responded = sendAttempt(stage, attempt, caller.signal);
      // A slow service may reach its time limit before it reaches the trap, and then it responds.
      await Promise.race([reached.promise, responded]);
      caller.abort();
      const heard = await responded;
      gone.resolve();
      await untilAtRest(stage);
      return heard;
    };
    return { trap, send };
  };
}

/** Kills the service during the transaction, then starts a new process. */
function killAt(at: TrapPlace): Fault['arrange'] {
  return async (stage) => ({
    trap: lay(stage, at, 'cut', () => stage.service().kill()),
    mend: () => stage.restart(),
  });
}

/**
 * Sends SIGTERM during the transaction. Before the service stops, it completes the transaction and sends the response.
 */
function stopAt(at: TrapPlace): Fault['arrange'] {
  return async (stage) => {
    const service = stage.service();
    const trap = lay(stage, at, 'continue', async () => {
      service.child.kill('SIGTERM');
      await waitFor('the service to begin to stop', async () => service.output().includes('Stopping'));
    });
    return { trap, mend: restartAfterStop(stage) };
  };
}

runFaults('after', AFTER);
