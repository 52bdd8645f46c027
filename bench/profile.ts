import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { examineBooks } from './ledger/books.ts';
import { createLedger, dropLedger, serve } from './ledger/ledger.ts';
import { makeSeed } from './ledger/seed.ts';
import { startEmbeddedServer } from './ledger/server.ts';
import { MANY_CONNECTIONS, measureTransfers, warmUp } from './measure.ts';
import { readThreadTimes, type ThreadTimes } from './processor-time.ts';
import type { Site, Stage } from './stage.ts';
import { countsStatements, readStatements, resetStatements, type StatementTime } from './statements.ts';

export type FunctionTime = { readonly name: string; readonly part: string; readonly microseconds: number };

/** The CPU time of a transfer, by part of the program. */
export type Profile = {
  /** Measured with the profiler on, which lowers the rate. */
  readonly rate: number;
  readonly serviceMicroseconds: number;
  readonly postgresMicroseconds: number;
  readonly generatorMicroseconds: number;
  /** Processor time of the service's threads for one transfer, by the name of the thread. */
  readonly threads: readonly { readonly name: string; readonly microseconds: number }[];
  /** Self time of the main thread for one transfer, by part of the program. Includes waiting. */
  readonly parts: readonly { readonly part: string; readonly microseconds: number }[];
  /** The same by function, the largest first. */
  readonly functions: readonly FunctionTime[];
  /** The time of PostgreSQL for one transfer, by statement, the largest first. */
  readonly statements: readonly StatementTime[];
};

type Frame = { readonly functionName: string; readonly url: string; readonly lineNumber: number };
type Node = { readonly id: number; readonly callFrame: Frame; readonly children?: readonly number[] };
type Samples = {
  readonly nodes: readonly Node[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

/** The main thread while it is idle. */
export const IDLE = 'idle';

const ROOT = new URL('../', import.meta.url).href;
const INTERVAL_MICROSECONDS = 250;

/** V8's names for the states in which no JavaScript runs. */
const STATES: ReadonlyMap<string, string> = new Map([
  ['(idle)', IDLE],
  ['(garbage collector)', 'garbage collector'],
  ['(program)', 'native code (system calls, compiler)'],
]);

/**
 * Runs transfers on the hot account under V8's sampling profiler and adds up the samples. PostgreSQL must count the time of its
 * statements. If the server of the stage does not, another one is started.
 */
export async function profileTransfers(given: Stage, keepIn: string): Promise<Profile> {
  const stage = (await countsStatements(given.server)) ? given : { ...given, ...(await startCountingSite(given)) };
  const { server, options } = stage;
  const directory = join(server.directory, 'profile');
  await mkdir(directory);
  const ledger = await createLedger(stage);
  const nodeOptions = `--cpu-prof --cpu-prof-interval=${INTERVAL_MICROSECONDS} --cpu-prof-dir=${directory}`;
  const service = await serve(stage, ledger, { NODE_OPTIONS: nodeOptions });
  await warmUp(stage, ledger, service.traffic, MANY_CONNECTIONS, options.warmUpSeconds * 2);
  // The profiler also uses the machine's monotonic clock, so this shows which samples belong to the run.
  const begun = Number(process.hrtime.bigint() / 1000n);
  await resetStatements(server);
  const threadsBefore = readThreadTimes(service.processId);
  const run = await measureTransfers(stage, { ledger, service }, service.traffic, MANY_CONNECTIONS);
  const statements = await readStatements(server, ledger.database, run.count);
  const threads = difference(threadsBefore, readThreadTimes(service.processId), run.count);
  const ended = begun + run.elapsedSeconds * 1e6;
  await service.stop();
  await examineBooks(server, ledger.database, ledger.acknowledged);
  await dropLedger(stage, ledger);
  const [name = ''] = (await readdir(directory)).filter((file) => file.endsWith('.cpuprofile'));
  const samples = JSON.parse(await readFile(join(directory, name), 'utf8')) as Samples;
  await mkdir(keepIn, { recursive: true });
  await copyFile(join(directory, name), join(keepIn, 'transfers.cpuprofile'));
  const { rate, serviceMicroseconds, postgresMicroseconds, generatorMicroseconds } = run;
  return {
    ...{ rate, serviceMicroseconds, postgresMicroseconds, generatorMicroseconds, threads, statements },
    ...addUp(samples, begun, ended, run.count),
  };
}

async function startCountingSite({ resources }: Stage): Promise<Site> {
  const server = await startEmbeddedServer(resources, { countsStatements: true });
  return { server, seed: await makeSeed(resources, server, { unlimited: false, spread: false }) };
}

function difference(before: ThreadTimes, after: ThreadTimes, transfers: number): Profile['threads'] {
  return [...after]
    .map(([name, milliseconds]) => ({
      name,
      microseconds: ((milliseconds - (before.get(name) ?? 0)) * 1000) / transfers,
    }))
    .filter(({ microseconds }) => microseconds >= 0.05)
    .sort((one, other) => other.microseconds - one.microseconds);
}

function addUp(
  { nodes, startTime, samples, timeDeltas }: Samples,
  from: number,
  to: number,
  transfers: number,
): Pick<Profile, 'parts' | 'functions'> {
  const places = placesOf(nodes);
  const parts = new Map<string, number>();
  const functions = new Map<string, { name: string; part: string; microseconds: number }>();
  let now = startTime;
  for (const [index, delta] of timeDeltas.entries()) {
    now += delta;
    const place = places.get(samples[index] ?? 0);
    if (now < from || now > to || place === undefined) continue;
    const microseconds = delta / transfers;
    parts.set(place.part, (parts.get(place.part) ?? 0) + microseconds);
    const known = functions.get(place.name) ?? { ...place, microseconds: 0 };
    known.microseconds += microseconds;
    functions.set(place.name, known);
  }
  return {
    parts: [...parts]
      .map(([part, microseconds]) => ({ part, microseconds }))
      .sort((one, other) => other.microseconds - one.microseconds),
    functions: [...functions.values()].sort((one, other) => other.microseconds - one.microseconds),
  };
}

type Place = Pick<FunctionTime, 'part' | 'name'>;

/** The part of each node. Work that V8 does for a function (JSON, arrays, buffers) counts for that function's part. */
function placesOf(nodes: readonly Node[]): ReadonlyMap<number, Place> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Map<number, Place>();
  const [root] = nodes;
  const open = root === undefined ? [] : [{ node: root, above: 'node: other' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, above } = next;
    const part = partOf(node.callFrame) ?? above;
    places.set(node.id, { part, name: nameOf(node.callFrame) });
    for (const child of node.children ?? []) {
      const found = byId.get(child);
      if (found !== undefined) open.push({ node: found, above: part });
    }
  }
  return places;
}

/** Undefined for work that V8 does for the calling function. */
function partOf({ functionName, url }: Frame): string | undefined {
  const state = STATES.get(functionName);
  if (state !== undefined) return state;
  if (url.startsWith('node:')) return partOfNode(url);
  if (!url.startsWith(ROOT)) return url === '' ? undefined : 'other';
  const path = url.slice(ROOT.length);
  const packageName = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
  if (packageName !== undefined) return packageName.startsWith('pg') ? 'pg' : packageName;
  const [top = '', second = ''] = path.split('/');
  return top === 'server' && !second.endsWith('.ts') ? `server/${second}` : top;
}

/** Node's own modules by purpose. */
function partOfNode(url: string): string {
  if (/_http_|internal\/http/.test(url)) return 'node: http';
  if (/crypto/.test(url)) return 'node: crypto';
  if (/node:net|stream/.test(url)) return 'node: sockets and streams';
  return /timers|task_queues|events|async_hooks/.test(url) ? 'node: timers, events, promises' : 'node: other';
}

function nameOf({ functionName, url, lineNumber }: Frame): string {
  if (functionName.startsWith('(')) return STATES.get(functionName) ?? functionName;
  const file = url.startsWith('file:') ? fileURLToPath(url).slice(fileURLToPath(ROOT).length) : url;
  const name = functionName === '' ? 'anonymous' : functionName;
  return file === '' ? `${name} (native)` : `${name} ${file.replace(/^.*node_modules\//, '')}:${lineNumber + 1}`;
}
