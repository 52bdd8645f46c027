// Generates clients from /openapi.json of a running sandbox with common generators, compiles them strictly, and calls the sandbox
// through each. Also converts the document to a Postman collection and sends its requests. Part of `npm run verify`. The
// generators have a separate lockfile, so `npm start` never downloads them.
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureInstalled } from '../../cli/install.mjs';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { sampleOfParameter } from '../../contract/samples.ts';
import { root } from '../command.ts';

// Invariant: Generated clients compile and work, and a generated Postman collection works
// Kept by: `contract/openapi/`
// Tested by: `tools/verify/generated-clients.ts` in `npm run verify`

const folder = join(root, 'tools/verify/clients');
const generated = join(folder, 'generated');

const STEPS: readonly (readonly string[])[] = [
  ['openapi-typescript', './generated/openapi.json', '-o', './generated/openapi-typescript.ts'],
  ['openapi-ts', '-i', './generated/openapi.json', '-o', './generated/hey-api', '-c', '@hey-api/client-fetch'],
  ['orval', '--config', 'orval.config.mjs'],
  ['tsc', '-p', '.'],
  ['esbuild', 'try-clients.ts', '--bundle', '--platform=node', '--format=esm', '--outfile=generated/try-clients.mjs'],
];

const JSON_TYPE = { 'Content-Type': 'application/json' };

const { startService, temporaryDirectory } = await import('../../test/harness/process.ts');
await ensureInstalled(
  folder,
  { child: undefined, received: undefined },
  { what: 'the generators of clients', withNode: false },
);
const directory = await temporaryDirectory();
const service = await startService({ DATA_DIR: join(directory.path, 'data') });
try {
  rmSync(generated, { recursive: true, force: true });
  mkdirSync(generated);
  writeFileSync(join(generated, 'openapi.json'), await (await fetch(`${service.url}/openapi.json`)).text());
  for (const [program = '', ...words] of STEPS) await run(join(folder, 'node_modules/.bin', program), words);
  process.stdout.write(await run(process.execPath, ['generated/try-clients.mjs', service.url]));
  await run(process.execPath, ['convert-collection.mjs']);
  await sendCollection(service.url);
} finally {
  rmSync(generated, { recursive: true, force: true });
  await service.stop();
  await directory.remove();
}

/** Runs a program in the folder of the clients, and returns its output. If it fails, rejects with the output. */
async function run(program: string, words: readonly string[]): Promise<string> {
  return (await promisify(execFile)(program, words, { cwd: folder, maxBuffer: 100_000_000 })).stdout;
}

/** A folder or a request of a Postman collection. */
type Item = {
  readonly name: string;
  readonly item?: readonly Item[];
  readonly request?: {
    readonly method: string;
    readonly url: {
      readonly path: readonly string[];
      readonly query?: readonly Pair[];
      readonly variable?: readonly Pair[];
    };
    readonly header?: readonly Pair[];
    readonly body?: { readonly raw?: string };
  };
};
type Pair = { readonly key: string; readonly value: string; readonly disabled?: boolean };

/**
 * Sends every request of the collection. Like a user, it replaces the example ids with existing ids. Each request must succeed or
 * be refused by a rule of its operation. An unreadable request, an unknown route or a failure would be a mistake in the document.
 */
async function sendCollection(url: string): Promise<void> {
  const text = readFileSync(join(generated, 'collection.json'), 'utf8');
  const collection = JSON.parse(text) as { readonly item: readonly Item[]; readonly variable: readonly Pair[] };
  const base = collection.variable.find(({ key }) => key === 'baseUrl')?.value;
  if (base !== url) throw new Error(`the collection is for ${base} instead of ${url}`);
  const requests = collection.item.flatMap(requestsIn);
  if (requests.length < OPERATION_IDS.length) throw new Error(`the collection has only ${requests.length} requests`);
  const counts = { succeeded: 0, refused: 0 };
  const problems: string[] = [];
  // Requests that stop the database or the transfers come last.
  const last = /sandbox\/database|operator\/switch/;
  for (const item of requests.toSorted(
    (left, right) => Number(last.test(pathOf(left))) - Number(last.test(pathOf(right))),
  )) {
    const { status, body } = await send(url, item);
    const operation = operationOf(item);
    const own: readonly string[] = operation === undefined ? [] : [...OPERATIONS[operation].errors, 'unauthenticated'];
    const code = /"Code": ?"([a-z_]+)"/.exec(body)?.[1] ?? '';
    if (status < 300) counts.succeeded += 1;
    else if (own.includes(code)) counts.refused += 1;
    else problems.push(`${item.request?.method} ${pathOf(item)}: ${status} ${body.slice(0, 300)}`);
  }
  console.log(
    `Postman collection: ${counts.succeeded} requests succeed, ${counts.refused} are refused by their rules.`,
  );
  if (problems.length > 0) throw new Error(problems.join('\n'));
  if (counts.succeeded * 4 < requests.length * 3) throw new Error('fewer than three in four requests succeed');
}

function requestsIn(item: Item): readonly Item[] {
  return item.item === undefined ? [item] : item.item.flatMap(requestsIn);
}

function pathOf({ request }: Item): string {
  return `/${(request?.url.path ?? []).map((segment) => segment.replace(/^:(.*)$/, '{$1}')).join('/')}`;
}

function operationOf(item: Item): OperationId | undefined {
  return OPERATION_IDS.find(
    (id) => OPERATIONS[id].path === pathOf(item) && OPERATIONS[id].method === item.request?.method,
  );
}

async function send(url: string, item: Item): Promise<{ readonly status: number; readonly body: string }> {
  const { method = 'GET', header = [], body } = item.request ?? {};
  const variables = new Map((item.request?.url.variable ?? []).map(({ key, value }) => [key, value]));
  const real = await idsFor(url, operationOf(item));
  const path = (item.request?.url.path ?? []).map((segment) => {
    const name = segment.startsWith(':') ? segment.slice(1) : undefined;
    if (name === undefined) return segment;
    return encodeURIComponent(real[name] ?? variables.get(name) ?? '');
  });
  const query = new URLSearchParams(
    isSent(item.request?.url.query).map(({ key, value }): [string, string] => [key, value]),
  );
  const raw = body?.raw?.replaceAll(sampleOfParameter('event_id'), real.event_id ?? '');
  const response = await fetch(`${url}/${path.join('/')}${query.size === 0 ? '' : `?${query}`}`, {
    method,
    headers: isSent(header).map(({ key, value }): [string, string] => [key, value]),
    ...(raw === undefined || raw === '' ? {} : { body: raw }),
  });
  return { status: response.status, body: await response.text() };
}

function isSent(pairs: readonly Pair[] = []): readonly Pair[] {
  return pairs.filter(({ disabled }) => disabled !== true);
}

async function idsFor(url: string, id: OperationId | undefined): Promise<Readonly<Record<string, string>>> {
  if (id === undefined) return {};
  const post = async (path: string, body: object): Promise<Readonly<Record<string, string>>> => {
    const response = await fetch(url + path, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) });
    return {
      ...((await response.json()) as Record<string, string>),
      requestId: response.headers.get('request-id') ?? '',
    };
  };
  const { path } = OPERATIONS[id];
  const core = '/api/v0.1/core';
  const ids: Record<string, string> = {};
  if (/\{(?:transfer|reversal|request|event)_id\}|resend/.test(path)) {
    const isHeld = id === 'capture_transfer' || id === 'cancel_transfer';
    const transfer = { amount: 1000, card_id: 'card_active', capture: isHeld ? 'manual' : 'automatic' };
    const { transfer_id = '', requestId = '' } = await post(`${core}/transfer`, transfer);
    Object.assign(ids, { transfer_id, request_id: requestId });
    if (path.includes('{reversal_id}')) {
      const { reversal_id = '' } = await post(`${core}/transfer/${transfer_id}/reverse`, {});
      ids.reversal_id = reversal_id;
    }
    if (path.includes('/error/')) ids.request_id = (await post(`${core}/transfer`, {})).requestId ?? '';
    const events = await fetch(`${url}${core}/event?after=0&wait=5&limit=1`);
    ids.event_id = ((await events.json()) as { data: { event_id: string }[] }).data[0]?.event_id ?? '';
  }
  if (path.includes('{webhook_id}')) {
    const webhook = { url: 'http://127.0.0.1:9/', description: id };
    const scope = path.includes('/operator/') ? '/api/v0.1/operator' : core;
    ids.webhook_id = (await post(`${scope}/webhook`, webhook)).webhook_id ?? '';
  }
  if (path.includes('{key_id}')) {
    const key = { name: id, program_id: sampleOfParameter('program_id'), scopes: ['transfers:read'] };
    ids.key_id = (await post('/api/v0.1/operator/key', key)).key_id ?? '';
  }
  const file = { program_id: sampleOfParameter('program_id'), name: id, sha256: hash('sha256', id) };
  if (path.includes('{comparison_id}')) {
    ids.comparison_id = (await post('/api/v0.1/operator/comparison', { ...file, card_count: 1 })).comparison_id ?? '';
  }
  if (path.includes('{move_in_id}')) {
    const moveIn = { ...file, as_of: '2026-01-31T00:00:00Z', line_count: 2 };
    ids.move_in_id = (await post('/api/v0.1/operator/move-in', moveIn)).move_in_id ?? '';
  }
  if (id === 'erase_card_holder') ids.card_id = 'card_closed';
  return ids;
}
