import { beforeAll, describe, expect, test } from 'vitest';
import { type KeyScope, type SearchResults, TransferService } from '../../../sdk/client.ts';
import { pendingApproval } from '../../fixtures/service-things.ts';
import { Conversation } from '../../harness/conversation.ts';
import { waitFor } from '../../harness/process.ts';
import { refusalOf, useService } from '../../harness/service.ts';

const running = useService();
const client = () => running().client;

/** Returns each result as its kind, its id and the reason for the match. */
function linesOf({ data }: SearchResults): readonly string[] {
  return data.flatMap(({ kind, results }) => results.map(({ id, matched }) => `${kind} ${id} by ${matched}`));
}

const find = async (q: string, more: { program_id?: string; created_from?: string; created_to?: string } = {}) =>
  linesOf(await client().search.find({ q, ...more }));

describe('search', () => {
  const programs = { shop: '', yen: '' };
  const made: Record<string, string> = {};

  beforeAll(async () => {
    const { cards, transfers, deposits, withdrawals } = client();
    programs.shop = (await client().programs.create({ name: 'Gift Shop', currency: 'USD' })).program_id;
    programs.yen = (await client().programs.create({ name: 'Yen', currency: 'JPY' })).program_id;
    const [shop, yen] = [{ programId: programs.shop }, { programId: programs.yen }];
    made.deposit = (
      await deposits.create(programs.shop, { amount: 1_000_000 }, { idempotencyKey: 'wire-1' })
    ).movement_id;
    made.withdrawal = (await withdrawals.create(programs.shop, { amount: 100 })).movement_id;
    await deposits.create(programs.yen, { amount: 1_000_000 });
    await cards.create({ card_id: 'gift-1', last_four: '7788', holder_reference: 'employee 71' }, shop);
    await cards.create({ card_id: 'gift-12', last_four: '7788' }, { ...shop, idempotencyKey: 'card-of-gift-12' });
    await cards.create({ card_id: 'yen-1', last_four: '7788', holder_reference: 'employee 71' }, yen);
    const load = { amount: 123_456, card_id: 'gift-1', reference: 'invoice 9', description: 'secret text' };
    made.load = (await transfers.create(load, { ...shop, idempotencyKey: 'order-9' })).transfer_id;
    made.yen = (await transfers.create({ amount: 123_456, card_id: 'yen-1', reference: 'invoice 9' }, yen)).transfer_id;
    made.reversal = (
      await transfers.reverse(made.load, { amount: 50 }, { ...shop, idempotencyKey: 'back-9' })
    ).reversal_id;
    const refused = await refusalOf(
      transfers.create(
        { amount: 9_000_000, card_id: 'gift-1', type: 'unload' },
        { ...shop, idempotencyKey: 'order-10' },
      ),
    );
    made.refused = refused.requestId;
    await waitFor('the error to be recorded', () =>
      client()
        .errors.inspect(refused.requestId)
        .then(Boolean, () => false),
    );
    const key = await client().keys.create({ name: 'till', program_id: programs.shop, scopes: ['transfers:read'] });
    made.key = key.key_id;
    const hook = { url: 'https://hooks.example/secret-path' };
    made.webhook =
      (
        await client()
          .webhooks.create(hook, shop)
          .catch(() => undefined)
      )?.webhook_id ?? '';
    // Events get their positions shortly after the commit.
    await waitFor('the event to have a position', async () => {
      const [event] = (await client().events.list({ type: 'transfer.completed' }, shop)).data;
      made.event = event?.event_id ?? '';
      return event !== undefined;
    });
    made.case = (await client().cases.create({ transfer_id: made.load, text: 'secret text' }, shop)).case_id;
    const incident = { title: 'Slow', public_text: 'Secret.', scope: 'program', program_id: programs.shop } as const;
    made.incident = (await client().incidents.create(incident)).incident_id;
    made.person = (await client().sandbox.signInAs({ person: 'operator' })).person_id ?? '';
    made.approval = await pendingApproval(client());
    const [entry] = (await client().audit.list({ action: 'create_key' })).data;
    made.entry = entry?.entry_id ?? '';
  });

  test.each([
    ['transfer', 'load'],
    ['reversal', 'reversal'],
    ['deposit', 'deposit'],
    ['withdrawal', 'withdrawal'],
    ['request', 'refused'],
    ['api_key', 'key'],
    ['event', 'event'],
    ['audit_entry', 'entry'],
    ['case', 'case'],
    ['incident', 'incident'],
    ['person', 'person'],
    ['approval', 'approval'],
  ])('finds a %s by its id in any program', async (kind, name) => {
    expect(await find(` ${made[name]} `)).toEqual([`${kind} ${made[name]} by id`]);
  });

  test('finds a successful request and shows its effect', async () => {
    const options = { programId: programs.shop };
    const { response } = await client().transfers.create({ amount: 7, card_id: 'gift-1' }, options);
    const requestId = response.requestId ?? '';
    const { data } = await client().search.find({ q: requestId });
    expect(data).toMatchObject([{ kind: 'request', results: [{ id: requestId, program_id: programs.shop }] }]);
    expect(await find(requestId, { program_id: programs.yen })).toEqual([]);
  });

  test('finds requests even if more callers search at once than the limit for long reads allows', async () => {
    const found = await Promise.all(Array.from({ length: 6 }, () => find(made.refused ?? '')));
    expect(found).toEqual(Array(6).fill([`request ${made.refused} by id`]));
  });

  test('finds a program by its id and by part of its name', async () => {
    expect(await find(programs.shop)).toEqual([`program ${programs.shop} by id`]);
    expect(await find('gift shop')).toEqual([`program ${programs.shop} by name`]);
  });

  test('finds cards and keys by part of a name in upper or lower case, only in the named program', async () => {
    const shop = { programId: programs.shop };
    await client().cards.create({ card_id: 'held-1', holder_reference: 'Priya Raman' }, shop);
    await client().cards.create({ card_id: 'held-2', holder_reference: 'PRIYA' }, { programId: programs.yen });
    expect(await find('Priya')).toEqual(['card held-2 by holder_reference', 'card held-1 by holder_reference']);
    expect(await find('raman')).toEqual(['card held-1 by holder_reference']);
    expect(await find('priya', { program_id: programs.yen })).toEqual(['card held-2 by holder_reference']);
    // Other tests on this service create cards whose ids begin with these letters.
    expect((await find('pr')).filter((line) => !line.endsWith(' by id_prefix'))).toEqual([]);
    expect(await find('Till')).toEqual([`api_key ${made.key} by name`]);
  });

  test('looks for an id only in the named program', async () => {
    expect(await find(made.load ?? '', { program_id: programs.shop })).toHaveLength(1);
    for (const name of [
      'load',
      'reversal',
      'deposit',
      'refused',
      'key',
      'event',
      'case',
      'incident',
      'person',
      'approval',
    ]) {
      expect(await find(made[name] ?? '', { program_id: programs.yen }), name).toEqual([]);
    }
    expect(await find(programs.shop, { program_id: programs.yen })).toEqual([]);
  });

  test('finds nothing for an unknown id or an id of a different kind', async () => {
    const hex = made.load?.slice(3);
    expect(await find(`rev_${hex}`)).toEqual([]);
    expect(await find(`dep_${made.withdrawal?.slice(3)}`)).toEqual([]);
    expect(await find(`tr_${'0'.repeat(32)}`)).toEqual([]);
  });

  test('finds transfers in every program by their reference, newest first', async () => {
    expect(await find('invoice 9')).toEqual([
      `transfer ${made.yen} by reference`,
      `transfer ${made.load} by reference`,
    ]);
    const { data } = await client().search.find({ q: 'invoice 9', program_id: programs.shop });
    expect(data).toEqual([
      {
        kind: 'transfer',
        has_more: false,
        results: [
          {
            id: made.load,
            program_id: programs.shop,
            matched: 'reference',
            summary: "Load of 1,234.56 USD to the card 'gift-1': completed",
            created_at: expect.any(String),
          },
        ],
      },
    ]);
  });

  test('finds deposits and withdrawals by their reference', async () => {
    const { movement_id } = await client().deposits.create(programs.yen, { amount: 7, reference: 'bank line 9' });
    const other = await client().withdrawals.create(programs.shop, { amount: 7, reference: 'bank line 9' });
    expect(await find('bank line 9')).toEqual([
      `deposit ${movement_id} by reference`,
      `withdrawal ${other.movement_id} by reference`,
    ]);
    expect(await find('bank line 9', { program_id: programs.shop })).toEqual([
      `withdrawal ${other.movement_id} by reference`,
    ]);
  });

  const REFUSED_BY = /^Key of create_transfer: refused with 409 insufficient_funds \(first sent by req_[0-9a-f]{32}\)$/;

  test('finds the result of an idempotency key, or the reason for its refusal', async () => {
    expect(await find('order-9')).toEqual([`transfer ${made.load} by idempotency_key`]);
    expect(await find('back-9')).toEqual([`reversal ${made.reversal} by idempotency_key`]);
    expect(await find('card-of-gift-12')).toEqual(['card gift-12 by idempotency_key']);
    const { data } = await client().search.find({ q: 'order-10' });
    expect(data).toMatchObject([
      {
        kind: 'idempotency_key',
        results: [{ id: 'order-10', summary: expect.stringMatching(REFUSED_BY) }],
      },
    ]);
    const [wire] = (await client().search.find({ q: 'wire-1' })).data;
    expect(wire?.results[0]?.summary).toMatch(
      new RegExp(`^Key of create_deposit: ${made.deposit} \\(first sent by req_`),
    );
  });

  test('finds cards by id, start of an id, last four digits and holder', async () => {
    expect(await find('gift-1')).toEqual(['card gift-1 by id', 'card gift-12 by id_prefix']);
    expect(await find('7788')).toEqual([
      'card yen-1 by last_four',
      'card gift-12 by last_four',
      'card gift-1 by last_four',
    ]);
    expect(await find('employee 71', { program_id: programs.shop })).toEqual(['card gift-1 by holder_reference']);
    const [cards] = (await client().search.find({ q: 'employee 71' })).data;
    expect(JSON.stringify(cards)).not.toContain('employee 71');
  });

  test('finds transfers by an amount, in the format of each currency, and by a time', async () => {
    expect(await find('1234.56')).toEqual([`transfer ${made.load} by amount`]);
    expect(await find('1234.56 usd')).toEqual([`transfer ${made.load} by amount`]);
    expect(await find('123456')).toEqual([`transfer ${made.yen} by amount`]);
    expect(await find('123456 USD')).toEqual([]);
    for (const text of ['$1,234.56', '1,234.56', 'Employee 1,234.56', '1234.56 usd employee', 'gift-1 1234.56']) {
      expect([text, await find(text)]).toEqual([text, /gift/.test(text) ? [] : [`transfer ${made.load} by amount`]]);
    }
    expect(await find('missing 1234.56')).toEqual([]);
    const { created_at } = await client().transfers.get(made.load ?? '', { programId: programs.shop });
    const after = new Date(Date.parse(created_at) + 1).toISOString();
    expect(await find('1234.56', { created_from: created_at, created_to: after })).toHaveLength(1);
    expect(await find('1234.56', { created_from: after })).toEqual([]);
    expect(await find('1234.56', { created_to: created_at })).toEqual([]);
  });

  test('finds an error code, with the latest requests that failed with it', async () => {
    expect(await find('insufficient_funds', { program_id: programs.shop })).toEqual([
      `request ${made.refused} by error_code`,
      'error_code insufficient_funds by error_code',
    ]);
  });

  test('shows a few results of each kind, and indicates when more exist', async () => {
    for (let number = 0; number < 6; number += 1) await client().cards.create({ card_id: `many-${number}` });
    const { data, complete } = await client().search.find({ q: 'many-' });
    expect(data).toMatchObject([{ kind: 'card', has_more: true }]);
    expect(data[0]?.results).toHaveLength(5);
    expect(complete).toBe(true);
    expect((await client().search.find({ q: 'many-1' })).data).toMatchObject([{ has_more: false }]);
  });

  test.each([
    { q: '   ' },
    { q: 'x'.repeat(256) },
    { q: 'x', program_id: 'shop' },
    { q: 'x', created_from: '2030-01-02T00:00:00Z', created_to: '2030-01-01T00:00:00Z' },
  ])('refuses %j', async (query) => {
    expect(await refusalOf(client().search.find(query))).toMatchObject({ Code: 'search_schema', Status: 400 });
  });

  test('sends a partial result to a caller that half-closes the connection', async () => {
    const connection = new Conversation(Number(new URL(running().url).port));
    const bytes = Buffer.from('GET /api/v0.1/operator/search?q=gift-1 HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const { responses } = await connection.exchange(bytes, [{ method: 'GET' }], true);
    expect(responses).toEqual([expect.objectContaining({ status: 200, body: expect.stringContaining('gift-1') })]);
  });

  test('refuses a card number and stores it nowhere', async () => {
    for (const q of ['4111111111111111', '4111 1111 1111 1111', 'card 4111-1111-1111-1111 please']) {
      const refused = await refusalOf(client().search.find({ q }));
      expect(refused).toMatchObject({ Code: 'card_number_refused', field: '/q' });
      expect(refused.Message).not.toContain('1111');
    }
  });

  test('stores no search queries in the error log', async () => {
    const refused = await refusalOf(client().search.find({ q: 'employee 71', program_id: 'shop' }));
    await waitFor('the error to be recorded', () =>
      client()
        .errors.inspect(refused.requestId)
        .then(Boolean, () => false),
    );
    expect(JSON.stringify(await client().errors.inspect(refused.requestId))).not.toContain('employee 71');
  });

  test('finds a case only for a key that may read cases, and does not show what people wrote in it', async () => {
    for (const scopes of [['operator:read'], ['operator:read', 'cases:read'], ['operator:read', 'operator:cases']]) {
      const { key } = await client().keys.create({ name: 'finder', all_programs: true, scopes: scopes as KeyScope[] });
      const finder = new TransferService({ baseUrl: running().url, key: key ?? '', timeoutMilliseconds: 120_000 });
      const { data } = await finder.search.find({ q: made.case ?? '' });
      expect(data.map(({ kind }) => kind)).toEqual(scopes.length === 1 ? [] : ['case']);
      expect(JSON.stringify(data)).not.toContain('secret text');
    }
    const { data } = await client().search.find({ q: made.incident ?? '', program_id: programs.shop });
    expect(data).toMatchObject([{ results: [{ summary: 'Incident “Slow”: open', program_id: programs.shop }] }]);
  });

  test('shows who a person is, and who requested an approval', async () => {
    const summaryOf = async (id = '') => (await client().search.find({ q: id })).data[0]?.results[0];
    expect(await summaryOf(made.person)).toMatchObject({
      summary: 'Person Olivia Park, operator',
      program_id: null,
      created_at: expect.any(String),
    });
    await client().people.block(made.person ?? '');
    expect(await summaryOf(made.person)).toMatchObject({ summary: 'Person Olivia Park, operator, blocked' });
    await client().people.unblock(made.person ?? '');
    const approval = await client().approvals.get(made.approval ?? '');
    expect(await summaryOf(made.approval)).toEqual({
      id: made.approval,
      program_id: approval.program_id,
      matched: 'id',
      summary: `Request of ${approval.requested_by_name} to ${approval.summary}: pending`,
      created_at: approval.requested_at,
    });
    await client().approvals.reject(made.approval ?? '', { reason: 'tried' });
    expect((await summaryOf(made.approval))?.summary).toMatch(/: rejected$/);
  });

  test("refuses keys that are not operators' keys", async () => {
    const { key } = await client()
      .keys.create({ name: 'program', program_id: programs.shop, role: 'support' })
      .catch(() => client().keys.create({ name: 'program', program_id: programs.shop, scopes: ['transfers:read'] }));
    const program = new TransferService({ baseUrl: running().url, key: key ?? '', timeoutMilliseconds: 120_000 });
    expect((await refusalOf(program.search.find({ q: 'x' }))).Code).toBe('forbidden');
  });
});
