import { boundOf, type Findings, pause, type Setting } from '../../campaign.ts';
import { type Addressing, Cluster } from '../../environments/cluster/cluster.ts';
import { type Attack, figuresOf, Siege, untilWriting } from '../../environments/cluster/siege.ts';
import type { Direction } from '../../nemeses/link.ts';

/** The longest time from the loss of the primary to the promotion, in milliseconds. */
const MAX_LEADERLESS = 500;

/** The maximum p99 of the time from the promotion to the first acknowledged transfer, in milliseconds. */
const WRITING_AGAIN = 3_000;

/**
 * The direction that the link withholds before the loss: the primary's data, the standby's confirmations, or none. With
 * asynchronous replication, only withheld data loses transfers.
 */
const HINDRANCES: readonly (Direction | undefined)[] = ['from_server', 'from_clients', undefined];

/** Kills the primary, promotes the standby, and waits until a new standby follows. */
async function failOver(attack: Attack<Cluster>, withheld: Direction | undefined): Promise<void> {
  const { siege, pulse } = attack;
  const { cluster, random, tally } = siege;
  tally.add(`withheld_${withheld ?? 'nothing'}`);
  if (withheld !== undefined) {
    cluster.link.withhold(withheld);
    await pause(50 + random() * 700);
  }
  siege.beginInterruption();
  const lostAt = performance.now();
  await cluster.killPrimary();
  await pause(random() * MAX_LEADERLESS);
  let promotedAt = 0;
  await cluster.promote(() => {
    promotedAt = performance.now();
  });
  tally.time('writing_again', await untilWriting(promotedAt, attack));
  await Promise.all([cluster.rebuild(), pause(300 + random() * 500)]);
  tally.time('pause', pulse.longestSilence(lostAt));
  tally.add('failovers');
}

export async function run(setting: Setting, addressing: Addressing): Promise<Findings> {
  // The negative control: this must lose acknowledged transfers. Otherwise the row proves nothing.
  const replication = setting.isControl === true ? 'asynchronous' : 'synchronous';
  const tally = await Siege.layTo<Cluster>(setting, {
    start: (resources) => Cluster.start(resources, replication, addressing),
    nameOf: (number) => `failover ${number}`,
    transfersBefore: 300,
    attack: (attack) => {
      const next = HINDRANCES[attack.number % HINDRANCES.length];
      return failOver(attack, setting.isControl === true ? 'from_server' : next);
    },
  });
  const [{ p99 }, most] = [tally.spread('writing_again'), boundOf(setting, WRITING_AGAIN)];
  if (p99 > most) tally.violate('times', [`p99 until the first transfer is ${p99} ms, the maximum is ${most} ms`]);
  return { figures: { replication, ...figuresOf(tally) }, violations: tally.violations };
}
