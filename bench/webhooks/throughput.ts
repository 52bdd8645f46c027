import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../figures.ts';
import { examineBooks } from '../ledger/books.ts';
import { createLedger, dropLedger, serve } from '../ledger/ledger.ts';
import { createOperatorKey, databaseUrl } from '../ledger/server.ts';
import { runGenerator } from '../load/run-generator.ts';
import { MANY_CONNECTIONS, readCosts } from '../measure.ts';
import { interleave } from '../rounds/interleave.ts';
import type { Stage } from '../stage.ts';
import { createWebhooks } from './create-webhooks.ts';
import { makeCertificate, startReceiver } from './run-receiver.ts';

/** The maximum number of webhooks of a card program. */
export const WEBHOOKS = 20;

/** More deliveries per second than any run reaches, so that enough events are waiting. */
const ENOUGH_PER_SECOND = 8_000;

type Protocol = 'plain' | 'TLS';

export type Throughput = {
  readonly ratePerSecond: number;
  /** CPU of a delivery. */
  readonly serviceMicroseconds: number;
  readonly postgresMicroseconds: number;
};

/** The runs of each round, and the median rates. */
export type ThroughputFigures = {
  readonly runs: Readonly<Record<Protocol, readonly Throughput[]>>;
  readonly plainPerSecond: number;
  readonly tlsPerSecond: number;
};

/** Measures how fast a service delivers waiting events to twenty webhooks of a card program, over HTTP and over HTTPS. */
export async function measureThroughput(stage: Stage): Promise<ThroughputFigures> {
  const runs = await interleave(stage.options.rounds, ['plain', 'TLS'] as const, async (protocol, round) => {
    const run = await deliverWaiting(stage, protocol);
    const { ratePerSecond, serviceMicroseconds, postgresMicroseconds } = run;
    const cpu = `CPU ${Math.round(serviceMicroseconds)} + ${Math.round(postgresMicroseconds)} us`;
    stage.say(`  round ${round + 1}  ${protocol.padEnd(5)} ${Math.round(ratePerSecond)} deliveries/s, ${cpu}`);
    return run;
  });
  const rateOf = (protocol: Protocol) => median(runs[protocol].map(({ ratePerSecond }) => ratePerSecond));
  return { runs, plainPerSecond: rateOf('plain'), tlsPerSecond: rateOf('TLS') };
}

async function deliverWaiting(stage: Stage, protocol: Protocol): Promise<Throughput> {
  const { resources, options, server, seed } = stage;
  const certificate = protocol === 'TLS' ? makeCertificate(server.directory) : undefined;
  const ledger = await createLedger(stage);
  const key = await createOperatorKey(resources, databaseUrl(server, ledger.database));
  const settings = certificate === undefined ? {} : { WEBHOOK_CA: certificate.certificateFile };
  const service = await serve(stage, ledger, settings);
  const receiver = await startReceiver(resources, certificate);
  const { url } = service.traffic;
  const events = Math.ceil((ENOUGH_PER_SECOND * (options.warmUpSeconds + options.seconds)) / WEBHOOKS);
  const load = { ...service.traffic, mode: 'closed', connections: MANY_CONNECTIONS } as const;
  const made = await runGenerator(resources, { ...load, count: events, send: { kind: 'transfers' } });
  if (made.failed > 0) throw new Error(`${made.failed} requests failed. The first: ${made.firstFailure}`);
  ledger.acknowledged += made.succeeded;
  const paths = Array.from({ length: WEBHOOKS }, (_, index) => `${receiver.url}/${index}`);
  const program_id = seed.hot.programId;
  await createWebhooks(
    { url, key },
    paths.map((path) => ({ program_id, url: path, after: 0 })),
  );
  await sleep(options.warmUpSeconds * 1000);
  await receiver.take();
  const before = await readCosts(server, service.processId);
  const begun = performance.now();
  await sleep(options.seconds * 1000);
  const { count, repeats } = await receiver.take();
  const elapsedSeconds = (performance.now() - begun) / 1000;
  const after = await readCosts(server, service.processId);
  await service.stop();
  await receiver.stop();
  if (repeats > 0) throw new Error(`${repeats} events were delivered twice`);
  await examineBooks(server, ledger.database, ledger.acknowledged);
  await dropLedger(stage, ledger);
  return {
    ratePerSecond: count / elapsedSeconds,
    serviceMicroseconds: ((after.serviceMilliseconds - before.serviceMilliseconds) * 1000) / count,
    postgresMicroseconds: ((after.postgresMilliseconds - before.postgresMilliseconds) * 1000) / count,
  };
}
