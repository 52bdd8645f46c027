import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { examineBooks } from './ledger/books.ts';
import { createLedger, dropLedger, serve } from './ledger/ledger.ts';
import { MANY_CONNECTIONS, measureTransfers, warmUp } from './measure.ts';
import type { Stage } from './stage.ts';

/** Where the microseconds of a transfer go, by room of the house. */
export type Profile = {
  /** With the profiler on, which costs a part of the rate. */
  readonly rate: number;
  readonly service_us: number;
  readonly postgres_us: number;
  readonly generator_us: number;
  /** Time of the service's main thread for one transfer, waiting included, in microseconds. */
  readonly rooms: readonly { readonly room: string; readonly us: number }[];
  readonly functions: readonly { readonly name: string; readonly room: string; readonly us: number }[];
};

type Frame = { readonly functionName: string; readonly url: string; readonly lineNumber: number };
type Node = { readonly id: number; readonly callFrame: Frame; readonly children?: readonly number[] };
type Samples = {
  readonly nodes: readonly Node[];
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

/** What the main thread does while it has nothing to do. */
export const WAITING = 'waiting (idle)';

const ROOT = new URL('../', import.meta.url).href;
const SAMPLE_EVERY_US = 250;
const FUNCTIONS_SHOWN = 20;

/** Runs the hot account under the sampling profiler of V8 and adds its samples up. */
export async function profileTransfers(stage: Stage): Promise<Profile> {
  const { options, server } = stage;
  const directory = join(server.directory, 'profile');
  await mkdir(directory);
  const ledger = await createLedger(stage);
  const nodeOptions = `--cpu-prof --cpu-prof-interval=${SAMPLE_EVERY_US} --cpu-prof-dir=${directory}`;
  const service = await serve(stage, ledger, nodeOptions);
  const { traffic } = service;
  await warmUp(stage, ledger, traffic, MANY_CONNECTIONS);
  // The profiler's clock is the machine's monotonic one, and so is this: the samples of the run can be told.
  const begun_us = Number(process.hrtime.bigint() / 1000n);
  const run = await measureTransfers(
    stage,
    { ledger, services: [service] },
    { traffic, connections: MANY_CONNECTIONS, seconds: options.seconds },
  );
  const ended_us = begun_us + run.elapsed_s * 1e6;
  await service.stop();
  await examineBooks(server, ledger.database, ledger.answered);
  await dropLedger(stage, ledger);
  const [name = ''] = (await readdir(directory)).filter((file) => file.endsWith('.cpuprofile'));
  const samples = JSON.parse(await readFile(join(directory, name), 'utf8')) as Samples;
  const { rate, service_us, postgres_us, generator_us } = run;
  return { rate, service_us, postgres_us, generator_us, ...addUp(samples, begun_us, ended_us, run.answered) };
}

function addUp(
  { nodes, startTime, samples, timeDeltas }: Samples,
  from_us: number,
  to_us: number,
  transfers: number,
): Pick<Profile, 'rooms' | 'functions'> {
  const places = placesOf(nodes);
  const rooms = new Map<string, number>();
  const functions = new Map<string, { name: string; room: string; us: number }>();
  let now_us = startTime;
  for (const [index, delta] of timeDeltas.entries()) {
    now_us += delta;
    if (now_us < from_us || now_us > to_us) continue;
    const place = places.get(samples[index] ?? 0);
    if (place === undefined) continue;
    const us = delta / transfers;
    rooms.set(place.room, (rooms.get(place.room) ?? 0) + us);
    const known = functions.get(place.name) ?? { name: place.name, room: place.room, us: 0 };
    known.us += us;
    functions.set(place.name, known);
  }
  return {
    rooms: [...rooms].map(([room, us]) => ({ room, us })).sort((one, other) => other.us - one.us),
    functions: [...functions.values()]
      .filter(({ name }) => !name.startsWith('('))
      .sort((one, other) => other.us - one.us)
      .slice(0, FUNCTIONS_SHOWN),
  };
}

type Place = { readonly room: string; readonly name: string };

/** The room of each node; what V8 itself does for a function (JSON, arrays, buffers) counts to that function's room. */
function placesOf(nodes: readonly Node[]): ReadonlyMap<number, Place> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const places = new Map<number, Place>();
  const [root] = nodes;
  const waiting = root === undefined ? [] : [{ node: root, above: 'node: the rest' }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, above } = next;
    const room = roomOf(node.callFrame) ?? above;
    places.set(node.id, { room, name: nameOf(node.callFrame) });
    for (const child of node.children ?? []) {
      const found = byId.get(child);
      if (found !== undefined) waiting.push({ node: found, above: room });
    }
  }
  return places;
}

function roomOf({ functionName, url }: Frame): string | undefined {
  if (functionName === '(idle)') return WAITING;
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (functionName === '(program)') return 'native code (sockets, compilers)';
  if (url.startsWith('node:')) return moduleOf(url);
  if (!url.startsWith(ROOT)) return url === '' ? undefined : 'other';
  const path = url.slice(ROOT.length);
  const packageName = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
  if (packageName !== undefined) return packageName.startsWith('pg') ? 'pg' : packageName;
  const [top = '', second = ''] = path.split('/');
  return top === 'server' && !second.endsWith('.ts') ? second : top;
}

/** Node's own modules by what they are for. */
function moduleOf(url: string): string {
  if (/_http_|internal\/http/.test(url)) return 'node: http';
  if (/crypto/.test(url)) return 'node: crypto';
  if (/node:net|stream/.test(url)) return 'node: sockets and streams';
  return /timers|task_queues|events|async_hooks/.test(url) ? 'node: timers, events, promises' : 'node: the rest';
}

function nameOf({ functionName, url, lineNumber }: Frame): string {
  if (functionName.startsWith('(')) return functionName;
  const file = url.startsWith('file:') ? fileURLToPath(url).slice(fileURLToPath(ROOT).length) : url;
  const name = functionName === '' ? 'anonymous' : functionName;
  return file === '' ? `${name} (V8)` : `${name} ${file.replace(/^.*node_modules\//, '')}:${lineNumber + 1}`;
}
