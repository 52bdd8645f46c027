import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { examineBooks } from './ledger/books.ts';
import { createLedger, dropLedger, serve } from './ledger/ledger.ts';
import { MANY_CONNECTIONS, measureTransfers, type Run, warmUp } from './measure.ts';
import type { Resources } from './resources.ts';
import { interleave } from './rounds/interleave.ts';
import { describe } from './rounds/run-rounds.ts';
import type { Stage } from './stage.ts';

/** How a service is observed: without metrics, with metrics, or also with a log of every request and traces. */
export const OBSERVATIONS = ['off', 'metrics', 'everything'] as const;

/** One of {@link OBSERVATIONS}. */
export type Observation = (typeof OBSERVATIONS)[number];

export type ObservationRuns = Readonly<Record<Observation, readonly Run[]>>;

/** A difference of one percent is smaller than the noise between two runs of the same service. Only several rounds show it. */
const ROUNDS = 5;
const QUICK_ROUNDS = 1;

/** Scrapes more often than Prometheus does, because runs are short. */
const SCRAPE_MILLISECONDS = 5_000;

const METRICS = { METRICS_PORT: '0' } as const;

/**
 * Measures the cost of observation. Each run has a new process on a new ledger. A round runs the three kinds one after the other,
 * then once more in reverse.
 */
export async function measureObservation(stage: Stage): Promise<ObservationRuns> {
  const collector = await startCollector(stage.resources);
  const settings: Readonly<Record<Observation, Readonly<Record<string, string>>>> = {
    off: {},
    metrics: METRICS,
    everything: { ...METRICS, REQUEST_LOG: 'all', OTEL_EXPORTER_OTLP_ENDPOINT: collector },
  };
  const rounds = stage.options.quick ? QUICK_ROUNDS : ROUNDS;
  return interleave(rounds, OBSERVATIONS, async (name, round) => {
    const run = await measureOne(stage, settings[name]);
    stage.say(`  round ${round + 1}  ${name.padEnd(16)} ${describe(run)}`);
    return run;
  });
}

async function measureOne(stage: Stage, settings: Readonly<Record<string, string>>): Promise<Run> {
  const ledger = await createLedger(stage);
  const service = await serve(stage, ledger, settings);
  const scrapes = scrape(service.metricsUrl);
  try {
    await warmUp(stage, ledger, service.traffic, MANY_CONNECTIONS);
    return await measureTransfers(stage, { ledger, service }, service.traffic, MANY_CONNECTIONS);
  } finally {
    await scrapes.stop();
    await service.stop();
    await examineBooks(stage.server, ledger.database, ledger.acknowledged);
    await dropLedger(stage, ledger);
  }
}

function scrape(url: string | undefined): { readonly stop: () => Promise<void> } {
  let last: Promise<unknown> = Promise.resolve();
  const read = async (from: string): Promise<void> => {
    const text = await (await fetch(from)).text();
    if (!text.includes('transfer_service_requests_total')) throw new Error('the metrics page is not complete');
  };
  const timer =
    url === undefined
      ? undefined
      : setInterval(() => {
          last = read(url);
        }, SCRAPE_MILLISECONDS);
  return {
    stop: async () => {
      clearInterval(timer);
      await last;
    },
  };
}

async function startCollector(resources: Resources): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  resources.add('the collector of traces', async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
