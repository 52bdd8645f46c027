import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { TransferService } from '../../../sdk/client.ts';
import { openVault } from '../../../server/subjects/webhooks/vault.ts';
import { refusalOf } from '../../harness/service.ts';
import { innerId, URL, useStillService } from './still-service.ts';

const { client, admin, ledger } = await useStillService();

beforeEach(async () => {
  await admin.query('delete from webhook');
});

const DAY = 86_400_000;

/** Returns the stored secrets of a webhook, newest first, as a delivery uses them. */
async function storedSecrets(id: string): Promise<readonly string[]> {
  const { rows } = await admin.query(
    'select sealed from webhook_secret where webhook_id = $1 order by secret_id desc',
    [innerId(id)],
  );
  return rows.map(({ sealed }) => ledger.service.webhooks.vault.open(sealed, innerId(id)));
}

async function roll({ webhooks }: TransferService, id: string, previousUntil?: string): Promise<string> {
  const body = previousUntil === undefined ? {} : { previous_until: previousUntil };
  const { secret } = await webhooks.rollSecret(id, body);
  return secret ?? '';
}

describe('roll_webhook_secret', () => {
  test('keeps signing with the previous secret for one more day', async () => {
    const made = await client.webhooks.create({ url: URL });
    const rolled = await client.webhooks.rollSecret(made.webhook_id);
    expect(rolled.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(rolled.secret).not.toBe(made.secret);
    const [newest, earlier, ...more] = rolled.secrets;
    expect([newest?.expires_at, earlier?.secret_id, more]).toEqual([null, made.secrets[0]?.secret_id, []]);
    const overlap = Date.parse(earlier?.expires_at ?? '') - Date.parse(newest?.created_at ?? '');
    expect(Math.abs(overlap - DAY)).toBeLessThan(60_000);
    expect(await storedSecrets(made.webhook_id)).toEqual([rolled.secret, made.secret]);
    const { secret: _, secret_omitted: __, ...shown } = rolled;
    expect({ ...(await client.webhooks.get(made.webhook_id)) }).toEqual(shown);
  });

  test('keeps signing with the previous secret until a given time, but never longer than before', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    await roll(client, id, soon);
    await roll(client, id, '2100-01-01T00:00:00Z');
    const { secrets } = await client.webhooks.get(id);
    expect(secrets.map(({ expires_at }) => expires_at)).toEqual([null, '2100-01-01T00:00:00.000Z', soon]);
  });

  test('signs with at most three secrets, and ends the oldest', async () => {
    const { webhook_id: id, secret } = await client.webhooks.create({ url: URL });
    const rolled = [await roll(client, id), await roll(client, id)];
    expect(await storedSecrets(id)).toEqual([...rolled.toReversed(), secret]);
    const third = await roll(client, id);
    expect(await storedSecrets(id)).toEqual([third, ...rolled.toReversed()]);
  });

  test('ends all previous secrets immediately if the given time is in the past, for example after a leak', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    await roll(client, id);
    const secret = await roll(client, id, '2001-01-01T00:00:00Z');
    expect(await storedSecrets(id)).toEqual([secret]);
  });

  test('runs concurrent rolls one after the other, and then signs with the newest three secrets', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    const rolled = await Promise.all(Array.from({ length: 6 }, () => roll(client, id)));
    const stored = await storedSecrets(id);
    expect(stored).toHaveLength(3);
    for (const secret of stored) expect(rolled).toContain(secret);
  });

  test("ignores the sandbox's clock, because signatures use the real time", async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    await client.sandbox.moveClock({ seconds_ahead: 3 * 86_400 });
    try {
      await roll(client, id);
      const { secrets } = await client.webhooks.get(id);
      expect(Date.parse(secrets[1]?.expires_at ?? '')).toBeLessThan(Date.now() + 1.5 * DAY);
    } finally {
      await client.sandbox.moveClock({ seconds_ahead: 0 });
    }
  });

  test('no longer lists an expired secret', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    await roll(client, id);
    await admin.query(
      "update webhook_secret set expires_at = now() - interval '1 second' where expires_at is not null",
    );
    expect((await client.webhooks.get(id)).secrets).toHaveLength(1);
  });
});

describe('secrets and headers', () => {
  test('are only in the first response, and never in plain text in the database', async () => {
    const value = `value-${randomUUID()}`;
    const idempotencyKey = randomUUID();
    const made = await client.webhooks.create({ url: URL, headers: { 'X-Key': value } }, { idempotencyKey });
    const { webhook_id: id } = made;
    const rolled = await client.webhooks.rollSecret(id, {}, { idempotencyKey });
    await client.webhooks.update(id, { headers: { 'X-Other': value }, status: 'disabled' });
    await client.webhooks.test(id);
    await client.operatorWebhooks.update(id, { headers: { 'X-Third': value } });
    await refusalOf(client.webhooks.update(id, { url: 'http://10.0.0.1/', headers: { 'X-Key': value } }));
    const secrets = [made.secret ?? '', rolled.secret ?? '', value];
    const shown = JSON.stringify([
      await client.webhooks.get(id),
      await client.webhooks.list(),
      await client.operatorWebhooks.get(id),
      await client.audit.list({ limit: 100 }),
    ]);
    for (const secret of secrets) expect(shown).not.toContain(secret);
    const { rows: tables } = await admin.query(
      "select relname from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace",
    );
    expect(tables.length).toBeGreaterThan(30);
    for (const { relname } of tables) {
      const { rows } = await admin.query(`select stored::text as text from ${relname} as stored`);
      const text = rows.map((row) => row.text).join('\n');
      for (const secret of secrets) {
        expect(text, relname).not.toContain(secret);
        expect(text, relname).not.toContain(Buffer.from(secret).toString('hex'));
      }
    }
  });

  test('are missing from the replay of a request', async () => {
    const idempotencyKey = randomUUID();
    for (const webhooks of [client.webhooks, client.operatorWebhooks]) {
      const made = await webhooks.create({ url: URL }, { idempotencyKey });
      const again = await webhooks.create({ url: URL }, { idempotencyKey });
      expect(again.response).toMatchObject({ status: 201, replayed: true });
      expect({ ...again }).toEqual({ ...made, secret: null, secret_omitted: expect.stringMatching(/roll/) });
      const rolled = await webhooks.rollSecret(made.webhook_id, {}, { idempotencyKey });
      const rolledAgain = await webhooks.rollSecret(made.webhook_id, {}, { idempotencyKey });
      expect({ ...rolledAgain }).toEqual({ ...rolled, secret: null, secret_omitted: expect.any(String) });
      expect(await storedSecrets(made.webhook_id)).toEqual([rolled.secret, made.secret]);
    }
  });
});

describe('the vault', () => {
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const ID = '01900000-0000-7000-8000-000000000001';
  const sealed = openVault([first]).seal('whsec_ä', ID);

  test('decrypts a secret that any of its keys encrypted, for the same webhook only', () => {
    expect(openVault([first]).open(sealed, ID)).toBe('whsec_ä');
    expect(openVault([second, first]).open(sealed, ID)).toBe('whsec_ä');
    expect(openVault([first]).seal('whsec_ä', ID).equals(sealed)).toBe(false);
    expect(() => openVault([second]).open(sealed, ID)).toThrow('not encrypted with a key of this process');
    expect(() => openVault([first]).open(sealed, ID.replace(/1$/, '2'))).toThrow();
  });

  test.each(sealed.keys().toArray())('refuses an encrypted secret if byte %i was changed', (at) => {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => openVault([first]).open(changed, ID)).toThrow();
  });

  test('refuses a truncated encrypted secret', () => {
    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => openVault([first]).open(sealed.subarray(0, length), ID)).toThrow();
    }
  });
});
