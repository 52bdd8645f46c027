import { sendRaw } from '../../../test/harness/raw-request.ts';
import { type Findings, pause, type Setting } from '../../campaign.ts';
import { Cluster } from '../../environments/cluster/cluster.ts';
import { type Attack, figuresOf, requireNoneSince, Siege, untilWriting } from '../../environments/cluster/siege.ts';

/** The longest absence of the standby, in milliseconds. It exceeds the deadline of a request. */
const MAX_GONE = 8_000;

/** The longest wait for a change of the readiness, and the interval between probes, in milliseconds. */
const READINESS_WITHIN = 60_000;
const BETWEEN_PROBES = 20;

/** The maximum p99 of the time until the service reports that it is not ready, in milliseconds. */
const SAID = 2_000;

/** The standby is killed, or it is separated from the primary. */
const KINDS = ['killed', 'partitioned'] as const;

async function takeAway(cluster: Cluster, kind: (typeof KINDS)[number]): Promise<void> {
  if (kind === 'killed') await cluster.standby.kill();
  else cluster.isolatePrimary();
}

async function bringBack(cluster: Cluster, kind: (typeof KINDS)[number]): Promise<void> {
  if (kind === 'killed') await cluster.standby.start();
  // A partitioned walreceiver would notice nothing for a minute. It reconnects at once if its connection ends.
  else cluster.link.cut();
}

/** Waits for this status of the readiness probe. Returns the time since `from` in milliseconds, or Infinity. */
async function untilReadiness(url: string, status: number, from: number): Promise<number> {
  while (performance.now() - from < READINESS_WITHIN) {
    const answer = await sendRaw(url, { method: 'GET', path: '/health/ready' });
    if (answer.status === status) return performance.now() - from;
    await pause(BETWEEN_PROBES);
  }
  return Number.POSITIVE_INFINITY;
}

/** Removes the standby, brings it back, and waits until the services are ready. */
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
  requireNoneSince(goneAt, attack, 'without the standby');
  await bringBack(cluster, kind);
  const backAt = performance.now();
  tally.time('writing_again', await untilWriting(backAt, attack));
  const ready = await Promise.all(urls.map((url) => untilReadiness(url, 200, backAt)));
  for (const milliseconds of ready) tally.time('ready_again', milliseconds);
  if ([...said, ...ready].includes(Number.POSITIVE_INFINITY))
    tally.violate(where, ['a service did not change its readiness in time']);
  await cluster.untilFollowing();
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = await Siege.layTo<Cluster>(setting, {
    start: (resources) => Cluster.start(resources, 'synchronous'),
    nameOf: (number) => `absence ${number}`,
    transfersBefore: 200,
    attack: goWithout,
  });
  const { p99 } = tally.spread('readiness_says_so');
  // Next to other tests, this time depends on the machine.
  if (setting.inHaste !== true && p99 > SAID)
    tally.violate('times', [`p99 until the service reports not ready is ${p99} ms, the maximum is ${SAID} ms`]);
  return { figures: figuresOf(tally), violations: tally.violations };
}
