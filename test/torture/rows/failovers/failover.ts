import { type Addressing, Cluster } from '../../failovers/cluster.ts';
import type { Direction } from '../../failovers/link.ts';
import { type Attack, figuresOf, Siege, untilWriting } from '../../failovers/siege.ts';
import { boundOf, type Findings, pause, type Row, type Setting } from '../../row.ts';

/** The longest time from the loss of the primary to the order to promote, in milliseconds. */
const MAX_LEADERLESS = 500;

/** The maximum p99 from the order to promote to the first acknowledged transfer, in milliseconds. */
const WRITING_AGAIN = 3_000;

/**
 * What the link withholds before the loss: what the primary sends, what the standby confirms, or nothing. With asynchronous
 * replication only the first loses anything.
 */
const HINDRANCES: readonly (Direction | undefined)[] = ['from_server', 'from_clients', undefined];

/** One loss of the primary, up to a standby that follows the new one. */
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

async function run(setting: Setting, addressing: Addressing): Promise<Findings> {
  // Without synchronous replication acknowledged transfers must be lost: otherwise this row proves nothing.
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
  if (p99 > most) tally.violate('times', [`p99 of writing again is ${p99} ms, and ${most} ms are the most`]);
  return { figures: { replication, ...figuresOf(tally) }, violations: tally.violations };
}

/** Loss of the whole primary under load, and promotion of its synchronous standby. */
export const FAILOVER: Row = {
  name: 'failover',
  unit: 'failovers',
  counts: { small: 5, middle: 30, large: 100 },
  hasOwnControl: true,
  run: (setting) => run(setting, 'one_address'),
};

/** The same for services that know the addresses of both. */
export const FAILOVER_OF_HOSTS: Row = {
  ...FAILOVER,
  name: 'failover-of-hosts',
  run: (setting) => run(setting, 'all_hosts'),
};
