import { CITUS_BINARIES } from '../../test/harness/postgres/stock-postgres.ts';
import type { Campaign, Findings, Setting } from '../campaign.ts';
import { type Addressing, PairCluster } from '../environments/cluster/pair-cluster.ts';
import { lackOfPatroni, PatroniCluster, patroniIn } from '../environments/cluster/patroni-cluster.ts';
import { PlacementCluster } from '../environments/cluster/placement-cluster.ts';
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
  /** The nemeses that must lose acknowledged transfers in the negative control, which replicates asynchronously. */
  readonly ofControl?: readonly Nemesis<PairCluster>[];
};

function onPair(setting: Setting, plan: PairPlan, addressing: Addressing = 'one_address'): Promise<Findings> {
  const { replication = 'synchronous' } = setting;
  const nemeses = replication === 'synchronous' ? plan.nemeses : plan.ofControl;
  if (nemeses === undefined) throw new Error('the plan has no `ofControl`');
  return attackCluster(setting, {
    ...plan,
    nemeses,
    start: (resources) => PairCluster.start(resources, replication, addressing),
    figures: { replication },
  });
}

function failover(setting: Setting, addressing: Addressing): Promise<Findings> {
  const plan = {
    nemeses: [lossInTransit('from_server'), lossInTransit('from_clients'), LOSS],
    ofControl: [lossInTransit('from_server')],
    bounds: { writing_again_after_loss: 3_000 },
  };
  return onPair(setting, plan, addressing);
}

/** `folder` contains the source of a version of Patroni. The default is Debian's Patroni. */
async function patroni(setting: Setting, addressing: Addressing, folder?: string): Promise<Findings> {
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

async function patroniInFolder(setting: Setting): Promise<Findings> {
  const folder = process.env.PATRONI_SOURCE;
  if (folder === undefined) return notRun('PATRONI_SOURCE must name a folder with the source of Patroni');
  return patroni(setting, 'one_address', folder);
}

async function onPlacement(setting: Setting, plan: Omit<Plan<PlacementCluster>, 'start'>): Promise<Findings> {
  const binaries = CITUS_BINARIES;
  if (binaries === undefined)
    return notRun('TEST_CITUS_BIN must name a PostgreSQL with Citus (tools/verify/citus.ts builds one)');
  return attackCluster(setting, { ...plan, start: (resources) => PlacementCluster.start(resources, binaries) });
}

/** The campaigns on clusters, by the names of their rows. */
export const RUNS = {
  failover: (setting) => failover(setting, 'one_address'),
  'failover-of-hosts': (setting) => failover(setting, 'all_hosts'),
  'isolated-primary': (setting) =>
    onPair(setting, { nemeses: [ISOLATION, SUSPENSION, HIDING], ofControl: [ISOLATION, SUSPENSION] }),
  'standby-gone': (setting) =>
    onPair(setting, { nemeses: [STANDBY_LOSS, STANDBY_PARTITION], bounds: { readiness_says_so: 2_000 } }),
  switchover: (setting) => onPair(setting, { nemeses: [SWITCHOVER], waitsFor: 3_000 }),
  'switchover-of-hosts': (setting) => onPair(setting, { nemeses: [SWITCHOVER], waitsFor: 3_000 }, 'all_hosts'),
  patroni: (setting) => patroni(setting, 'one_address'),
  'patroni-of-hosts': (setting) => patroni(setting, 'all_hosts'),
  'patroni-in-folder': patroniInFolder,
  'place-moves': (setting) => onPlacement(setting, { nemeses: [placement.MOVE], bounds: { pause_of_move: 2_000 } }),
  'place-workers': (setting) => onPlacement(setting, { nemeses: [placement.WORKER_KILL] }),
  'place-coordinators': (setting) => onPlacement(setting, { nemeses: [placement.COORDINATOR_LOSS] }),
  'place-denials': (setting) => onPlacement(setting, { nemeses: [placement.DENIALS_OF_COMMIT] }),
} as const satisfies Readonly<Record<string, Campaign['run']>>;
