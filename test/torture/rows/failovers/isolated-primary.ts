import { Cluster } from '../../failovers/cluster.ts';
import type { DatabaseNode } from '../../failovers/database-node.ts';
import { type Attack, figuresOf, Siege } from '../../failovers/siege.ts';
import { type Findings, pause, type Row, type Setting } from '../../row.ts';

/**
 * How long the primary is alone before its standby is promoted, in milliseconds. From five seconds on, the deadlines of
 * requests end while nobody else could have served them.
 */
const MAX_ALONE = 7_000;

/** How long open connections still lead to the old primary, in milliseconds. */
const MAX_LINGERING = 3_000;

/**
 * The primary is cut off from its standby and goes on; or it is suspended, and goes on when the standby has been promoted.
 */
const KINDS = ['cut_off', 'suspended'] as const;

/** Transfers that the old primary has and the new one does not: of requests that were not acknowledged. */
async function countLeftOn(old: DatabaseNode, primary: DatabaseNode): Promise<number> {
  // As an administrator ends those waits: the transfers are then visible, on this server only.
  await old.ask("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
  const idsOn = async (node: DatabaseNode): Promise<readonly string[]> => {
    const rows = await node.ask<{ id: string }>('select transfer_id::text as id from transfer');
    return rows.map(({ id }) => id);
  };
  const there = new Set(await idsOn(primary));
  return (await idsOn(old)).filter((id) => !there.has(id)).length;
}

/** One isolation, up to a standby that follows the new primary. */
async function isolate({ siege, pulse, number, where }: Attack<Cluster>): Promise<void> {
  const { cluster, random, tally } = siege;
  const kind = KINDS[number % KINDS.length] ?? 'cut_off';
  tally.add(kind);
  siege.beginInterruption();
  const old = cluster.primary;
  cluster.isolatePrimary();
  if (kind === 'suspended') await old.freeze();
  const aloneAt = performance.now();
  await pause(random() * MAX_ALONE);
  // What was confirmed just before it was alone may be acknowledged just after.
  const acknowledged = pulse.beats.filter(({ sentAt, status }) => status === 201 && sentAt > aloneAt);
  if (acknowledged.length > 0) tally.violate(where, [`${acknowledged.length} transfers were acknowledged by it alone`]);
  let promotedAt = 0;
  await cluster.promote(() => {
    promotedAt = performance.now();
  });
  await old.thaw();
  await pause(random() * MAX_LINGERING);
  cluster.cutEntrance();
  const milliseconds = await pulse.firstAfter(promotedAt);
  siege.endInterruption();
  if (milliseconds === Number.POSITIVE_INFINITY) tally.violate(where, ['no transfer within 120 s']);
  tally.time('writing_again', milliseconds);
  await pause(300);
  tally.add('left_on_the_old_primary', await countLeftOn(old, cluster.primary));
  await cluster.rebuild();
}

async function run(setting: Setting): Promise<Findings> {
  const replication = setting.isControl === true ? 'asynchronous' : 'synchronous';
  const tally = await Siege.layTo<Cluster>(setting, {
    start: (resources) => Cluster.start(resources, replication),
    nameOf: (number) => `isolation ${number}`,
    transfersBefore: 200,
    attack: isolate,
  });
  return { figures: { replication, ...figuresOf(tally) }, violations: tally.violations };
}

/** A primary that goes on alone while its standby is promoted. */
export const ISOLATED_PRIMARY: Row = {
  name: 'isolated-primary',
  unit: 'isolations',
  counts: { small: 2, middle: 6, large: 20 },
  hasOwnControl: true,
  run,
};
