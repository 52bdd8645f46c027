// A webhook receiver, which runs in a separate process. It accepts every event immediately, except below /black-hole,
// where it never responds.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Received } from './run-receiver.ts';

const CREATED_AT = '"created_at":"';
const TIME_LENGTH = '2026-11-22T08:00:00.000Z'.length;

/** Longer than any run. */
const KEEP_ALIVE_MILLISECONDS = 600_000;

const accepted = new Set<string>();
let repeats = 0;
let blackHoled = 0;
let lags: number[] = [];

function receive(request: IncomingMessage, response: ServerResponse): void {
  const receivedAt = Date.now();
  if (request.url?.startsWith('/black-hole') === true) {
    blackHoled += 1;
    request.resume();
    return;
  }
  let body = '';
  request.setEncoding('latin1');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    const delivery = `${request.url} ${request.headers['webhook-id']}`;
    if (accepted.has(delivery)) repeats += 1;
    accepted.add(delivery);
    const at = body.indexOf(CREATED_AT) + CREATED_AT.length;
    lags.push(receivedAt - Date.parse(body.slice(at, at + TIME_LENGTH)));
    response.writeHead(204).end();
  });
}

/** The deliveries so far. */
function look(): Received {
  const sorted = lags.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return {
    count: sorted.length,
    distinct: accepted.size,
    repeats,
    blackHoled,
    lagMilliseconds: { p50: at(0.5), p90: at(0.9), p99: at(0.99), maximum: at(1) },
  };
}

const server = createServer(receive);
server.keepAliveTimeout = KEEP_ALIVE_MILLISECONDS;
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('message', (question: 'look' | 'take') => {
  process.send?.(look());
  if (question === 'take') lags = [];
});
process.on('disconnect', () => process.exit());
