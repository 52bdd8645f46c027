import { type Findings, pause, type Setting } from '../../campaign.ts';
import { type Addressing, Cluster } from '../../environments/cluster/cluster.ts';
import { type Attack, figuresOf, Siege, untilWriting } from '../../environments/cluster/siege.ts';

/** If the pause is shorter than this, in milliseconds, every request could wait for its end. */
const WAITED = 3_000;

/** Switches over, and waits until the old primary follows the new one. */
async function switchOver(attack: Attack<Cluster>): Promise<void> {
  const { siege, pulse, where } = attack;
  const { cluster, tally } = siege;
  siege.beginInterruption();
  let orderedAt = 0;
  await cluster.switchOver(() => {
    orderedAt = performance.now();
  });
  await untilWriting(orderedAt, attack);
  await pause(500);
  const silence = pulse.longestSilence(orderedAt);
  tally.time('pause', silence);
  const during = pulse.beats.filter(({ answeredAt }) => answeredAt > orderedAt);
  const failed = during.filter(({ status }) => status !== 201);
  tally.add('requests_during', during.length);
  tally.add('failed_during', failed.length);
  for (const { sentAt, answeredAt } of during) tally.time('request', answeredAt - sentAt);
  if (silence >= WAITED || failed.length === 0) return;
  const statuses = [...new Set(failed.map(({ status }) => status))].join(', ');
  tally.violate(where, [`${failed.length} of ${during.length} requests failed (${statuses}) but could have waited`]);
}

export async function run(setting: Setting, addressing: Addressing): Promise<Findings> {
  const tally = await Siege.layTo<Cluster>(setting, {
    start: (resources) => Cluster.start(resources, 'synchronous', addressing),
    nameOf: (number) => `switchover ${number}`,
    transfersBefore: 200,
    attack: switchOver,
  });
  return { figures: figuresOf(tally), violations: tally.violations };
}
