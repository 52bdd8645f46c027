import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { HOLD_SWITCH } from '../../../server/store/locks.ts';
import { claimAttempts, markSent, toClaimedAttempt } from '../../../server/store/processors/attempt.ts';
import { settleDue } from '../../../server/subjects/transfers/change-transfer.ts';
import { attemptOf, SilentProcessors } from '../../fixtures/processors.ts';
import { ledgerGateway, startHttpServer } from '../../harness/http-server.ts';
import { connect, UNLIMITED } from '../../harness/ledger.ts';
import { waitFor } from '../../harness/process.ts';
import { sendRaw } from '../../harness/raw-request.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

// Tests the switch for the orders to one connector. test/processors/sending.test.ts tests how it affects orders that
// already exist.
const server = await useServer();
const ledger = useLedger(server.connection, undefined, undefined, UNLIMITED, new SilentProcessors());
const client = await useConnection(server.connection);
const http = await startHttpServer(ledgerGateway(ledger));
afterAll(() => http.server.close());
const url = `http://127.0.0.1:${http.port}`;

checkBalances(ledger);

const SWITCH = '/api/v0.1/operator/switch';
const TRANSFER = '/api/v0.1/core/transfer';
const AT = { connector_id: 'simulator' };
const DISABLED_SIMULATOR = "The service is disabled for the connector 'simulator'.";

async function ask(method: string, path: string, body?: object, more: Readonly<Record<string, string>> = {}) {
  const { status, fields, headers } = await sendRaw(url, { method, path, body, headers: more });
  return { status, fields, code: fields.Code, headers };
}

const disable = (scope: object, more: object = {}) =>
  ask('POST', SWITCH, { disabled: true, reason: 'fraud', ...scope, ...more });
const enable = (scope: object) => ask('POST', SWITCH, { disabled: false, ...scope });
const changes: object[] = [];

/** Disables a scope until the end of the test. */
async function disabled(scope: object, more: object = {}) {
  changes.push(scope);
  const changed = await disable(scope, more);
  expect(changed.status).toBe(200);
  return changed;
}

afterEach(async () => {
  for (const scope of changes.splice(0)) expect((await enable(scope)).status).toBe(200);
});

const atProcessor = { connector_id: 'simulator', processor_token: 'sim_approve' };

async function newCard(more: object = atProcessor): Promise<string> {
  const card_id = `card-${randomUUID()}`;
  expect((await ask('POST', '/api/v0.1/core/card', { card_id, ...more })).status).toBe(201);
  return card_id;
}

const create = (card_id: string, more: object = {}) => ask('POST', TRANSFER, { amount: 10, card_id, ...more });

async function demoProgram(): Promise<string> {
  const { fields } = await ask('GET', '/api/v0.1/operator/program');
  const programs = fields.data as readonly { readonly program_id: string; readonly name: string }[];
  return programs.at(-1)?.program_id ?? '';
}

describe('change_switch of a connector', () => {
  test('shows the change in get_switch and in events, with the reason for operators and without it for programs', async () => {
    const changed = await disabled(AT);
    const record = { scope: 'connector', ...AT, program_id: null, type: null, disabled: true, reason: 'fraud' };
    expect(changed.fields).toMatchObject(record);
    const { data } = (await ask('GET', SWITCH)).fields as { readonly data: readonly object[] };
    expect(data[0]).toEqual(changed.fields);
    const { rows } = await client.query<{ readonly payload: Readonly<Record<string, unknown>> }>(
      `select payload::json as payload from event where type = 'switch.changed' and payload::json ->> 'connector_id' = 'simulator'
        order by payload::text like '%reason%'`,
    );
    const { reason: _reason, actor: _actor, ...shown } = changed.fields;
    expect(rows.map(({ payload }) => payload)).toEqual([shown, changed.fields]);
    const audited = await client.query(
      "select details::json ->> 'connector_id' as at from audit_entry where action = 'change_switch' order by position desc limit 1",
    );
    expect(audited.rows).toEqual([{ at: 'simulator' }]);
  });

  test.each([
    [{ connector_id: 'missing' }, 'connector_not_found', "This service has no connector 'missing'."],
    [{ ...AT, type: 'card_to_card' }, 'change_switch_schema', "with 'connector_id' it must be 'load' or 'unload'"],
    [{ connector_id: '' }, 'change_switch_schema', 'connector_id'],
    [{ ...AT, program_id: 'prog_missing' }, 'program_not_found', "There is no card program 'prog_missing'."],
  ])('refuses %j', async (scope, code, message) => {
    const { fields } = await disable(scope);
    expect(fields).toMatchObject({ Code: code, Message: expect.stringContaining(message) });
  });

  test('enables a connector that is no longer in the settings', async () => {
    expect((await enable({ connector_id: 'gone' })).code).toBe('connector_not_found');
    await client.query(
      `insert into connector_switch (switch_id, connector_id, disabled, actor, since)
        values (gen_random_uuid(), 'gone', true, 'x', now())`,
    );
    const preview = await ask('GET', `${SWITCH}/preview?connector_id=gone`);
    expect(preview.fields.in_force).toMatchObject([{ scope: 'connector', connector_id: 'gone' }]);
    expect((await enable({ connector_id: 'gone' })).fields).toMatchObject({ disabled: false });
  });

  test('previews the orders, programs and scheduled transfers of the connector', async () => {
    const card = await newCard();
    expect((await create(card)).status).toBe(201);
    const at = new Date(Date.now() + 7_200_000).toISOString();
    expect((await create(card, { scheduled_for: at })).status).toBe(201);
    expect((await create('card_active', { scheduled_for: at })).status).toBe(201);
    const of = async (query: string) => (await ask('GET', `${SWITCH}/preview?connector_id=simulator${query}`)).fields;
    const found = await of('&type=load');
    expect(found).toMatchObject({ scope: 'connector', ...AT, type: 'load', in_force: [], scheduled: { transfers: 1 } });
    expect(found.programs).toMatchObject({ count: 1, data: [{ name: 'Demo program' }] });
    expect(found.last_hour).toMatchObject({ transfers: expect.any(Number), at_least: false });
    expect((found.last_hour as { readonly transfers: number }).transfers).toBeGreaterThan(0);
    expect(await of('&type=unload')).toMatchObject({ scheduled: { transfers: 0 }, programs: { count: 0 } });
    await disabled(AT);
    expect(await of(`&program_id=${await demoProgram()}`)).toMatchObject({ in_force: [{ scope: 'connector', ...AT }] });
    expect((await ask('GET', `${SWITCH}/preview`)).fields.in_force).toEqual([]);
    expect((await ask('GET', `${SWITCH}/preview?connector_id=missing`)).code).toBe('connector_not_found');
  });
});

describe('while a connector is disabled', () => {
  test('refuses loads and unloads of its cards, names the connector and when it will be enabled again, and refuses no other transfer', async () => {
    const card = await newCard();
    await disabled(AT, { until: new Date(Date.now() + 3_600_000).toISOString() });
    const refused = await create(card);
    expect(refused).toMatchObject({ status: 424, fields: { Code: 'service_disabled', Type: 'Process Error' } });
    expect(refused.fields.Message).toContain(DISABLED_SIMULATOR);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(1_800);
    expect((await create('card_active')).status).toBe(201);
    const between = { type: 'card_to_card', destination_card_id: 'card_active' };
    expect((await create(card, between)).code).toBe('connector_not_supported');
    const rows = [card, 'card_active'].map((card_id) => ({ amount: 10, card_id, idempotency_key: randomUUID() }));
    const { fields } = await ask('POST', `${TRANSFER}/batch`, { transfers: rows });
    expect(JSON.stringify(fields)).toContain(DISABLED_SIMULATOR);
    expect(JSON.stringify(fields)).toContain('"completed"');
  });

  test.each<[scope: { readonly program?: 'demo' | 'other'; readonly type?: string }, type: string, isMade: boolean]>([
    [{ type: 'unload' }, 'load', true],
    [{ type: 'load' }, 'load', false],
    [{ program: 'demo' }, 'unload', false],
    [{ program: 'other' }, 'load', true],
    [{ program: 'demo', type: 'unload' }, 'load', true],
  ])('with %j disabled, a %s is accepted: %s', async ({ program, ...scope }, type, isMade) => {
    const card = await newCard();
    const other = { name: `Other ${randomUUID()}`, currency: 'USD' };
    const programId = {
      demo: demoProgram,
      other: async () => String((await ask('POST', '/api/v0.1/operator/program', other)).fields.program_id),
    };
    const named = program === undefined ? {} : { program_id: await programId[program]() };
    await disabled({ ...AT, ...scope, ...named });
    expect((await create(card, { type })).status).toBe(isMade ? 201 : 424);
  });

  test('shows the disabled connector in explain_transfer and in the limits of the card', async () => {
    const card = await newCard();
    await disabled({ ...AT, type: 'load' });
    const { fields } = await ask('POST', `${TRANSFER}/explain`, { amount: 10, card_id: card });
    const message = "The service is disabled for transfers of type 'load' at the connector 'simulator'.";
    expect(fields).toMatchObject({ would_succeed: false, first_failure: 'service_disabled' });
    expect(fields.checks).toContainEqual({
      name: 'service_enabled',
      outcome: 'failed',
      code: 'service_disabled',
      message,
      saw: { disabled: true, scope: 'connector', connector_id: 'simulator', until: null },
    });
    const limits = await ask('GET', `/api/v0.1/core/card/${card}/limits`);
    expect(limits.fields).toMatchObject({ in: { most: 0 } });
    expect(limits.fields).not.toMatchObject({ out: { most: 0 } });
  });

  test("keeps the connector's due scheduled transfers waiting without delaying others, and executes them once it is enabled", async () => {
    const scheduled_for = new Date(Date.now() + 3_600_000).toISOString();
    const made = await create(await newCard(), { scheduled_for });
    const other = await create('card_active', { scheduled_for });
    const statusOf = async ({ fields }: typeof made) =>
      (await ask('GET', `${TRANSFER}/${fields.transfer_id}`)).fields.status;
    await disabled(AT);
    await ledger.call('move_clock', { seconds_ahead: 3_601 });
    try {
      await settleDue(ledger.service);
      expect([await statusOf(made), await statusOf(other)]).toEqual(['scheduled', 'completed']);
      await enable(AT);
      await settleDue(ledger.service);
      expect(await statusOf(made)).toBe('pending');
    } finally {
      await ledger.call('move_clock', { seconds_ahead: 0 });
    }
  });

  test('does not mark an order as sent if it was claimed before the change', async () => {
    const { fields } = await create(await newCard());
    const claim = async (lease: number) =>
      (await ledger.database.writeUnguarded(claimAttempts(['simulator'], 1_000, { ready: lease, other: 1 })))
        .map(toClaimedAttempt)
        .find(({ attempt }) => `tr_${attempt.transferId.replaceAll('-', '')}` === fields.transfer_id);
    const claimed = await claim(0);
    expect(claimed).toMatchObject({ isDisabled: false });
    await disabled(AT);
    const attempt = await attemptOf(ledger, String(fields.transfer_id));
    expect(await ledger.database.write(markSent([attempt], 30_000))).toEqual([]);
    expect(await claim(0)).toMatchObject({ isDisabled: true });
    expect(await attemptOf(ledger, String(fields.transfer_id))).toMatchObject({ status: 'ready', tries: 0 });
    await enable(AT);
    expect(await ledger.database.write(markSent([attempt], 30_000))).toHaveLength(1);
  });
});

describe('list_connectors', () => {
  const disabledBy = async () => {
    const { data } = (await ask('GET', '/api/v0.1/operator/connector')).fields as { readonly data: readonly object[] };
    expect(data).toMatchObject([AT]);
    return (data[0] as { readonly disabled_by: readonly object[] }).disabled_by;
  };

  test('lists the settings that disable a connector, the widest scope first, as change_switch returned them', async () => {
    expect(await disabledBy()).toEqual([]);
    const inProgram = await disabled({ ...AT, program_id: await demoProgram(), type: 'load' });
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const inAll = await disabled(AT, { until });
    await disabled({ program_id: await demoProgram(), type: 'card_to_card' });
    expect(await disabledBy()).toEqual([inAll.fields, inProgram.fields]);
    expect(inAll.fields).toMatchObject({ until, reason: 'fraud', since: expect.any(String) });
    await enable(AT);
    expect(await disabledBy()).toEqual([inProgram.fields]);
  });

  test('leaves out settings whose end has passed', async () => {
    await disabled(AT, { until: new Date(Date.now() + 3_600_000).toISOString() });
    await ledger.call('move_clock', { seconds_ahead: 3_601 });
    try {
      expect(await disabledBy()).toEqual([]);
    } finally {
      await ledger.call('move_clock', { seconds_ahead: 0 });
    }
  });
});

describe('disabling a connector while transfers arrive', () => {
  test('creates no transfer after the response that disables the connector', async () => {
    const card = await newCard();
    const count = async (): Promise<number> => {
      const { rows } = await client.query<{ readonly count: string }>(
        'select count(*) from processor_attempt join card using (program_id, card_id) where card.name = $1',
        [card],
      );
      return Number(rows[0]?.count);
    };
    const replies = Array.from({ length: 60 }, () => create(card));
    await disabled(AT);
    const made = await count();
    const late = Array.from({ length: 10 }, () => create(card));
    const statuses = (await Promise.all(replies)).map(({ status }) => status);
    expect((await Promise.all(late)).map(({ code }) => code)).toEqual(late.map(() => 'service_disabled'));
    expect(await count()).toBe(made);
    expect(statuses.filter((status) => status === 201)).toHaveLength(made);
    expect(new Set(statuses).difference(new Set([201, 424]))).toEqual(new Set());
  });

  test('refuses a transfer if its connector was disabled while the transfer was waiting for the switch', async () => {
    const card = await newCard();
    const stranger = await connect(server.connection);
    try {
      await stranger.query('begin');
      await stranger.query(HOLD_SWITCH.text);
      const refused = create(card);
      const waiting = `select from pg_stat_activity where wait_event_type = 'Lock'
        and application_name = 'transfer-service' and datname = current_database()`;
      await waitFor('the transfer to wait', async () => ((await client.query(waiting)).rowCount ?? 0) > 0);
      await stranger.query(
        `insert into connector_switch (switch_id, connector_id, disabled, reason, actor, since)
          values (gen_random_uuid(), 'simulator', true, 'x', 'x', now())
          on conflict (connector_id, program_id, transfer_type) do update set disabled = true`,
      );
      await stranger.query('commit');
      expect((await refused).code).toBe('service_disabled');
    } finally {
      await stranger.end();
      await enable(AT);
    }
  });
});
