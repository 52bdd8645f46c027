import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../figures.ts';
import { examineBooks } from '../ledger/books.ts';
import { createLedger, dropLedger, type Ledger, serve } from '../ledger/ledger.ts';
import { createOperatorKey, type DatabaseServer, databaseUrl } from '../ledger/server.ts';
import { runGenerator } from '../load/run-generator.ts';
import { interleave } from '../rounds/interleave.ts';
import type { Stage } from '../stage.ts';
import { createWebhooks } from './create-webhooks.ts';
import { type Received, type Receiver, startReceiver } from './run-receiver.ts';

export const DELIVERIES_PER_SECOND = 500;

/** Webhooks that never succeed. Half of them get no response, the others no connection. */
export const DEAD = 100;

/** A port where nothing listens. */
const REFUSING = 'http://127.0.0.1:9';

/** Enough for the rate when each request takes a while. */
const CONNECTIONS = 64;

/** The time limit for delivering everything that was committed before and during the measurement, in milliseconds. */
const DRAINED_WITHIN_MILLISECONDS = 30_000;

/** Long enough to notice a black hole: a time-out takes 15 seconds. */
const MIN_SECONDS = 20;

type Variant = 'with the dead' | 'without';

/** Deliveries to healthy webhooks in each round, with and without a hundred dead ones next to them. */
export type IsolationFigures = {
  readonly webhooks: number;
  readonly rounds: Readonly<Record<Variant, readonly Received[]>>;
  /** The median of the ratios between the 99th percentiles with and without the dead webhooks, and the ratios. */
  readonly ratio: number;
  readonly ratios: readonly number[];
};

/**
 * Sends transfers at a constant rate to a thousand card programs with one webhook each. In one half of each round, a
 * hundred of the webhooks are dead. In the other half, those hundred do not exist. Throws if an event is not delivered.
 */
export async function measureIsolation(stage: Stage): Promise<IsolationFigures> {
  const { options, seed } = stage;
  const rounds = await interleave(options.rounds, ['with the dead', 'without'] as const, async (variant, round) => {
    const received = await runVariant(stage, variant);
    const { p50, p99, maximum } = received.lagMilliseconds;
    stage.say(
      `  round ${round + 1}  ${variant.padEnd(13)} ${received.count} events, p50 ${p50} ms, p99 ${p99} ms, at most ${maximum} ms`,
    );
    return received;
  });
  const ratios = rounds['with the dead'].map(
    ({ lagMilliseconds }, round) => lagMilliseconds.p99 / (rounds.without[round]?.lagMilliseconds.p99 ?? Number.NaN),
  );
  return { webhooks: seed.spread.length, rounds, ratio: median(ratios), ratios };
}

async function runVariant(stage: Stage, variant: Variant): Promise<Received> {
  const { resources, options, server, seed } = stage;
  const ledger = await createLedger(stage);
  const key = await createOperatorKey(resources, databaseUrl(server, ledger.database));
  const service = await serve(stage, ledger);
  const receiver = await startReceiver(resources);
  const hasDead = variant === 'with the dead';
  const healthy = seed.spread.slice(DEAD);
  const dead = hasDead ? seed.spread.slice(0, DEAD) : [];
  await createWebhooks({ url: service.traffic.url, key }, [
    ...healthy.map(({ programId }, index) => ({ program_id: programId, url: `${receiver.url}/${index}` })),
    ...dead.map(({ programId }, index) => ({
      program_id: programId,
      url: index % 2 === 0 ? `${receiver.url}/black-hole/${index}` : `${REFUSING}/${index}`,
    })),
  ]);
  const programIds = healthy.map(({ programId }) => programId);
  const send = async (seconds: number): Promise<Received> => {
    const { succeeded, failed, firstFailure } = await runGenerator(resources, {
      ...service.traffic,
      keys: seed.spread.map((program) => program.key),
      cards: 1,
      mode: 'open',
      rate: (DELIVERIES_PER_SECOND * seed.spread.length) / healthy.length,
      connections: CONNECTIONS,
      seconds,
      send: { kind: 'transfers' },
    });
    if (failed > 0) throw new Error(`${failed} requests failed. The first: ${firstFailure}`);
    ledger.acknowledged += succeeded;
    return untilDelivered(server, ledger, receiver, programIds);
  };
  await send(options.warmUpSeconds);
  const received = await send(Math.max(MIN_SECONDS, options.seconds));
  if (hasDead && received.blackHoled === 0) throw new Error('nothing was sent to the black holes');
  await service.stop();
  await receiver.stop();
  await examineBooks(server, ledger.database, ledger.acknowledged);
  await dropLedger(stage, ledger);
  return received;
}

/** Waits until the healthy webhooks have every event of their programs exactly once. */
async function untilDelivered(
  server: DatabaseServer,
  { database }: Ledger,
  receiver: Receiver,
  programIds: readonly string[],
): Promise<Received> {
  const ids = programIds.map((id) => id.slice('prog_'.length));
  const text = `select count(*)::integer as count from event
    where type = 'transfer.completed' and program_id = any ($1::text[]::uuid[])`;
  const { rows } = await server.query(database, text, [ids]);
  const events = rows[0]?.count as number;
  const begun = performance.now();
  for (let found = await receiver.look(); found.distinct < events; found = await receiver.look()) {
    if (performance.now() - begun > DRAINED_WITHIN_MILLISECONDS)
      throw new Error(`${events - found.distinct} of ${events} events were not delivered`);
    await sleep(100);
  }
  const received = await receiver.take();
  if (received.repeats > 0) throw new Error(`${received.repeats} events were delivered twice`);
  return received;
}
