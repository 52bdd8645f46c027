import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Resources } from '../../bench/resources.ts';

/** Settings for every process that sends webhooks to a receiver on this machine. */
export const SENDS_WEBHOOKS = {
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
  WEBHOOK_KEY: Buffer.alloc(32, 'upgrade').toString('base64'),
} as const;

/** The events that a webhook sent: their positions in order of arrival, including repetitions. */
export type Arrivals = { readonly url: string; readonly positions: readonly number[] };

/** Starts a receiver that accepts every event. */
export async function startReceiver(resources: Resources): Promise<Arrivals> {
  const positions: number[] = [];
  const server: Server = createServer(async (request, response) => {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      positions.push((JSON.parse(Buffer.concat(chunks).toString()) as { position: number }).position);
      response.writeHead(204).end();
    } catch {
      // The sender was killed.
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  resources.add('a receiver of webhooks', async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, positions };
}

/** Returns the problems of arrivals: missing positions and, in strict order, positions that arrived too early. */
export function wrongArrivals(
  { positions }: Arrivals,
  wanted: readonly number[],
  isStrict: boolean,
): readonly string[] {
  const has = new Set(positions);
  const arrived = [...has];
  const missing = wanted.filter((position) => !has.has(position));
  const problems = missing.length === 0 ? [] : [`${missing.length} events did not arrive, such as ${missing[0]}`];
  const early = arrived.find((position, index) => position < (arrived[index - 1] ?? 0));
  if (!isStrict || early === undefined) return problems;
  return [...problems, `event ${early} arrived out of order`];
}
