import { sendRaw } from '../../../harness/raw-request.ts';
import { Cluster } from '../../failovers/cluster.ts';
import { type Attack, figuresOf, requireNoneSince, Siege, untilWriting } from '../../failovers/siege.ts';
import { type Findings, pause, type Row, type Setting } from '../../row.ts';

/** How long the standby is gone at most, in milliseconds: longer than the deadline of a request. */
const MAX_GONE = 8_000;

/** The longest wait for a state of the readiness, in milliseconds; a load balancer asks about every 20 ms here. */
const READINESS_WITHIN = 60_000;
const BETWEEN_PROBES = 20;

/** The maximum p99 until the readiness says it, in milliseconds. */
const SAID = 2_000;

/** The standby's processes end, or nothing passes between the two any more. */
const KINDS = ['killed', 'partitioned'] as const;

async function takeAway(cluster: Cluster, kind: (typeof KINDS)[number]): Promise<void> {
  if (kind === 'killed') await cluster.standby.kill();
  else cluster.isolatePrimary();
}

async function bringBack(cluster: Cluster, kind: (typeof KINDS)[number]): Promise<void> {
  if (kind === 'killed') await cluster.standby.start();
  // A walreceiver behind a partition notices nothing for a minute; it connects again at once when it hears of an end.
  else cluster.link.cut();
}

/** Waits until a service says with this status whether it is ready; gives the time that took, Infinity for never. */
async function untilReadiness(url: string, status: number, from: number): Promise<number> {
  while (performance.now() - from < READINESS_WITHIN) {
    const answer = await sendRaw(url, { method: 'GET', path: '/health/ready' });
    if (answer.status === status) return performance.now() - from;
    await pause(BETWEEN_PROBES);
  }
  return Number.POSITIVE_INFINITY;
}

/** One absence, up to a service that is ready again. */
async function goWithout(attack: Attack<Cluster>): Promise<void> {
  const { siege, number, where } = attack;
  const { cluster, random, tally, urls } = siege;
  const kind = KINDS[number % KINDS.length] ?? 'killed';
  tally.add(kind);
  siege.beginInterruption();
  const takenAt = performance.now();
  await takeAway(cluster, kind);
  const goneAt = performance.now();
  const said = await Promise.all(urls.map((url) => untilReadiness(url, 503, takenAt)));
  for (const milliseconds of said) tally.time('readiness_says_so', milliseconds);
  await pause(random() * MAX_GONE);
  requireNoneSince(goneAt, attack, 'without it');
  await bringBack(cluster, kind);
  const backAt = performance.now();
  tally.time('writing_again', await untilWriting(backAt, attack));
  const ready = await Promise.all(urls.map((url) => untilReadiness(url, 200, backAt)));
  for (const milliseconds of ready) tally.time('ready_again', milliseconds);
  if ([...said, ...ready].includes(Number.POSITIVE_INFINITY)) tally.violate(where, ['a state was not reached']);
  await cluster.untilFollowing();
}

async function run(setting: Setting): Promise<Findings> {
  const tally = await Siege.layTo<Cluster>(setting, {
    start: (resources) => Cluster.start(resources, 'synchronous'),
    nameOf: (number) => `absence ${number}`,
    transfersBefore: 200,
    attack: goWithout,
  });
  const { p99 } = tally.spread('readiness_says_so');
  // Beside other tests this time is that of the machine.
  if (setting.inHaste !== true && p99 > SAID)
    tally.violate('times', [`p99 until readiness says so is ${p99} ms, and ${SAID} ms are the most`]);
  return { figures: figuresOf(tally), violations: tally.violations };
}

/** A strict primary without its standby: nothing is acknowledged until that is back. */
export const STANDBY_GONE: Row = {
  name: 'standby-gone',
  unit: 'absences',
  counts: { small: 2, middle: 6, large: 20 },
  run,
};
