import { type Findings, pause, type Setting } from '../../campaign.ts';
import { Cluster } from '../../environments/cluster/cluster.ts';
import type { DatabaseNode } from '../../environments/cluster/database-node.ts';
import { type Attack, figuresOf, requireNoneSince, Siege, untilWriting } from '../../environments/cluster/siege.ts';

/**
 * The longest time that the primary is hidden, or alone before the promotion of its standby, in milliseconds. After five
 * seconds, requests reach their deadlines while there is no other primary.
 */
const MAX_ALONE = 7_000;

/** The longest time that open connections still lead to the old primary, in milliseconds. */
const MAX_LINGERING = 3_000;

/**
 * `cut_off`: the primary is cut off from its standby and continues. `suspended`: it is also suspended, and continues after the
 * promotion of the standby. `hidden`: only the services cannot reach it, and the standby is not promoted.
 */
const KINDS = ['cut_off', 'suspended', 'hidden'] as const;

/** Leaves out `hidden`, because nothing can be lost without a promotion. */
const KINDS_OF_CONTROL = ['cut_off', 'suspended'] as const;

/** Counts the transfers, all unacknowledged, that only the old primary has. */
async function countLeftOn(old: DatabaseNode, primary: DatabaseNode): Promise<number> {
  // Ends the waits for the standby, as an administrator would. The transfers then become visible on this server only.
  await old.ask("select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'");
  const idsOn = async (node: DatabaseNode): Promise<readonly string[]> => {
    const rows = await node.ask<{ id: string }>('select transfer_id::text as id from transfer');
    return rows.map(({ id }) => id);
  };
  const there = new Set(await idsOn(primary));
  return (await idsOn(old)).filter((id) => !there.has(id)).length;
}

/** Hides the primary from the services for a while. Their requests arrive afterwards. */
async function hide(attack: Attack<Cluster>): Promise<void> {
  const { cluster, random, tally } = attack.siege;
  cluster.hidePrimary();
  const hiddenAt = performance.now();
  await pause(random() * MAX_ALONE);
  requireNoneSince(hiddenAt, attack, 'while services could not reach the primary');
  cluster.showPrimary();
  tally.time('writing_again', await untilWriting(performance.now(), attack));
}

/** Promotes the standby while the primary is alone, and makes the old primary the new standby. */
async function replace(attack: Attack<Cluster>, kind: 'cut_off' | 'suspended'): Promise<void> {
  const { cluster, random, tally } = attack.siege;
  const old = cluster.primary;
  cluster.isolatePrimary();
  if (kind === 'suspended') await old.freeze();
  const aloneAt = performance.now();
  await pause(random() * MAX_ALONE);
  // Transfers that were sent before the isolation may be acknowledged just after it.
  requireNoneSince(aloneAt, attack, 'by the primary alone');
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

export async function run(setting: Setting): Promise<Findings> {
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
