import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { newBatchId } from '../server/foundation/ids.ts';
import type { Database } from '../server/store/connection/database.ts';
import { openDatabases } from '../server/store/connection/databases.ts';
import { insertEvents } from '../server/store/events/insert-events.ts';
import { readEventPage } from '../server/store/events/read-events.ts';
import { type Served, withLedger } from './ledger/ledger.ts';
import { createOperatorKey, databaseUrl } from './ledger/server.ts';
import type { Stage } from './stage.ts';

/** The rate at which events are offered: a little more than the target. */
const OFFERED_PER_SECOND = 21_000;

const WRITERS = 2;
const READERS = 8;

/** Events of a transaction, and transactions of a writer at once: as groups of transfers, of which three are in flight. */
const BATCH = 50;
const IN_FLIGHT = 4;

/** For connections, plans and compilers. */
const WARM_UP_SECONDS = 2;

/** The pause of a reader that has read everything. */
const PAUSE_MILLISECONDS = 15;

/** A reader that gets nothing for so long gets nothing more. */
const MAX_SILENCE_MILLISECONDS = 20_000;

/** As long as the record of a transfer. */
const PAYLOAD = JSON.stringify({ transfer: 'x'.repeat(600) });

/** Callers that pull at once, each of them everything, and the largest page. */
const CALLERS = 4;
const PAGE = 100;

/** What writers, the relay of a service and readers achieved together, and then callers that pull everything. */
export type EventFigures = {
  readonly count: number;
  /** From the first transaction to the last event read. */
  readonly ratePerSecond: number;
  /** From the creation of an event to the reader that has it, the 50th and 99th percentile. */
  readonly medianMilliseconds: number;
  readonly lagMilliseconds: number;
  /** Events that all callers together pulled over HTTP. */
  readonly pulledPerSecond: number;
};

/**
 * Lets two writers offer events of eight card programs at a constant rate, to a ledger whose relay is that of a service,
 * and a reader for each program read them. Throws when an event is missed, comes twice or is out of place.
 */
export function measureEvents(stage: Stage): Promise<EventFigures> {
  return withLedger(stage, async (service, { database }) => {
    const address = databaseUrl(stage.server, database);
    const all = [...Array(WRITERS + 1)].map(() => openDatabases({ connectionString: address }));
    const [reading, ...writing] = all.map(({ background }) => background);
    if (reading === undefined) throw new Error('there is no connection to read with');
    try {
      await writeAndRead(WARM_UP_SECONDS, writing, reading);
      const figures = await writeAndRead(stage.options.seconds, writing, reading);
      const key = await createOperatorKey(stage.belongings, address);
      return { ...figures, pulledPerSecond: await pullFor(stage.options.seconds, service, key) };
    } finally {
      for (const databases of all) await databases.close();
    }
  });
}

async function writeAndRead(seconds: number, writing: readonly Database[], reading: Database) {
  const programs = Array.from({ length: READERS }, () => randomUUID());
  // Eight transactions have as many events of one program as of any other.
  const batches = Math.ceil((OFFERED_PER_SECOND * seconds) / BATCH / WRITERS / READERS) * READERS;
  const lags: number[] = [];
  const begun = performance.now();
  const perProgram = (batches * BATCH * WRITERS) / READERS;
  const readers = programs.map((programId) => readProgram(reading, programId, perProgram, lags));
  await Promise.all([...writing.map((database, writer) => write(database, writer, batches, programs)), ...readers]);
  const elapsedSeconds = (performance.now() - begun) / 1000;
  lags.sort((one, other) => one - other);
  return {
    count: lags.length,
    ratePerSecond: lags.length / elapsedSeconds,
    medianMilliseconds: lags[Math.floor(lags.length / 2)] ?? Number.NaN,
    lagMilliseconds: lags[Math.floor(lags.length * 0.99)] ?? Number.NaN,
  };
}

/** Transactions are due at a constant rate; one that is late delays none of the others. */
async function write(database: Database, writer: number, batches: number, programs: readonly string[]): Promise<void> {
  const begun = performance.now();
  const intervalMilliseconds = (1000 * BATCH * WRITERS) / OFFERED_PER_SECOND;
  let next = 0;
  const run = async (): Promise<void> => {
    for (let batch = next++; batch < batches; batch = next++) {
      const wait = begun + batch * intervalMilliseconds - performance.now();
      if (wait > 0) await sleep(wait);
      const events = Array.from({ length: BATCH }, (_, at) => ({
        type: 'transfer.completed' as const,
        // Every program has as many as any other.
        programId: programs[(batch * BATCH + at) % programs.length] ?? null,
        subjectId: `${writer}-${batch}-${at}`,
        payload: PAYLOAD,
      }));
      const batchId = newBatchId();
      const writes = [insertEvents(batchId, events, Date.now())];
      await database.transact({ batchId, load: {}, decide: () => ({ result: undefined, writes }) });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, run));
}

async function readProgram(database: Database, programId: string, count: number, lags: number[]): Promise<void> {
  const seen = new Set<string>();
  let lastAt = performance.now();
  for (let after = 0; seen.size < count; ) {
    const page = await readEventPage(database, { programId, after, limit: PAGE });
    if ('oldest' in page) throw new Error('events are deleted');
    const now = Date.now();
    for (const { position, subjectId, createdAt } of page.events) {
      after += 1;
      if (position !== after) throw new Error(`an event is missed: ${position} came instead of ${after}`);
      if (seen.has(subjectId)) throw new Error(`an event came twice: ${subjectId}`);
      seen.add(subjectId);
      lags.push(now - createdAt.getTime());
    }
    if (page.events.length > 0) lastAt = performance.now();
    if (performance.now() - lastAt > MAX_SILENCE_MILLISECONDS)
      throw new Error(`${count - seen.size} events are missed`);
    if (!page.isFull) await sleep(PAUSE_MILLISECONDS);
  }
}

/** Pulls over HTTP, page by page, as callers do that have been away. Returns the events per second. */
async function pullFor(seconds: number, { traffic }: Served, key: string): Promise<number> {
  const begun = performance.now();
  const pull = async (): Promise<number> => {
    let pulled = 0;
    for (let after = 0; performance.now() - begun < seconds * 1000; ) {
      const response = await fetch(`${traffic.url}/api/v0.1/operator/event?after=${after}&limit=${PAGE}`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      const page = (await response.json()) as { readonly data?: readonly unknown[]; readonly position?: number };
      if (page.data === undefined) throw new Error(`the events cannot be read: ${JSON.stringify(page)}`);
      pulled += page.data.length;
      // From the beginning again, when everything is pulled.
      after = page.data.length === 0 ? 0 : (page.position ?? 0);
    }
    return pulled;
  };
  const pulled = await Promise.all(Array.from({ length: CALLERS }, pull));
  return pulled.reduce((sum, count) => sum + count, 0) / ((performance.now() - begun) / 1000);
}
