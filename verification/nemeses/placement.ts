import type { CommitFault, DatabaseProxy } from '../../test/harness/proxy.ts';
import { pause } from '../campaign.ts';
import type { PlacementCluster } from '../environments/cluster/placement-cluster.ts';
import type { Nemesis } from './nemesis.ts';

/** The placement moves to the other worker. */
export const MOVE: Nemesis<PlacementCluster> = {
  name: 'move',
  inject: async ({ environment, tally }) => {
    const from = performance.now();
    await environment.move();
    tally.time('moving', performance.now() - from);
  },
};

/** All processes of the worker that has the placement are killed. The worker restarts automatically. */
export const WORKER_KILL: Nemesis<PlacementCluster> = {
  name: 'worker_kill',
  inject: ({ environment }) => environment.killWorker(),
};

/** The coordinator is down for two seconds, without a clean shutdown. */
export const COORDINATOR_LOSS: Nemesis<PlacementCluster> = {
  name: 'coordinator_loss',
  inject: ({ environment }) => environment.killCoordinator(),
  lasts: [2_000, 2_000],
  acknowledged: 'some',
  heal: ({ environment }) => environment.resumeCoordinator(),
};

/** The number of false errors per attack, and the longest time between two of them, in milliseconds. */
const DENIALS = 10;
const BETWEEN_DENIALS = 40;

/** Sets a fault and waits up to a minute until it hits a COMMIT. Returns the maximum number of open connections. */
export async function hitCommit(proxy: DatabaseProxy, kind: CommitFault): Promise<number> {
  proxy.faults.push(kind);
  const laidAt = performance.now();
  let most = proxy.open();
  while (proxy.faults.length > 0) {
    await pause(1);
    most = Math.max(most, proxy.open());
    if (performance.now() - laidAt > 60_000) throw new Error('no COMMIT arrived for a minute');
  }
  return most;
}

/** Successful responses to COMMIT become errors, such as Citus reports after the loss of a node. */
export const DENIALS_OF_COMMIT: Nemesis<PlacementCluster> = {
  name: 'denials',
  inject: async ({ environment, random, tally }) => {
    for (let denial = 0; denial < DENIALS; denial += 1) {
      await hitCommit(environment.proxy, 'deny_after');
      tally.add('denials');
      await pause(random() * BETWEEN_DENIALS);
    }
  },
};
