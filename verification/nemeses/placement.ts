import { pause } from '../campaign.ts';
import type { PlaceCluster } from '../environments/cluster/place-cluster.ts';
import type { Nemesis } from './nemesis.ts';

/** The placement moves to the other worker. */
export const MOVE: Nemesis<PlaceCluster> = {
  name: 'move',
  inject: async ({ environment, tally }) => {
    const from = performance.now();
    await environment.move();
    tally.time('moving', performance.now() - from);
  },
};

/** All processes of the worker that has the placement are killed. It restarts automatically. */
export const WORKER_KILL: Nemesis<PlaceCluster> = {
  name: 'worker_kill',
  inject: ({ environment }) => environment.killWorker(),
};

/** The coordinator ends without a clean shutdown, for two seconds. */
export const COORDINATOR_LOSS: Nemesis<PlaceCluster> = {
  name: 'coordinator_loss',
  inject: ({ environment }) => environment.killCoordinator(),
  lasts: [2_000, 2_000],
  acknowledged: 'some',
  heal: ({ environment }) => environment.resumeCoordinator(),
};

/** The number of false errors per attack, and the longest time between two, in milliseconds. */
const DENIALS = 10;
const BETWEEN_DENIALS = 40;

/** The longest wait for the next COMMIT, in milliseconds. */
const COMMIT_WITHIN = 60_000;

/** Successful responses to COMMIT become errors, like those of Citus after the loss of a node. */
export const DENIALS_OF_COMMIT: Nemesis<PlaceCluster> = {
  name: 'denials',
  inject: async ({ environment, random, tally }) => {
    const { faults } = environment.proxy;
    for (let denial = 0; denial < DENIALS; denial += 1) {
      faults.push('deny_after');
      const laidAt = performance.now();
      while (faults.length > 0) {
        if (performance.now() - laidAt > COMMIT_WITHIN) throw new Error('no COMMIT arrived in time');
        await pause(1);
      }
      tally.add('denials');
      await pause(random() * BETWEEN_DENIALS);
    }
  },
};
