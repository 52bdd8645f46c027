import { type Addressing, Cluster } from '../../failovers/cluster.ts';
import type { Direction } from '../../failovers/link.ts';
import { CLIENTS, Siege } from '../../failovers/siege.ts';
import { type Ledger, overLedgers } from '../../ledgers.ts';
import { boundOf, type Findings, pause, type Row, type Setting, Tally } from '../../row.ts';

/** After each failover the whole books are compared, so they must stay small. */
const FAILOVERS_OF_LEDGER = 10;

/** Acknowledged transfers between two failovers, and the longest wait for them, in milliseconds. */
const BETWEEN = 300;
const LONGEST_BETWEEN = 8_000;

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
async function failOver(siege: Siege<Cluster>, withheld: Direction | undefined): Promise<void> {
  const { cluster, random, tally } = siege;
  const pulse = siege.startLoad();
  try {
    await siege.untilLoaded(BETWEEN, LONGEST_BETWEEN);
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
    const milliseconds = await pulse.firstAfter(promotedAt);
    siege.endInterruption();
    if (milliseconds === Number.POSITIVE_INFINITY) tally.violate('recovery', ['no transfer within 120 s']);
    tally.time('writing_again', milliseconds);
    await Promise.all([cluster.rebuild(), pause(300 + random() * 500)]);
    tally.time('pause', pulse.longestSilence(lostAt));
  } finally {
    await siege.load.pause();
    await pulse.stop();
  }
}

async function withstand(setting: Setting, siege: Siege<Cluster>, { done, attacks }: Ledger): Promise<void> {
  const { tally } = siege;
  for (let attack = 1; attack <= attacks && tally.violations.length === 0; attack += 1) {
    const next = HINDRANCES[(done + attack) % HINDRANCES.length];
    const withheld = setting.isControl === true ? 'from_server' : next;
    tally.add(`withheld_${withheld ?? 'nothing'}`);
    await failOver(siege, withheld);
    await siege.check(`failover ${done + attack}`);
    tally.add('failovers');
    setting.progress(done + attack, `${tally.count('violations')} violations`);
  }
  await siege.checkEnd(`after failover ${done + attacks}`);
}

async function run(setting: Setting, addressing: Addressing): Promise<Findings> {
  const tally = new Tally();
  // Without synchronous replication acknowledged transfers must be lost: otherwise this row proves nothing.
  const replication = setting.isControl === true ? 'asynchronous' : 'synchronous';
  await overLedgers(setting, tally, FAILOVERS_OF_LEDGER, (ledger) =>
    Siege.run(
      setting,
      tally,
      ledger.number,
      (resources) => Cluster.start(resources, replication, addressing),
      (siege) => withstand(setting, siege, ledger),
    ),
  );
  const [{ p99 }, most] = [tally.spread('writing_again'), boundOf(setting, WRITING_AGAIN)];
  if (p99 > most) tally.violate('times', [`p99 of writing again is ${p99} ms, and ${most} ms are the most`]);
  return { figures: { replication, clients: CLIENTS, processes: 2, ...tally.figures() }, violations: tally.violations };
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
