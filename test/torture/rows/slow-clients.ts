import { readdir, readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { readBooksAt } from '../../crashes/books.ts';
import { keptConnections, NoResponse, sendRaw } from '../../harness/raw-request.ts';
import { type Fleet, lackOfDescriptors, startFleet } from '../fleet.ts';
import { type Findings, pause, type Row, type Setting, Tally } from '../row.ts';

const CARD = 'card-of-good-requests';

/** Good requests per second, and for how many seconds alone and then beside the slow ones. */
const PACES = {
  short: { rate: 100, alone: 1, beside: 2 },
  // Long enough for heads and bodies to reach their time limits of 10 s and 15 s, and for callers to reconnect.
  long: { rate: 500, alone: 10, beside: 30 },
} as const;

/** From this count on the long pace is used. */
const MANY = 1_000;

/** How long a refused good request is retried under its key, in milliseconds. */
const TIMEOUT_MILLISECONDS = 10_000;

/** The share of slow callers connected at any time: disconnected ones are reconnecting. */
const PRESENT_SHARE = 0.8;

/** The maximum memory of the service, in kilobytes: generous, but far below the responses to all of them. */
const MEMORY = 1_048_576;

/** How many more descriptors may be open afterwards than before: connections to the database come and go. */
const DESCRIPTORS = 30;

const POST = 'POST /api/v0.1/core/transfer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{"card_id":"';

/** What each kind of slow caller sends, first and then once a second, and whether it reads. */
const KINDS: readonly {
  readonly name: string;
  readonly first: string;
  readonly drip: string;
  readonly reads: boolean;
}[] = [
  { name: 'slow_head', first: 'GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', drip: 'x', reads: true },
  { name: 'slow_body', first: POST, drip: 'x', reads: true },
  {
    name: 'takes_nothing',
    first: 'GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20),
    drip: '',
    reads: false,
  },
  { name: 'kept_idle', first: 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', drip: '', reads: true },
  { name: 'mute', first: '', drip: '', reads: true },
];

/** Slow callers, which reconnect when they are disconnected. */
class SlowCallers {
  readonly #port: number;
  readonly #tally: Tally;
  readonly #sockets: (Socket | undefined)[] = [];
  readonly #drip: NodeJS.Timeout;
  #isOver = false;

  constructor(url: string, tally: Tally) {
    this.#port = Number(new URL(url).port);
    this.#tally = tally;
    this.#drip = setInterval(() => this.#dripAll(), 1_000);
  }

  async open(many: number): Promise<void> {
    for (let index = 0; index < many; index += 1) {
      this.#open(index);
      // A few at a time, because a full backlog would refuse connections.
      if (index % 50 === 49) await pause(10);
    }
  }

  get count(): number {
    return this.#sockets.filter((socket) => socket?.readyState === 'open').length;
  }

  end(): void {
    this.#isOver = true;
    clearInterval(this.#drip);
    for (const socket of this.#sockets) socket?.destroy();
  }

  #open(index: number): void {
    const kind = KINDS[index % KINDS.length];
    if (kind === undefined || this.#isOver) return;
    const socket = connect({ port: this.#port, host: '127.0.0.1' });
    this.#sockets[index] = socket;
    if (kind.reads) socket.on('data', (chunk: Buffer) => this.#hear(kind.name, chunk));
    else socket.pause();
    socket.on('error', () => undefined);
    socket.once('close', () => {
      if (this.#isOver) return;
      this.#tally.add(`cut_off_${kind.name}`);
      setTimeout(() => this.#open(index), 100).unref();
    });
    if (kind.first !== '') socket.write(kind.first);
  }

  #hear(name: string, chunk: Buffer): void {
    const status = /^HTTP\/1\.1 ([0-9]{3})/.exec(chunk.toString('latin1', 0, 12))?.[1];
    if (status !== undefined) this.#tally.add(`heard_${status}_${name}`);
  }

  #dripAll(): void {
    for (const [index, socket] of this.#sockets.entries()) {
      const more = KINDS[index % KINDS.length]?.drip;
      if (more !== undefined && more !== '' && socket?.readyState === 'open') socket.write(more);
    }
  }
}

/** The service's open descriptors, once their number is stable: connections close a moment after their callers. */
async function descriptorsAtRest(fleet: Fleet): Promise<number> {
  for (let before = Number.POSITIVE_INFINITY; ; await pause(300)) {
    const { descriptors } = await holdings(fleet);
    if (descriptors >= before) return descriptors;
    before = descriptors;
  }
}

/** Sends good requests at a constant rate; ends with the last response. */
async function sendGood(url: string, rate: number, seconds: number, tally: Tally, where: string): Promise<void> {
  const agent = keptConnections(200);
  const started = performance.now();
  const underWay: Promise<void>[] = [];
  for (let sent = 0; sent < rate * seconds; sent += 1) {
    const due = started + (sent * 1000) / rate;
    while (performance.now() < due) await pause(1);
    underWay.push(sendOne(url, `${where}-${sent}`, due, tally, where, agent));
  }
  await Promise.all(underWay);
  agent.destroy();
}

async function sendOne(
  url: string,
  key: string,
  due: number,
  tally: Tally,
  where: string,
  agent: ReturnType<typeof keptConnections>,
): Promise<void> {
  const raw = { headers: { 'Idempotency-Key': key }, body: { amount: 1, card_id: CARD, metadata: { key } } };
  for (;;) {
    const response = await sendRaw(url, raw, agent).catch((error: unknown) => {
      if (error instanceof NoResponse) return error;
      throw error;
    });
    const status = response instanceof NoResponse ? response.message : response.status;
    if (status === 201) {
      tally.add(`served_${where}`);
      return tally.time(`latency_${where}`, performance.now() - due);
    }
    const isHonest = !(response instanceof NoResponse) && status === 503 && response.headers['money-moved'] === 'no';
    tally.add(isHonest ? `shed_${where}` : `failed_${where}`);
    if (!isHonest) tally.violate(where, [`${key} was answered: ${status}`]);
    if (performance.now() - due > TIMEOUT_MILLISECONDS) return tally.violate(where, [`${key} was not served`]);
    await pause(100);
  }
}

/** The current descriptors and memory of the service's process. */
async function holdings(fleet: Fleet): Promise<{ readonly descriptors: number; readonly kilobytes: number }> {
  const { pid = 0 } = fleet.process(0).child;
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return {
    descriptors: (await readdir(`/proc/${pid}/fd`)).length,
    kilobytes: Number(/VmRSS:\s+([0-9]+)/.exec(status)?.[1]),
  };
}

async function untilGivenBack(fleet: Fleet, before: number, tally: Tally): Promise<void> {
  const started = performance.now();
  for (;;) {
    const { descriptors } = await holdings(fleet);
    if (descriptors <= before + DESCRIPTORS) break;
    if (performance.now() - started > 20_000)
      return tally.violate('afterwards', [`${descriptors} descriptors are open, and ${before} were before`]);
    await pause(100);
  }
  tally.time('given_back', performance.now() - started);
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  const problem = await lackOfDescriptors(setting.count);
  if (problem !== undefined) return { figures: {}, violations: [], notRun: problem };
  const { rate, alone, beside } = setting.count >= MANY ? PACES.long : PACES.short;
  const fleet = await startFleet(setting.resources, 1);
  const url = fleet.urls[0] ?? '';
  const slow = new SlowCallers(url, tally);
  const endSlow = setting.resources.add('the slow callers', async () => slow.end());
  const figures: Record<string, number> = { rate };
  try {
    await fleet.process(0).client.cards.create({ card_id: CARD });
    await sendGood(url, rate, alone, tally, 'alone');
    const before = { ...(await holdings(fleet)), descriptors: await descriptorsAtRest(fleet) };
    await slow.open(setting.count);
    setting.progress(slow.count);
    let most = before;
    const watch = setInterval(async () => {
      const now = await holdings(fleet);
      most = {
        descriptors: Math.max(most.descriptors, now.descriptors),
        kilobytes: Math.max(most.kilobytes, now.kilobytes),
      };
    }, 250);
    await sendGood(url, rate, beside, tally, 'beside');
    clearInterval(watch);
    figures.slow_at_the_end = slow.count;
    // Disconnected callers reconnect immediately; a service that accepts none of them would prove nothing.
    const least = setting.count * PRESENT_SHARE;
    if (slow.count < least) tally.violate('slow callers', [`${slow.count} were there, and ${least} are the least`]);
    if (most.descriptors < least) tally.violate('slow callers', [`the service held ${most.descriptors} descriptors`]);
    await endSlow();
    await untilGivenBack(fleet, before.descriptors, tally);
    const after = await holdings(fleet);
    if (most.kilobytes > MEMORY) tally.violate('memory', [`${most.kilobytes} kB, and ${MEMORY} are the most`]);
    const { faults, transfers } = await readBooksAt(fleet.server.connection, [CARD]);
    tally.violate('books', Object.keys(faults));
    const served = tally.count('served_alone') + tally.count('served_beside');
    if (transfers.length !== served) tally.violate('books', [`${transfers.length} transfers, ${served} were served`]);
    for (const [when, { descriptors, kilobytes }] of Object.entries({ before, most, after })) {
      Object.assign(figures, {
        [`descriptors_${when}`]: descriptors,
        [`megabytes_${when}`]: Math.round(kilobytes / 1024),
      });
    }
  } finally {
    await endSlow();
    await fleet.end();
  }
  const ratio = tally.spread('latency_beside').p50 / Math.max(1, tally.spread('latency_alone').p50);
  return {
    figures: { ...figures, ...tally.figures(), p50_beside_to_alone: ratio.toFixed(2) },
    violations: tally.violations,
  };
}

/** Callers that send and read as slowly as possible, beside normal ones. */
export const SLOW_CLIENTS: Row = {
  name: 'slow-clients',
  unit: 'slow sockets',
  counts: { small: 200, middle: 2_000, large: 6_000 },
  run,
};
