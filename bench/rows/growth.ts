import { setTimeout as sleep } from 'node:timers/promises';
import { inWords, median, short, whole } from '../figures.ts';
import { type Ledger, type Served, withLedger } from '../ledger/ledger.ts';
import { runGenerator } from '../load/run-generator.ts';
import { MANY_CONNECTIONS, measure } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { residentBytes } from '../processor-time.ts';
import type { Stage } from '../stage.ts';

/** Time for sockets to close and the garbage collector to run before memory is read. */
const SETTLE_MILLISECONDS = 2000;
const READINGS = 5;

/** 1 KB = 1,000 bytes. */
const KILOBYTE = 1000;

/** The memory of a process on a new ledger after a few transfers and after many, and the bytes written in between. */
export type Growth = {
  readonly first: number;
  readonly last: number;
  readonly residentBytes: readonly [number, number];
  readonly logBytes: number;
  /** Bytes on disk for each transfer, by table, the largest first. They include indexes. No vacuum has run. */
  readonly tables: readonly { readonly table: string; readonly bytes: number }[];
};

/** Sends many transfers through one process. Reads memory, log and tables after the first transfers and after the last. */
export function measureGrowth(stage: Stage): Promise<Growth> {
  const { first, last } = stage.options.growth;
  return withLedger(stage, async (service, ledger) => {
    await sendUpTo(stage, service, ledger, first);
    const residentBefore = await readResidentBytes(service.processId);
    const tablesBefore = await readTables(stage, ledger);
    // After this, the first change of each page writes the full page to the log, as after any other checkpoint.
    await stage.server.query('postgres', 'checkpoint');
    const run = await measure(stage, { ledger, service }, () => send(stage, service, last - ledger.acknowledged));
    const residentAfter = await readResidentBytes(service.processId);
    const tables = [...(await readTables(stage, ledger))]
      .map(([table, bytes]) => ({ table, bytes: (bytes - (tablesBefore.get(table) ?? 0)) / run.count }))
      .filter(({ bytes }) => bytes > 0)
      .sort((one, other) => other.bytes - one.bytes);
    return { first, last, residentBytes: [residentBefore, residentAfter], logBytes: run.logBytes, tables };
  });
}

/** Row 13: the memory after many transfers, compared with the memory after a few. */
export function memoryRow({ first, last, residentBytes: [before, after] }: Growth): Outcome {
  const megabytes = (bytes: number): string => `${short(bytes / 1024 ** 2)} MB`;
  return {
    row: 13,
    title: `resident memory after ${inWords(last)} transfers, against after ${inWords(first)}`,
    measured: megabytes(after),
    against: megabytes(before),
    value: after / before,
    unit: '',
    target: { at: 'most', value: 1.1 },
    aim: null,
    runs: {},
    notes: [`One run; ${SETTLE_MILLISECONDS / 1000} s after the load stopped, the median of ${READINGS} readings.`],
  };
}

/** Row 14, which has two targets: the bytes of a transfer in the write-ahead log and on disk. */
export function storageRows({ first, last, logBytes, tables }: Growth): readonly Outcome[] {
  const disk = tables.reduce((sum, { bytes }) => sum + bytes, 0);
  const row = (title: string, bytes: number, most: number, notes: readonly string[]): Outcome => ({
    row: 14,
    title,
    measured: `${whole(bytes)} bytes`,
    against: '',
    value: bytes / KILOBYTE,
    unit: 'KB',
    target: { at: 'most', value: most },
    aim: null,
    runs: {},
    notes,
  });
  const largest = tables.filter(({ bytes }) => bytes >= 1).map(({ table, bytes }) => `${table} ${whole(bytes)}`);
  return [
    row('write-ahead log for a transfer', logBytes, 2, [
      `One run from ${inWords(first)} to ${inWords(last)} transfers, with a checkpoint at its beginning, and the checkpoints that ` +
        'PostgreSQL makes automatically.',
    ]),
    row('disk for a transfer, tables and indexes, before vacuum', disk, 1.4, [
      `Bytes for a transfer by table, indexes included: ${largest.join(', ')}.`,
    ]),
  ];
}

async function sendUpTo(stage: Stage, service: Served, ledger: Ledger, total: number): Promise<void> {
  const { succeeded, failed, firstFailure } = await send(stage, service, total - ledger.acknowledged);
  if (failed > 0) throw new Error(`${failed} requests failed. The first: ${firstFailure}`);
  ledger.acknowledged += succeeded;
}

function send({ resources }: Stage, { traffic }: Served, count: number) {
  const plan = { ...traffic, mode: 'closed', connections: MANY_CONNECTIONS, count } as const;
  return runGenerator(resources, { ...plan, send: { kind: 'transfers' } });
}

async function readResidentBytes(processId: number): Promise<number> {
  await sleep(SETTLE_MILLISECONDS);
  const readings: number[] = [];
  for (let reading = 0; reading < READINGS; reading += 1) {
    readings.push(residentBytes(processId));
    await sleep(100);
  }
  return median(readings);
}

/** Partitions count as part of their table. */
async function readTables({ server }: Stage, { database }: Ledger): Promise<ReadonlyMap<string, number>> {
  const { rows } = await server.query(
    database,
    `select coalesce(parent.relname, child.relname) as name, sum(pg_total_relation_size(child.oid)) as bytes
      from pg_class as child
      left join pg_inherits on inhrelid = child.oid
      left join pg_class as parent on parent.oid = inhparent
      where child.relkind = 'r' and child.relnamespace = 'public'::regnamespace
      group by 1`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}
