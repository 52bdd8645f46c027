import { CITUS_BINARIES } from '../../../test/harness/postgres/stock-postgres.ts';
import { boundOf, type Campaign, type Findings, pause, type Setting } from '../../campaign.ts';
import { PlaceCluster } from '../../environments/cluster/place-cluster.ts';
import { type Attack, figuresOf, Siege, untilWriting } from '../../environments/cluster/siege.ts';
import { copyWithMistake } from '../../mutants/copy.ts';

type PlaceAttack = Attack<PlaceCluster>;

/** The maximum p99 of the pause without transfers around the end of a move, in milliseconds. */
const PAUSE = 2_000;

/** The downtime of the coordinator, in milliseconds. */
const AWAY = 2_000;

/** The number of false errors from COMMIT per attack, and the longest time between two, in milliseconds. */
const DENIALS = 10;
const BETWEEN_DENIALS = 40;

/** The longest wait for the next COMMIT, in milliseconds. */
const LONGEST_DENIAL = 60_000;

/** The mutant of the negative control: a service that takes an error from COMMIT for a rollback. */
const BELIEVER = 'error-at-commit-believed';

async function move(attack: PlaceAttack): Promise<void> {
  const { siege, pulse } = attack;
  const from = performance.now();
  siege.beginInterruption();
  await siege.cluster.move();
  const movedAt = performance.now();
  siege.tally.time('move', movedAt - from);
  await untilWriting(movedAt, attack);
  await pause(500);
  siege.tally.time('pause', pulse.longestSilence(from));
}

/** Kills the worker that has the tables. It restarts automatically. */
async function killWorker(attack: PlaceAttack): Promise<void> {
  const { siege } = attack;
  siege.beginInterruption();
  await siege.cluster.killWorker();
  const killedAt = performance.now();
  siege.tally.time('writing_again', await untilWriting(killedAt, attack));
}

/** Ends the coordinator for a while. Transfers must continue. */
async function killCoordinator({ siege, pulse, where }: PlaceAttack): Promise<void> {
  const { cluster, tally } = siege;
  await cluster.killCoordinator();
  const goneAt = performance.now();
  await pause(AWAY);
  const during = pulse.beats.filter(({ sentAt, answeredAt }) => sentAt > goneAt && answeredAt < goneAt + AWAY);
  tally.add('acknowledged_without_coordinator', during.filter(({ status }) => status === 201).length);
  await cluster.resumeCoordinator();
  if (during.every(({ status }) => status !== 201))
    tally.violate(where, ['no transfer was acknowledged without the coordinator']);
}

/** Turns successful responses to COMMIT into errors. */
async function denyCommits(attack: PlaceAttack): Promise<void> {
  const { siege, where } = attack;
  const { proxy } = siege.cluster;
  siege.beginInterruption();
  for (let denial = 0; denial < DENIALS; denial += 1) {
    proxy.faults.push('deny_after');
    const laidAt = performance.now();
    while (proxy.faults.length > 0 && performance.now() - laidAt < LONGEST_DENIAL) await pause(1);
    if (proxy.faults.length > 0) return siege.tally.violate(where, ['no COMMIT arrived in time']);
    siege.tally.add('denials');
    await pause(siege.random() * BETWEEN_DENIALS);
  }
  await untilWriting(performance.now(), attack);
}

function campaignOf(
  name: string,
  attack: (attack: PlaceAttack) => Promise<void>,
  bound?: (setting: Setting, findings: { readonly p99: number }) => string | undefined,
): Campaign['run'] {
  return async (setting: Setting): Promise<Findings> => {
    const binaries = CITUS_BINARIES;
    if (binaries === undefined) {
      const notRun = 'TEST_CITUS_BIN must name a PostgreSQL with Citus (tools/verify/citus.ts builds one)';
      return { figures: {}, violations: [], notRun };
    }
    const { isControl, resources } = setting;
    const main = isControl === true ? await copyWithMistake(resources, BELIEVER) : setting.main;
    const tally = await Siege.layTo<PlaceCluster>(
      { ...setting, main },
      {
        start: (resources) => PlaceCluster.start(resources, binaries),
        nameOf: (number) => `${name} ${number}`,
        transfersBefore: 200,
        attack,
      },
    );
    const problem = bound?.(setting, tally.spread('pause'));
    if (problem !== undefined) tally.violate('times', [problem]);
    return { figures: figuresOf(tally), violations: tally.violations };
  };
}

/** Moves a ledger in a Citus cluster to another worker, under load. */
export const PLACE_MOVES = campaignOf('place-moves', move, (setting, { p99 }) => {
  const most = boundOf(setting, PAUSE);
  return p99 > most ? `p99 of the pause is ${p99} ms, the maximum is ${most} ms` : undefined;
});

/** Kills the worker that has the tables with SIGKILL, under load. */
export const PLACE_WORKERS = campaignOf('place-workers', killWorker);

/** Ends the coordinator with SIGQUIT. Transfers must continue. */
export const PLACE_COORDINATORS = campaignOf('place-coordinators', killCoordinator);

/** Turns responses to COMMIT into errors, like those of Citus after the loss of a node. */
export const PLACE_DENIALS = campaignOf('place-denials', denyCommits);
