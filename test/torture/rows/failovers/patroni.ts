import type { Addressing } from '../../failovers/cluster.ts';
import type { Machine } from '../../failovers/machines.ts';
import { lackOfPatroni, PatroniCluster, patroniIn } from '../../failovers/patroni-cluster.ts';
import { CLIENTS, Siege } from '../../failovers/siege.ts';
import { type Ledger, overLedgers } from '../../ledgers.ts';
import { type Findings, pause, type Row, type Setting, Tally } from '../../row.ts';

/** After each attack the whole books are compared, so they must stay small. */
const ATTACKS_OF_LEDGER = 10;

/** Acknowledged transfers before each, and the longest wait for them, in milliseconds. */
const BEFORE = 200;
const LONGEST_BEFORE = 8_000;

/** A machine that is lost is replaced after its time to live of 20 s, and a few seconds more; on a busy machine later. */
const REPLACED_WITHIN = 180_000;

/** The leader hands over to a synchronous standby, or the whole machine loses its power. */
const KINDS = ['switchover', 'loss'] as const;

async function choose(cluster: PatroniCluster): Promise<{ readonly leader: Machine; readonly candidate: Machine }> {
  await cluster.untilWhole();
  const leader = await cluster.untilLeader();
  const [candidate] = await cluster.findSynchronous();
  if (candidate === undefined) throw new Error('there is no synchronous standby');
  return { leader, candidate };
}

/** One change of the leader, up to two standbys that follow the new one. */
async function change(siege: Siege<PatroniCluster>, kind: (typeof KINDS)[number], where: string): Promise<void> {
  const { cluster, tally } = siege;
  const pulse = siege.startLoad();
  try {
    await siege.untilLoaded(BEFORE, LONGEST_BEFORE);
    const { leader, candidate } = await choose(cluster);
    siege.beginInterruption();
    const ledEtcd = kind === 'loss' && (await cluster.leadsEtcd(leader));
    const orderedAt = performance.now();
    if (kind === 'switchover') await cluster.switchOver(leader, candidate);
    else await leader.losePower();
    const changedAt = performance.now();
    // Until then requests can still be served by the old leader.
    while ((await cluster.findLeader()) === leader) await pause(50);
    await cluster.untilLeader();
    const writing = await pulse.firstAfter(changedAt, REPLACED_WITHIN);
    siege.endInterruption();
    if (writing === Number.POSITIVE_INFINITY) tally.violate(where, [`no transfer within ${REPLACED_WITHIN} ms`]);
    if (kind === 'loss') await cluster.restore(leader);
    await cluster.untilWhole();
    await pause(500);
    const during = pulse.beats.filter(({ answeredAt }) => answeredAt > orderedAt);
    tally.add(`failed_in_a_${kind}`, during.filter(({ status }) => status !== 201).length);
    const silence = pulse.longestSilence(orderedAt);
    tally.time(`pause_of_a_${kind}`, silence);
    // The next leader of etcd gives every lease its whole time again, and so the lost leadership.
    if (ledEtcd) tally.time('pause_where_it_led_etcd', silence);
  } finally {
    await siege.load.pause();
    await pulse.stop();
  }
}

async function withstand(setting: Setting, siege: Siege<PatroniCluster>, { done, attacks }: Ledger): Promise<void> {
  const { tally } = siege;
  for (let attack = 1; attack <= attacks && tally.violations.length === 0; attack += 1) {
    const kind = KINDS[(done + attack) % KINDS.length] ?? 'loss';
    const where = `${kind} ${done + attack}`;
    tally.add(kind === 'loss' ? 'losses' : 'switchovers');
    await change(siege, kind, where);
    await siege.check(where);
    setting.progress(done + attack, `${tally.count('violations')} violations`);
  }
  await siege.checkEnd(`after attack ${done + attacks}`);
}

async function run(setting: Setting, folder?: string, addressing: Addressing = 'one_address'): Promise<Findings> {
  const notRun = await lackOfPatroni();
  if (notRun !== undefined) return { figures: {}, violations: [], notRun };
  const program = patroniIn(folder);
  const tally = new Tally();
  const start = (resources: Setting['resources']) => PatroniCluster.start(resources, program, addressing);
  await overLedgers(setting, tally, ATTACKS_OF_LEDGER, (ledger) =>
    Siege.run(setting, tally, ledger.number, start, (siege) => withstand(setting, siege, ledger)),
  );
  const figures = { patroni: program.version, clients: CLIENTS, processes: 2, ...tally.figures() };
  return { figures, violations: tally.violations };
}

const COUNTS = { small: 2, middle: 10, large: 40 } as const;

/** Debian's Patroni on three machines, whose leader hands over or is lost. */
export const PATRONI: Row = {
  name: 'patroni',
  unit: 'changes of the leader',
  counts: COUNTS,
  run: (setting) => run(setting),
};

/** The same without HAProxy: the services know the addresses of all three. */
export const PATRONI_OF_HOSTS: Row = {
  ...PATRONI,
  name: 'patroni-of-hosts',
  run: (setting) => run(setting, undefined, 'all_hosts'),
};

/** The same with the Patroni whose source is in a folder. */
export const PATRONI_IN_FOLDER: Row = {
  name: 'patroni-in-folder',
  unit: 'changes of the leader',
  counts: COUNTS,
  run: async (setting) => {
    const folder = process.env.TORTURE_PATRONI;
    if (folder !== undefined) return run(setting, folder);
    return { figures: {}, violations: [], notRun: 'TORTURE_PATRONI names no folder with the source of a Patroni' };
  },
};
