import { Cluster } from '../../failovers/cluster.ts';
import type { DatabaseNode } from '../../failovers/database-node.ts';
import { type Attack, figuresOf, requireNoneSince, Siege, untilWriting } from '../../failovers/siege.ts';
import { type Findings, pause, type Row, type Setting } from '../../row.ts';

/**
 * How long the primary is alone before its standby is promoted, or hidden, in milliseconds. From five seconds on, the deadlines of
 * requests end while nobody else could have served them.
 */
const MAX_ALONE = 7_000;

/** How long open connections still lead to the old primary, in milliseconds. */
const MAX_LINGERING = 3_000;

/**
 * The primary is cut off from its standby and goes on; or it is suspended, and goes on when the standby has been promoted; or
 * only the services cannot reach it, so nobody promotes the standby.
 */
const KINDS = ['cut_off', 'suspended', 'hidden'] as const;

/** Without a promotion nothing can be lost, so the control leaves it out. */
const KINDS_OF_CONTROL = ['cut_off', 'suspended'] as const;

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

/** One time in which services do not reach the primary. What they have sent arrives afterwards. */
async function hide(attack: Attack<Cluster>): Promise<void> {
  const { cluster, random, tally } = attack.siege;
  cluster.hidePrimary();
  const hiddenAt = performance.now();
  await pause(random() * MAX_ALONE);
  requireNoneSince(hiddenAt, attack, 'by services that did not reach it');
  cluster.showPrimary();
  tally.time('writing_again', await untilWriting(performance.now(), attack));
}

/** One promotion while the primary is alone, up to a standby that follows the new one. */
async function replace(attack: Attack<Cluster>, kind: 'cut_off' | 'suspended'): Promise<void> {
  const { cluster, random, tally } = attack.siege;
  const old = cluster.primary;
  cluster.isolatePrimary();
  if (kind === 'suspended') await old.freeze();
  const aloneAt = performance.now();
  await pause(random() * MAX_ALONE);
  // What was confirmed just before it was alone may be acknowledged just after.
  requireNoneSince(aloneAt, attack, 'by it alone');
  let promotedAt = 0;
  await cluster.promote(() => {
    promotedAt = performance.now();
  });
  await old.thaw();
  await pause(random() * MAX_LINGERING);
  cluster.cutEntrance();
  tally.time('writing_again', await untilWriting(promotedAt, attack));
  await pause(300);
  tally.add('left_on_the_old_primary', await countLeftOn(old, cluster.primary));
  await cluster.rebuild();
}

async function run(setting: Setting): Promise<Findings> {
  const isControl = setting.isControl === true;
  const replication = isControl ? 'asynchronous' : 'synchronous';
  const kinds = isControl ? KINDS_OF_CONTROL : KINDS;
  const tally = await Siege.layTo<Cluster>(setting, {
    start: (resources) => Cluster.start(resources, replication),
    nameOf: (number) => `isolation ${number}`,
    transfersBefore: 200,
    attack: async (attack) => {
      const kind = kinds[attack.number % kinds.length] ?? 'cut_off';
      attack.siege.tally.add(kind);
      attack.siege.beginInterruption();
      await (kind === 'hidden' ? hide(attack) : replace(attack, kind));
    },
  });
  return { figures: { replication, ...figuresOf(tally) }, violations: tally.violations };
}

/** A primary that goes on alone while its standby is promoted, or that services do not reach. */
export const ISOLATED_PRIMARY: Row = {
  name: 'isolated-primary',
  unit: 'isolations',
  counts: { small: 3, middle: 6, large: 20 },
  hasOwnControl: true,
  run,
};
