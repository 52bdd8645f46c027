import { type Addressing, Cluster } from '../../failovers/cluster.ts';
import { CLIENTS, Siege } from '../../failovers/siege.ts';
import { type Ledger, overLedgers } from '../../ledgers.ts';
import { type Findings, pause, type Row, type Setting, Tally } from '../../row.ts';

/** After each switchover the whole books are compared, so they must stay small. */
const SWITCHOVERS_OF_LEDGER = 10;

/** Acknowledged transfers before each, and the longest wait for them, in milliseconds. */
const BEFORE = 200;
const LONGEST_BEFORE = 8_000;

/** As long as nobody could be served for less than this, in milliseconds, every request had the time to wait. */
const WAITED = 3_000;

/** One switchover, up to a standby that follows the new primary. */
async function switchOver(siege: Siege<Cluster>, where: string): Promise<void> {
  const { cluster, tally } = siege;
  const pulse = siege.startLoad();
  try {
    await siege.untilLoaded(BEFORE, LONGEST_BEFORE);
    siege.beginInterruption();
    let orderedAt = 0;
    await cluster.switchOver(() => {
      orderedAt = performance.now();
    });
    const writing = await pulse.firstAfter(orderedAt);
    siege.endInterruption();
    if (writing === Number.POSITIVE_INFINITY) tally.violate(where, ['no transfer within 120 s']);
    await pause(500);
    const silence = pulse.longestSilence(orderedAt);
    tally.time('pause', silence);
    const during = pulse.beats.filter(({ answeredAt }) => answeredAt > orderedAt);
    const failed = during.filter(({ status }) => status !== 201);
    tally.add('requests_during', during.length);
    tally.add('failed_during', failed.length);
    for (const { sentAt, answeredAt } of during) tally.time('request', answeredAt - sentAt);
    if (silence < WAITED && failed.length > 0) {
      const statuses = [...new Set(failed.map(({ status }) => status))].join(', ');
      tally.violate(where, [
        `${failed.length} of ${during.length} requests failed (${statuses}) and could have waited`,
      ]);
    }
  } finally {
    await siege.load.pause();
    await pulse.stop();
  }
}

async function withstand(setting: Setting, siege: Siege<Cluster>, { done, attacks }: Ledger): Promise<void> {
  const { tally } = siege;
  for (let attack = 1; attack <= attacks && !tally.isEnough; attack += 1) {
    const where = `switchover ${done + attack}`;
    await switchOver(siege, where);
    await siege.check(where);
    setting.progress(done + attack, `${tally.count('violations')} violations`);
  }
  await siege.checkEnd(`after switchover ${done + attacks}`);
}

async function run(setting: Setting, addressing: Addressing): Promise<Findings> {
  const tally = new Tally();
  await overLedgers(setting, tally, SWITCHOVERS_OF_LEDGER, (ledger) =>
    Siege.run(
      setting,
      tally,
      ledger.number,
      (resources) => Cluster.start(resources, 'synchronous', addressing),
      (siege) => withstand(setting, siege, ledger),
    ),
  );
  return { figures: { clients: CLIENTS, processes: 2, ...tally.figures() }, violations: tally.violations };
}

/** A primary that is stopped in order, and replaced by its standby, under load. */
export const SWITCHOVER: Row = {
  name: 'switchover',
  unit: 'switchovers',
  counts: { small: 2, middle: 10, large: 30 },
  run: (setting) => run(setting, 'one_address'),
};

/** The same for services that know the addresses of both. */
export const SWITCHOVER_OF_HOSTS: Row = {
  ...SWITCHOVER,
  name: 'switchover-of-hosts',
  run: (setting) => run(setting, 'all_hosts'),
};
