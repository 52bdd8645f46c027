import { runGenerator } from '../load/run-generator.ts';
import type { Traffic } from '../load/traffic.ts';
import { MANY_CONNECTIONS, measure, measureTransfers, type Run, warmUp, withCheckpoint } from '../measure.ts';
import { measurePgbench, type Scale } from '../pgbench.ts';
import type { Stage } from '../stage.ts';
import { besideWebhook } from './beside-webhook.ts';
import type { Round, ServiceOnLedger } from './round.ts';

/** Rows of one call, the maximum of a batch. */
export const BATCH_ROWS = 1000;

/** Simultaneous callers that send batches. One waits for its response while the rows of the other are committed. */
export const BATCH_CALLERS = 2;

/** Connections for the row with fewer callers. */
export const FEWER_CONNECTIONS = 64;

/** The longer of the two distances, in milliseconds. */
export const FAR_MILLISECONDS = 5;

/** The workloads. Each runs twice in every round (see `interleave`). */
export type WorkloadName =
  /** Single transfers over 256 connections from one hot funding account, everything on. */
  | 'hot'
  /** The same over 64 connections. */
  | 'fewer'
  /** The same in a program without limits, to cards without limits. */
  | 'unlimited'
  /** The same in a thousand programs with one card and one key each. */
  | 'spread'
  /** The same as `hot` while a webhook gets 1,000 events a second. */
  | 'delivering'
  /** One connection. */
  | 'lone'
  /** Requests at a constant rate, half of what `hot` reached. */
  | 'half'
  /** Batches of a thousand rows. */
  | 'batch'
  /** The same as `hot` on the distribution's PostgreSQL 15. */
  | 'own'
  /** The same as `hot`, with PostgreSQL at a distance: the time of a round trip. */
  | '1 ms away'
  | '5 ms away'
  /** One connection at the distance. */
  | 'lone, 5 ms away'
  /** TPC-B with one hot row at the distance. */
  | 'pgbench 5 ms away'
  /** One client of pgbench. */
  | 'pgbench lone'
  /** TPC-B at a scale and a number of clients. */
  | `pgbench ${Scale}, ${number}`;

/** The rate that `hot` reached last. */
export type Memory = { hotRate: number };

/** Seconds of warm-up for a workload whose service is already warm. */
const SHORT_WARM_UP = 1;

export async function runWorkload(stage: Stage, round: Round, name: WorkloadName, memory: Memory): Promise<Run> {
  if (name === 'pgbench lone') return measurePgbench(stage, 100, 1, { withMedian: true });
  if (name === 'pgbench 5 ms away') {
    // More clients would only wait longer for the row.
    return measurePgbench({ ...stage, server: await round.distantServer(FAR_MILLISECONDS) }, 1, 16);
  }
  if (name.startsWith('pgbench')) {
    const [scale = 0, clients = 0] = name.match(/[0-9]+/g)?.map(Number) ?? [];
    return measurePgbench(stage, scale === 1 ? 1 : 100, clients);
  }
  const target = await targetOf(round, name);
  const run = await runOnService(target, name, memory);
  if (name === 'hot') memory.hotRate = run.rate;
  return run;
}

function targetOf(round: Round, name: WorkloadName): Promise<ServiceOnLedger> {
  if (name === 'own') return round.own();
  if (name === '1 ms away') return round.distant(1);
  return name.endsWith('5 ms away') ? round.distant(FAR_MILLISECONDS) : round.embedded();
}

async function runOnService(target: ServiceOnLedger, name: WorkloadName, memory: Memory): Promise<Run> {
  const { stage, service } = target;
  const { unlimited, spread } = stage.seed;
  const { traffic } = service;
  switch (name) {
    case 'fewer':
      return closedLoop(target, traffic, FEWER_CONNECTIONS);
    case 'delivering':
      return deliverBeside(target);
    case 'lone':
    case 'lone, 5 ms away':
      return closedLoop(target, traffic, 1);
    case 'unlimited':
      return closedLoop(target, { ...traffic, keys: [unlimited?.key ?? ''] }, MANY_CONNECTIONS);
    case 'spread':
      return closedLoop(target, { ...traffic, keys: spread.map(({ key }) => key), cards: 1 }, MANY_CONNECTIONS);
    case 'batch':
      return sendBatches(target);
    case 'half':
      return sendAtHalfTheRate(target, memory);
    default:
      return measureTransfers(stage, target, traffic, MANY_CONNECTIONS);
  }
}

function deliverBeside(target: ServiceOnLedger): Promise<Run> {
  const { stage, service, ledger } = target;
  return besideWebhook(
    target,
    () => warmUp(stage, ledger, service.traffic, MANY_CONNECTIONS, SHORT_WARM_UP),
    () => measureTransfers(stage, target, service.traffic, MANY_CONNECTIONS),
  );
}

async function closedLoop(target: ServiceOnLedger, traffic: Traffic, connections: number): Promise<Run> {
  await warmUp(target.stage, target.ledger, traffic, connections, SHORT_WARM_UP);
  return measureTransfers(target.stage, target, traffic, connections);
}

async function sendBatches(target: ServiceOnLedger): Promise<Run> {
  const { stage, service, ledger } = target;
  const { resources, options } = stage;
  const send = (seconds: number) =>
    runGenerator(resources, {
      ...service.traffic,
      mode: 'closed',
      connections: BATCH_CALLERS,
      seconds,
      send: { kind: 'batches', rows: BATCH_ROWS },
    });
  ledger.acknowledged += (await send(SHORT_WARM_UP)).succeeded;
  return measure(stage, target, () => withCheckpoint(stage, options.seconds, () => send(options.seconds)));
}

/** Measures the maximum rate first if no workload has measured it yet. */
async function sendAtHalfTheRate(target: ServiceOnLedger, memory: Memory): Promise<Run> {
  const { stage, service } = target;
  const { resources, options } = stage;
  const { seconds } = options;
  if (memory.hotRate === 0) memory.hotRate = (await closedLoop(target, service.traffic, MANY_CONNECTIONS)).rate;
  const plan = {
    ...service.traffic,
    mode: 'open',
    rate: memory.hotRate / 2,
    connections: MANY_CONNECTIONS,
    seconds,
    send: { kind: 'transfers' },
  } as const;
  return measure(stage, target, () => withCheckpoint(stage, seconds, () => runGenerator(resources, plan)));
}
