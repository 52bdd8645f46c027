import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { openVault, openWebhookKeys } from '../../server/subjects/webhooks/vault.ts';
import {
  embeddedServerOf,
  runCommand,
  type ServiceSettings,
  startInVain,
  temporaryDirectory,
  waitFor,
} from '../harness/process.ts';
import { directoryForTest, refusalOf, startForTest } from '../harness/service.ts';

const URL = 'https://shop.example/webhooks';
const newKey = (): string => randomBytes(32).toString('base64');
const keysOf = (setting: string): readonly Buffer[] => setting.split(',').map((key) => Buffer.from(key, 'base64'));

/** Decrypts everything that is encrypted in a ledger. Throws if anything was encrypted with a different key. */
async function openAll(directory: string, keys: readonly Buffer[]): Promise<readonly string[]> {
  const client = new pg.Client((await embeddedServerOf(directory)).databaseUrl);
  await client.connect();
  try {
    const { rows } = await client.query(
      `select webhook_id, sealed from webhook_secret
        union all select webhook_id, headers from webhook where headers is not null`,
    );
    return rows.map(({ webhook_id: id, sealed }) => openVault(keys).open(sealed, id)).sort();
  } finally {
    await client.end();
  }
}

/** Starts a service with these settings, creates a webhook with a header, and stops the service. */
async function runOnce(settings: ServiceSettings): Promise<string> {
  const service = await startForTest(settings);
  const { secret } = await service.client.webhooks.create({ url: URL, headers: { 'X-Key': 'value' } });
  await service.stop();
  return secret ?? '';
}

describe('without WEBHOOK_KEY', () => {
  test('a key is created in the data directory with the first webhook, readable only by its owner', async () => {
    const DATA_DIR = await directoryForTest();
    const file = join(DATA_DIR, 'webhook-key');
    const service = await startForTest({ DATA_DIR });
    expect(await readdir(DATA_DIR)).not.toContain('webhook-key');
    const { secret } = await service.client.webhooks.create({ url: URL });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const key = await readFile(file, 'utf8');
    expect(key).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
    expect((await readdir(DATA_DIR)).filter((name) => name.startsWith('webhook-key'))).toEqual(['webhook-key']);
    expect(await openAll(DATA_DIR, keysOf(key))).toEqual([secret]);
    await service.stop();

    const again = await startForTest({ DATA_DIR });
    await again.client.webhooks.create({ url: URL });
    expect(await openAll(DATA_DIR, keysOf(key))).toHaveLength(2);
    expect((await runCommand(['config'], { DATA_DIR })).output).toContain('\nWEBHOOK_KEY=(in DATA_DIR)\n');
  });

  test('a start is refused if the file is missing or damaged, and the message names the place where the key must be', async () => {
    const DATA_DIR = await directoryForTest();
    const file = join(DATA_DIR, 'webhook-key');
    await runOnce({ DATA_DIR });
    await rename(file, `${file}-away`);
    const gone = await startInVain({ DATA_DIR });
    expect(gone.exitCode).toBe(1);
    expect(gone.errors).toMatch(
      /^\nThe service cannot start: [^\n]* there is none in [^\n]*webhook-key\. Set WEBHOOK_KEY/,
    );
    expect(await readdir(DATA_DIR)).not.toContain('webhook-key');
    await writeFile(file, 'not a key\n');
    const damaged = await startInVain({ DATA_DIR });
    expect(damaged.errors).toMatch(/webhook-key does not contain a key: 32 bytes in Base64\. Restore it/);
    await rm(file);
    await rename(`${file}-away`, file);
    await startForTest({ DATA_DIR });
  });

  test('no second key is created for another data directory, and the error log explains how to proceed', async () => {
    const [DATA_DIR, other] = [await directoryForTest(), await directoryForTest()];
    const first = await startForTest({ DATA_DIR });
    const { databaseUrl } = await embeddedServerOf(DATA_DIR);
    const second = await startForTest({ DATABASE_URL: databaseUrl, DATA_DIR: other });
    const { webhook_id: id } = await first.client.webhooks.create({ url: URL });
    const { webhooks } = second.client;
    for (const call of [
      () => webhooks.create({ url: URL }),
      () => webhooks.rollSecret(id),
      () => webhooks.update(id, { headers: { 'X-Key': 'value' } }),
    ]) {
      const { Status, requestId } = await refusalOf(call());
      expect(Status).toBe(500);
      const { errors } = first.client;
      await waitFor('the error to be recorded', () => errors.inspect(requestId).then(Boolean, () => false));
      const { causes } = await errors.inspect(requestId);
      expect(JSON.stringify(causes)).toContain('Set WEBHOOK_KEY to that key');
    }
    expect(await readdir(other)).not.toContain('webhook-key');
    expect(await webhooks.update(id, { description: 'x' })).toMatchObject({ description: 'x' });
    await second.stop();
  });

  test('processes that create the key at the same time get the same key', async () => {
    const { path, remove } = await temporaryDirectory();
    try {
      const processes = Array.from({ length: 3 }, () => openWebhookKeys(null, join(path, 'data')));
      // Each process has found that no key exists.
      for (const { read } of processes) expect(read()).toEqual([]);
      const made = processes.map(({ readOrCreate }) => readOrCreate()[0]?.toString('base64'));
      expect(new Set(made).size).toBe(1);
    } finally {
      await remove();
    }
  });
});

describe('WEBHOOK_KEY', () => {
  test.each([
    ['too short', 'c2hvcnQ='],
    ['hexadecimal', 'ab'.repeat(32)],
    ['three keys', [newKey(), newKey(), newKey()].join(',')],
    ['an empty second key', `${newKey()},`],
  ])('is refused if its form is wrong, and the message does not quote it: %s', async (_, value) => {
    const ending = await startInVain({ DATA_DIR: await directoryForTest(), WEBHOOK_KEY: value });
    expect(ending.exitCode).toBe(1);
    expect(ending.errors).toMatch(/^\nThe service cannot start: WEBHOOK_KEY must be 32 bytes in Base64/);
    expect(`${ending.errors}${ending.output}`).not.toContain(value.slice(0, 8));
  });

  test('is changed by a start that has the new key before the previous one, and encrypts everything again', async () => {
    const DATA_DIR = await directoryForTest();
    const [first, second] = [newKey(), newKey()];
    const secret = await runOnce({ DATA_DIR, WEBHOOK_KEY: first });
    expect(await readdir(DATA_DIR)).not.toContain('webhook-key');

    const unknown = await startInVain({ DATA_DIR, WEBHOOK_KEY: second });
    expect(unknown.exitCode).toBe(1);
    expect(unknown.errors).toMatch(
      /^\nThe service cannot start: [^\n]*it is not in WEBHOOK_KEY\. Set WEBHOOK_KEY[^\n]*\nRunbook: docs\/runbook\/webhook-key\.md\n$/,
    );
    for (const key of [first, second]) expect(`${unknown.errors}${unknown.output}`).not.toContain(key);

    // In the reverse order, both keys can decrypt, and nothing changes.
    const waiting = await startForTest({ DATA_DIR, WEBHOOK_KEY: `${first}, ${second}` });
    expect(await openAll(DATA_DIR, keysOf(first))).toHaveLength(2);
    await waiting.stop();

    const changing = await startForTest({ DATA_DIR, WEBHOOK_KEY: `${second},${first}` });
    expect(await openAll(DATA_DIR, keysOf(second))).toEqual([secret, '{"X-Key":"value"}'].sort());
    const [webhook] = (await changing.client.webhooks.list()).data;
    const changed = await changing.client.webhooks.update(webhook?.webhook_id ?? '', { headers: { 'X-More': 'x' } });
    expect(changed.header_names).toEqual(['X-Key', 'X-More']);
    await changing.stop();

    expect((await startInVain({ DATA_DIR, WEBHOOK_KEY: first })).exitCode).toBe(1);
    const last = await startForTest({ DATA_DIR, WEBHOOK_KEY: second });
    const shown = await runCommand(['config'], { DATA_DIR });
    expect(shown.output).toContain('\nWEBHOOK_KEY=(set)\n');
    expect(shown.output).not.toContain(second);
    await last.stop();
  });

  test('replaces the key in the file if the setting lists the new key before it', async () => {
    const DATA_DIR = await directoryForTest();
    await runOnce({ DATA_DIR });
    const earlier = (await readFile(join(DATA_DIR, 'webhook-key'), 'utf8')).trim();
    const key = newKey();
    expect((await startInVain({ DATA_DIR, WEBHOOK_KEY: key })).exitCode).toBe(1);
    await startForTest({ DATA_DIR, WEBHOOK_KEY: `${key},${earlier}` });
    expect(await openAll(DATA_DIR, keysOf(key))).toHaveLength(2);
  });
});
