import { createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { codeOfDecline, isMappedCode } from '../../../domain/processors/order.ts';
import { TRAITS } from '../../../server/foundation/configuration/connectors.ts';
import { readBehavior } from '../../../simulator/behavior.ts';
import { newSecret } from '../../processors/simulated.ts';
import { followGuide } from '../guide-trial.ts';

const read = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');

const GUIDE = read('docs/processors.md');

/** Returns the listing that follows the text in the guide. */
function listingAfter(text: string): string {
  expect(GUIDE).toContain(text);
  const [, listing = ''] = /```[a-z]*\n([^`]*)```/.exec(GUIDE.slice(GUIDE.indexOf(text))) ?? [];
  return listing;
}

/** Returns the cells of the table with this head. */
function listedAfter(head: string): readonly (readonly string[])[] {
  const [, ...rows] = (GUIDE.split(`${head}\n`)[1] ?? '').split('\n\n')[0]?.split('\n') ?? [];
  return rows.map((row) => row.split('|').slice(1, -1));
}

// The reader's sandbox has the connectors from the guide's file.
const directory = mkdtempSync(join(tmpdir(), 'connectors-'));
afterAll(() => rmSync(directory, { recursive: true }));
const CONNECTORS = join(directory, 'connectors.json');
writeFileSync(CONNECTORS, listingAfter('A complete `connectors.json`:'));
const INCREASE_ADAPTER_SECRET = newSecret();
let service = '';

followGuide('processors', {
  settings: { CONNECTORS, INCREASE_ADAPTER_SECRET },
  prepare: (_folder, url) => {
    service = url;
  },
  environment: { ADAPTER_SECRET: newSecret() },
  runsOn: /node adapter\//,
  // This command checks the adapter that breaks a rule.
  fails: /check \S+:3001/,
});

test('the guide shows functions of the minimal adapter', () => {
  const shown = [...GUIDE.matchAll(/^```js\n([^`]*(?:`[^`\n]*`[^`]*)*)^```$/gm)].map(([, code]) => code);
  expect(shown).toHaveLength(2);
  const files = ['adapter', 'notify'].map((name) => read(`examples/minimal-adapter/${name}.mjs`)).join('\n');
  for (const code of shown) expect(files).toContain(code);
});

test('the guide lists every behavior of the simulator, and no others', () => {
  const rows =
    read('docs/processors.md')
      .split('## The contract')[0]
      ?.match(/^\| `[^`]+`/gm) ?? [];
  const shown = rows.map((row) => row.slice(3, -1));
  expect(shown.filter((behavior) => readBehavior(behavior) === undefined)).toEqual([]);
  const kinds = [...read('simulator/behavior.ts').matchAll(/^ {2}'([a-z_0-9]+)',$/gm)].map(([, kind = '']) => kind);
  expect(kinds.length).toBeGreaterThan(10);
  expect(shown.map((behavior) => behavior.split('=')[0])).toEqual(
    expect.arrayContaining([...kinds, 'decline', 'slow', 'late', 'pending']),
  );
});

test('the guide shows a notice that the service accepts with a signature', async () => {
  const [head = '', body = ''] = listingAfter('A notice may arrive before').split('\n\n');
  const path = /^POST (\S+)/.exec(head)?.[1] ?? '';
  const send = (time: number, text = body.trim()) => {
    const id = 'msg_of_the_guide';
    const key = Buffer.from(INCREASE_ADAPTER_SECRET.slice('whsec_'.length), 'base64');
    const signature = createHmac('sha256', key).update(`${id}.${time}.${text}`).digest('base64');
    const signed = { 'webhook-id': id, 'webhook-timestamp': String(time), 'webhook-signature': `v1,${signature}` };
    const headers = { 'Content-Type': 'application/json', ...signed };
    return fetch(`${service}${path}`, { method: 'POST', headers, body: text });
  };
  const now = Math.floor(Date.now() / 1000);
  for (const _again of [1, 2]) {
    const response = await send(now);
    expect([response.status, await response.json()]).toEqual([200, { received: true }]);
  }
  expect((await send(now - 600)).status).toBe(401);
  for (const field of ['processor_reference', 'code', 'retry_after_seconds']) {
    const { [field]: _left, ...others } = JSON.parse(body);
    expect((await send(now, JSON.stringify(others))).status, field).toBe(400);
  }
});

test('the guide names the error that each decline code causes', () => {
  const rows = listedAfter('| `code` | `error` of the transfer |').map(([codes = '', error = '']) => [
    [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => code),
    /`(\w+)`/.exec(error)?.[1] ?? null,
  ]);
  const shown = rows.flatMap(([codes, error]) => (codes as string[]).map((code) => [code, error]));
  expect(shown.map(([code]) => [code, codeOfDecline(code as string)])).toEqual(shown);
  const all = Array.from({ length: 100 }, (_, code) => String(code).padStart(2, '0'));
  // The guide lists 05 among the other codes.
  expect(shown.map(([code]) => code).toSorted()).toEqual(all.filter((code) => isMappedCode(code) && code !== '05'));
});

test('the guide lists every trait with its default', () => {
  const [, table = ''] = GUIDE.split('| trait | default |');
  const shown = [...table.matchAll(/^\| `([a-z_]+)` \| `([a-z0-9]+)` \|/gm)].map(([, name, value]) => [name, value]);
  expect(shown).toEqual(Object.values(TRAITS).map(({ name, fallback }) => [name, String(fallback)]));
});
