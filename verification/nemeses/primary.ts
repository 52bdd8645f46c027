import { waitFor } from '../../test/harness/process.ts';
import { sendRaw } from '../../test/harness/raw-request.ts';
import { pause } from '../campaign.ts';
import type { PairCluster } from '../environments/cluster/pair-cluster.ts';
import type { Direction } from './link.ts';
import type { Nemesis, Target } from './nemesis.ts';

/** A database with one primary, which has a standby that can replace it. */
export type Replicated = {
  /** Shuts the primary down, or lets it hand over. */
  readonly handOver: () => Promise<void>;
  /** Ends the primary as a power loss would. */
  readonly losePrimary: () => Promise<void>;
  /** Promotes a standby, or waits until one has been promoted. */
  readonly replacePrimary: () => Promise<void>;
  /** Waits until the primary has all its standbys. Recreates them if necessary. */
  readonly complete: () => Promise<void>;
};

const complete = ({ environment }: Target<Replicated>): Promise<void> => environment.complete();

/** A planned change of the primary. */
export const SWITCHOVER: Nemesis<Replicated> = {
  name: 'switchover',
  inject: ({ environment }) => environment.handOver(),
  heal: ({ environment }) => environment.replacePrimary(),
  repair: complete,
};

/** The loss of the primary's machine. */
export const LOSS: Nemesis<Replicated> = {
  name: 'loss',
  inject: ({ environment }) => environment.losePrimary(),
  lasts: [0, 500],
  acknowledged: 'none',
  heal: ({ environment }) => environment.replacePrimary(),
  repair: complete,
};

/**
 * The loss of the primary, with everything that was in transit in this direction: its data, or the standby's
 * confirmations. With asynchronous replication, transfers are lost only if data was withheld.
 */
export const lossInTransit = (direction: Direction): Nemesis<PairCluster> => ({
  ...LOSS,
  prepare: async ({ environment, random, tally }) => {
    tally.add(`withheld_${direction}`);
    environment.link.withhold(direction);
    await pause(50 + random() * 700);
  },
});

/**
 * The longest time that a primary is hidden or alone, in milliseconds. Some requests reach their deadline of five
 * seconds.
 */
const MAX_ALONE = 7_000;

/** The longest time that open connections still go to the old primary, in milliseconds. */
const MAX_LINGERING = 3_000;

/** The primary is cut off from its standby and continues, while the standby is promoted. */
export const ISOLATION: Nemesis<PairCluster> = {
  name: 'isolation',
  inject: async ({ environment }) => environment.isolatePrimary(),
  lasts: [0, MAX_ALONE],
  acknowledged: 'none',
  heal: async ({ environment, random }) => {
    await environment.replacePrimary();
    await environment.standby.resume();
    await pause(random() * MAX_LINGERING);
    environment.cutEntrance();
  },
  repair: async ({ environment, tally }) => {
    await pause(300);
    tally.add('left_on_the_old_primary', await environment.countLeftBehind());
    await environment.complete();
  },
};

/** Like {@link ISOLATION}, but the primary is also suspended, and continues after the promotion. */
export const SUSPENSION: Nemesis<PairCluster> = {
  ...ISOLATION,
  name: 'suspension',
  inject: async ({ environment }) => {
    environment.isolatePrimary();
    await environment.primary.suspend();
  },
};

/** The services cannot reach the primary, but its standby can. Their requests arrive after the fault. */
export const HIDING: Nemesis<PairCluster> = {
  name: 'hiding',
  inject: async ({ environment }) => environment.hidePrimary(),
  lasts: [0, MAX_ALONE],
  acknowledged: 'none',
  heal: async ({ environment }) => environment.showPrimary(),
};

/** The longest wait for a change of the readiness, in milliseconds. */
const READINESS_WITHIN = 60_000;

/** Measures the time until each service reports this readiness. */
async function untilReadiness({ urls, tally }: Target<unknown>, status: number, from: number, what: string) {
  const one = async (url: string): Promise<void> => {
    const isSo = async () => (await sendRaw(url, { method: 'GET', path: '/health/ready' })).status === status;
    await waitFor(what, isSo, READINESS_WITHIN);
    tally.time(what, performance.now() - from);
  };
  await Promise.all(urls.map(one));
}

const WITHOUT_STANDBY = {
  /** The longest duration is longer than the deadline of a request. */
  lasts: [0, 8_000],
  acknowledged: 'none',
  during: (target, since) => untilReadiness(target, 503, since, 'readiness_says_so'),
  repair: async (target, since) => {
    await untilReadiness(target, 200, since, 'ready_again');
    await target.environment.untilFollowing();
  },
} as const satisfies Partial<Nemesis<PairCluster>>;

/** The standby is killed. */
export const STANDBY_LOSS: Nemesis<PairCluster> = {
  ...WITHOUT_STANDBY,
  name: 'standby_loss',
  inject: ({ environment }) => environment.standby.kill(),
  heal: ({ environment }) => environment.standby.start(),
};

/** The standby is separated from the primary. */
export const STANDBY_PARTITION: Nemesis<PairCluster> = {
  ...WITHOUT_STANDBY,
  name: 'standby_partition',
  inject: async ({ environment }) => environment.isolatePrimary(),
  // A partitioned walreceiver would notice nothing for a minute. It reconnects at once if its connection ends.
  heal: async ({ environment }) => environment.link.cut(),
};
