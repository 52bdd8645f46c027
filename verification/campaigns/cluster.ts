import { CITUS_BINARIES } from '../../test/harness/postgres/stock-postgres.ts';
import type { Findings, Setting } from '../campaign.ts';
import { type Addressing, PairCluster } from '../environments/cluster/pair-cluster.ts';
import { lackOfPatroni, PatroniCluster, patroniIn } from '../environments/cluster/patroni-cluster.ts';
import { PlaceCluster } from '../environments/cluster/place-cluster.ts';
import type { Nemesis } from '../nemeses/nemesis.ts';
import * as placement from '../nemeses/placement.ts';
import {
  HIDING,
  ISOLATION,
  LOSS,
  lossInTransit,
  STANDBY_LOSS,
  STANDBY_PARTITION,
  SUSPENSION,
  SWITCHOVER,
} from '../nemeses/primary.ts';
import { attackCluster, type Plan } from './attacked-cluster.ts';

const notRun = (reason: string): Findings => ({ figures: {}, violations: [], notRun: reason });

type PairPlan = Omit<Plan<PairCluster>, 'start'> & {
  /** The nemeses of the negative control, which replicates asynchronously and must lose acknowledged transfers. */
  readonly ofControl?: readonly Nemesis<PairCluster>[];
};

function onPair(setting: Setting, plan: PairPlan, addressing: Addressing = 'one_address'): Promise<Findings> {
  const ofControl = setting.isControl === true ? plan.ofControl : undefined;
  const replication = ofControl === undefined ? 'synchronous' : 'asynchronous';
  return attackCluster(setting, {
    ...plan,
    nemeses: ofControl ?? plan.nemeses,
    start: (resources) => PairCluster.start(resources, replication, addressing),
    figures: { replication },
  });
}

export const failover = (setting: Setting, addressing?: Addressing): Promise<Findings> =>
  onPair(
    setting,
    {
      nemeses: [lossInTransit('from_server'), lossInTransit('from_clients'), LOSS],
      ofControl: [lossInTransit('from_server')],
      bounds: { writing_again_after_loss: 3_000 },
    },
    addressing,
  );

export const isolatedPrimary = (setting: Setting): Promise<Findings> =>
  onPair(setting, { nemeses: [ISOLATION, SUSPENSION, HIDING], ofControl: [ISOLATION, SUSPENSION] });

export const standbyGone = (setting: Setting): Promise<Findings> =>
  onPair(setting, { nemeses: [STANDBY_LOSS, STANDBY_PARTITION], bounds: { readiness_says_so: 2_000 } });

export const switchover = (setting: Setting, addressing?: Addressing): Promise<Findings> =>
  onPair(setting, { nemeses: [SWITCHOVER], waitsFor: 3_000 }, addressing);

/** `folder` has the source of a Patroni; by default Debian's is used. */
export async function patroni(setting: Setting, addressing: Addressing, folder?: string): Promise<Findings> {
  const lack = await lackOfPatroni();
  if (lack !== undefined) return notRun(lack);
  const program = patroniIn(folder);
  return attackCluster<PatroniCluster>(setting, {
    start: (resources) => PatroniCluster.start(resources, program, addressing),
    nemeses: [SWITCHOVER, LOSS],
    // A new leader usually takes a few seconds more than the time to live of 20 s.
    writingWithin: 180_000,
    figures: { patroni: program.version },
  });
}

export async function patroniInFolder(setting: Setting): Promise<Findings> {
  const folder = process.env.PATRONI_SOURCE;
  if (folder === undefined) return notRun('PATRONI_SOURCE must name a folder with the source of Patroni');
  return patroni(setting, 'one_address', folder);
}

async function onPlacement(setting: Setting, plan: Omit<Plan<PlaceCluster>, 'start'>): Promise<Findings> {
  const binaries = CITUS_BINARIES;
  if (binaries === undefined)
    return notRun('TEST_CITUS_BIN must name a PostgreSQL with Citus (tools/verify/citus.ts builds one)');
  return attackCluster(setting, { ...plan, start: (resources) => PlaceCluster.start(resources, binaries) });
}

export const placeMoves = (setting: Setting): Promise<Findings> =>
  onPlacement(setting, { nemeses: [placement.MOVE], bounds: { pause_of_move: 2_000 } });

export const placeWorkers = (setting: Setting): Promise<Findings> =>
  onPlacement(setting, { nemeses: [placement.WORKER_KILL] });

export const placeCoordinators = (setting: Setting): Promise<Findings> =>
  onPlacement(setting, { nemeses: [placement.COORDINATOR_LOSS] });

/** In the negative control, the service takes an error from COMMIT for a rollback. */
export const placeDenials = (setting: Setting): Promise<Findings> =>
  onPlacement(setting, {
    nemeses: [placement.DENIALS_OF_COMMIT],
    mistake: setting.isControl === true ? 'error-at-commit-believed' : undefined,
  });
