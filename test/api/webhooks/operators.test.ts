import { beforeEach, describe, expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import type { KeyScope } from '../../../contract/scope.ts';
import type { TransferService } from '../../../sdk/client.ts';
import { programKey, withSecret } from '../../harness/keys.ts';
import { refusalOf } from '../../harness/service.ts';
import { relayOnce } from '../../store/events/relayed.ts';
import { URL, useStillService } from './still-service.ts';

const { client, withKey, admin, ledger, makeEvent } = await useStillService();

beforeEach(async () => {
  await admin.query('delete from webhook');
});

const PERIOD = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', only: 'all' } as const;

/** Returns all calls about a webhook, grouped into reads and changes. */
function callsAbout(webhooks: TransferService['webhooks'] | TransferService['operatorWebhooks'], id: string) {
  const event = { event_id: `evt_${'0'.repeat(32)}` };
  return {
    reading: [() => webhooks.get(id), () => webhooks.attempts(id)],
    changing: [
      () => webhooks.update(id, { status: 'disabled' }),
      () => webhooks.rollSecret(id),
      () => webhooks.test(id),
      () => webhooks.resend(id, event),
      () => webhooks.replay(id, PERIOD),
      () => webhooks.delete(id),
    ],
  };
}

async function codesOf(calls: readonly (() => Promise<unknown>)[]): Promise<readonly string[]> {
  return Promise.all(calls.map(async (call) => (await refusalOf(call())).Code));
}

async function keyWith(...scopes: KeyScope[]): Promise<TransferService> {
  const { key } = await withSecret(client.keys.create({ name: 'a test', scopes, program_id: DEMO_PROGRAM }));
  return withKey(key);
}

describe('a webhook of operators', () => {
  test('gets the events of all card programs, by their number', async () => {
    await makeEvent();
    const { number } = await client.events.search({ limit: 1 });
    const made = await client.operatorWebhooks.create({ url: URL, after: number - 1 });
    expect(made).toMatchObject({ program_id: null, position: number - 1, backlog: 1 });
    expect(made.response.headers.get('location')).toBe(`/api/v0.1/operator/webhook/${made.webhook_id}`);
    expect(await refusalOf(client.operatorWebhooks.create({ url: URL, after: number + 1 }))).toMatchObject({
      Code: 'create_operator_webhook_schema',
      Message: `'after' is ${number + 1}, but the last event has number ${number}.`,
    });
  });

  test('does not exist for card programs', async () => {
    const { webhook_id: id } = await client.operatorWebhooks.create({ url: URL });
    const { key } = await withSecret(client.keys.create(programKey('shop', DEMO_PROGRAM)));
    for (const { webhooks } of [client, withKey(key)]) {
      const { reading, changing } = callsAbout(webhooks, id);
      const codes = await codesOf([...reading, ...changing]);
      expect(codes).toEqual(codes.map(() => 'webhook_not_found'));
      expect((await webhooks.list()).data).toEqual([]);
    }
    expect(await client.operatorWebhooks.get(id)).toMatchObject({ status: 'enabled', replay: null });
  });

  test('records its own events among the events of the service', async () => {
    const { webhook_id: id } = await client.operatorWebhooks.create({ url: URL });
    await client.operatorWebhooks.update(id, { status: 'disabled' });
    await relayOnce(ledger.database);
    const { data } = await client.events.search({ type: 'webhook.disabled', subject_id: id });
    expect(data).toMatchObject([{ program_id: null, data: { webhook_id: id, status: 'disabled' } }]);
    expect((await client.events.list({ subject_id: id })).data).toEqual([]);
  });
});

describe('operators', () => {
  test('can use the webhooks of card programs, and list all of them by program and status', async () => {
    const { program_id: programId } = await client.programs.create({ name: 'Other', currency: 'USD' });
    const ofDemo = (await client.webhooks.create({ url: URL })).webhook_id;
    const ofOther = (await client.operatorWebhooks.create({ url: URL, program_id: programId })).webhook_id;
    const ofAll = (await client.operatorWebhooks.create({ url: URL })).webhook_id;
    expect(await client.webhooks.get(ofOther, { programId })).toMatchObject({ program_id: programId });
    await client.operatorWebhooks.update(ofDemo, { status: 'disabled' });
    const listed = async (query: object) =>
      (await client.operatorWebhooks.list(query)).data.map(({ webhook_id: id }) => id);
    expect(await listed({})).toEqual([ofAll, ofOther, ofDemo]);
    expect(await listed({ program_id: programId })).toEqual([ofOther]);
    expect(await listed({ status: 'disabled' })).toEqual([ofDemo]);
    expect(await listed({ status: 'disabled', program_id: programId })).toEqual([]);
    expect((await client.webhooks.list()).data).toMatchObject([{ webhook_id: ofDemo, status: 'disabled' }]);
  });

  test("are named in the audit log if they change a card program's webhook, without the values of headers", async () => {
    const { key } = await withSecret(
      client.keys.create({ name: 'operator', scopes: ['webhooks:write', 'operator'], all_programs: true }),
    );
    const { webhook_id: id } = await withKey(key).webhooks.create({ url: URL }, { programId: DEMO_PROGRAM });
    const change = { headers: { 'X-Key': 'value', 'X-None': null } };
    await withKey(key).webhooks.update(id, change, { programId: DEMO_PROGRAM });
    const [entry] = (await client.audit.list({ action: 'update_webhook', limit: 1 })).data;
    expect(entry).toMatchObject({ subject_id: id, program_id: DEMO_PROGRAM });
    expect(entry?.details).toMatchObject({ header_names: ['X-Key'], change: { headers: ['X-Key', 'X-None'] } });
  });
});

describe('the scopes', () => {
  test('allow reads but no changes with webhooks:read', async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    const reader = await keyWith('webhooks:read');
    const { reading, changing } = callsAbout(reader.webhooks, id);
    for (const call of [...reading, () => reader.webhooks.list()]) await call();
    const codes = await codesOf([...changing, () => reader.webhooks.create({ url: URL })]);
    expect(codes).toEqual(codes.map(() => 'forbidden'));
  });

  test('allow changes but no reads with webhooks:write, except for the record in the response to a change', async () => {
    const writer = await keyWith('webhooks:write');
    const { webhook_id: id } = await writer.webhooks.create({ url: URL });
    const { reading } = callsAbout(writer.webhooks, id);
    expect(await codesOf([...reading, () => writer.webhooks.list()])).toEqual(['forbidden', 'forbidden', 'forbidden']);
    expect(await writer.webhooks.update(id, { description: 'x' })).toMatchObject({ description: 'x' });
    expect(await writer.webhooks.delete(id)).toMatchObject({ webhook_id: id });
  });

  test("give a card program no access to the operators' operations", async () => {
    const { webhook_id: id } = await client.webhooks.create({ url: URL });
    const { key } = await withSecret(client.keys.create(programKey('shop', DEMO_PROGRAM)));
    const { operatorWebhooks } = withKey(key);
    const { reading, changing } = callsAbout(operatorWebhooks, id);
    const others = [() => operatorWebhooks.list(), () => operatorWebhooks.create({ url: URL })];
    const codes = await codesOf([...reading, ...changing, ...others]);
    expect(codes).toEqual(codes.map(() => 'forbidden'));
  });
});
