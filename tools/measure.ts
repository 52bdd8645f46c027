import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { root } from './command.ts';

// Prints the project files that run at least one function for a successful create_transfer:
//   node tools/run.mjs tools/measure.ts
// The service runs in this process, in sandbox mode, on a new ledger.

/** Warm-up requests, so that connections, statements and caches exist. */
const WARM_UP_REQUESTS = 20;

/** Counted requests. A file counts only if it ran for each of them, so background jobs do not count. */
const COUNTED_REQUESTS = 8;

const dataDirectory = await mkdtemp(join(tmpdir(), 'transfer-service-measure-'));
const lines: string[] = [];
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (chunk: string | Uint8Array): boolean => lines.push(String(chunk)) > 0;
Object.assign(process.env, { MODE: 'sandbox', PORT: '0', HOST: '127.0.0.1', DATA_DIR: dataDirectory });

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
await import('../server/main.ts');
const base = await waitForBanner();
for (let sent = 0; sent < WARM_UP_REQUESTS; ) if (await createTransfer()) sent += 1;

let executed: Set<string> | undefined;
for (let counted = 0; counted < COUNTED_REQUESTS; ) {
  await sleep(50);
  await session.post('Profiler.takePreciseCoverage');
  const succeeded = await createTransfer();
  const files = filesIn(await session.post('Profiler.takePreciseCoverage'));
  if (!succeeded) continue;
  counted += 1;
  executed = executed === undefined ? files : executed.intersection(files);
}
const names = [...(executed ?? [])].sort();
write(`${names.join('\n')}\n${names.length} project files run for one successful create_transfer.\n`);
process.once('exit', () => rmSync(dataDirectory, { recursive: true, force: true }));
process.kill(process.pid, 'SIGTERM');

async function waitForBanner(): Promise<string> {
  for (;;) {
    const [, url] = /Ready at (\S+)/.exec(lines.join('')) ?? [];
    if (url !== undefined) return url;
    await sleep(20);
  }
}

/** Sends one request. Returns false if the machine is too busy for it. */
async function createTransfer(): Promise<boolean> {
  const response = await fetch(`${base}/api/v0.1/core/transfer`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ amount: 1, card_id: 'card_active' }),
  });
  const text = await response.text();
  if (response.status === 201) return true;
  if (response.status === 503) return false;
  throw new Error(text);
}

type Coverage = { readonly result: readonly { readonly url: string; readonly functions: readonly Counted[] }[] };
type Counted = { readonly ranges: readonly { readonly count: number }[] };

function filesIn({ result }: Coverage): Set<string> {
  const project = pathToFileURL(`${root}/`).href;
  const ran = result.filter(
    ({ url, functions }) =>
      url.startsWith(project) &&
      !/\/(node_modules|tools)\//.test(url) &&
      functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
  );
  return new Set(ran.map(({ url }) => relative(root, fileURLToPath(url))));
}
