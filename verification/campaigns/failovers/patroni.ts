import { type Findings, pause, type Setting } from '../../campaign.ts';
import type { Addressing } from '../../environments/cluster/cluster.ts';
import type { Machine } from '../../environments/cluster/machines.ts';
import { lackOfPatroni, PatroniCluster, patroniIn } from '../../environments/cluster/patroni-cluster.ts';
import { type Attack, figuresOf, Siege, untilWriting } from '../../environments/cluster/siege.ts';

/** The longest wait for a new leader, in milliseconds. It usually takes a few seconds more than the time to live of 20 s. */
const REPLACED_WITHIN = 180_000;

/** The leader hands over to a synchronous standby, or its machine loses power. */
const KINDS = ['switchover', 'loss'] as const;

async function choose(cluster: PatroniCluster): Promise<{ readonly leader: Machine; readonly candidate: Machine }> {
  await cluster.untilWhole();
  const leader = await cluster.untilLeader();
  const [candidate] = await cluster.findSynchronous();
  if (candidate === undefined) throw new Error('there is no synchronous standby');
  return { leader, candidate };
}

function kindOf(number: number): (typeof KINDS)[number] {
  return KINDS[number % KINDS.length] ?? 'loss';
}

/** Changes the leader, and waits until two standbys follow the new leader. */
async function change(attack: Attack<PatroniCluster>): Promise<void> {
  const { siege, pulse, number } = attack;
  const { cluster, tally } = siege;
  const kind = kindOf(number);
  tally.add(kind === 'loss' ? 'losses' : 'switchovers');
  const { leader, candidate } = await choose(cluster);
  siege.beginInterruption();
  const ledEtcd = kind === 'loss' && (await cluster.leadsEtcd(leader));
  const orderedAt = performance.now();
  if (kind === 'switchover') await cluster.switchOver(leader, candidate);
  else await leader.losePower();
  const changedAt = performance.now();
  // Until the leader changes, the old leader can still serve requests.
  while ((await cluster.findLeader()) === leader) await pause(50);
  await cluster.untilLeader();
  await untilWriting(changedAt, attack, REPLACED_WITHIN);
  if (kind === 'loss') await cluster.restore(leader);
  await cluster.untilWhole();
  await pause(500);
  const during = pulse.beats.filter(({ answeredAt }) => answeredAt > orderedAt);
  tally.add(`failed_in_a_${kind}`, during.filter(({ status }) => status !== 201).length);
  const silence = pulse.longestSilence(orderedAt);
  tally.time(`pause_of_a_${kind}`, silence);
  // A new leader of etcd extends every lease to its whole time, including the lease of the lost leader.
  if (ledEtcd) tally.time('pause_where_it_led_etcd', silence);
}

export async function run(
  setting: Setting,
  folder?: string,
  addressing: Addressing = 'one_address',
): Promise<Findings> {
  const notRun = await lackOfPatroni();
  if (notRun !== undefined) return { figures: {}, violations: [], notRun };
  const program = patroniIn(folder);
  const tally = await Siege.layTo<PatroniCluster>(setting, {
    start: (resources) => PatroniCluster.start(resources, program, addressing),
    nameOf: (number) => `${kindOf(number)} ${number}`,
    transfersBefore: 200,
    attack: change,
  });
  return { figures: { patroni: program.version, ...figuresOf(tally) }, violations: tally.violations };
}

/** The same with the Patroni whose source is in `PATRONI_SOURCE`. */
export async function runFromFolder(setting: Setting): Promise<Findings> {
  const folder = process.env.PATRONI_SOURCE;
  if (folder !== undefined) return run(setting, folder);
  return { figures: {}, violations: [], notRun: 'PATRONI_SOURCE must name a folder with the source of Patroni' };
}
