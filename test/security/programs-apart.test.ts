import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { existingThings, partsOf, type Thing, thingIn, toRaw } from '../fixtures/operations.ts';
import type { RawRequest, RawResponse } from '../harness/raw-request.ts';
import {
  headersFor,
  MARK,
  neverMade,
  OPERATOR_OPERATIONS,
  PROGRAM_OPERATIONS,
  type ProgramData,
  pathOf,
  startTwoPrograms,
  type Tenant,
  type TwoPrograms,
  WEBHOOK_URL,
} from './two-programs.ts';

/** Returns a request with ids of `other`. The program that owns `own` sends the request. */
type Attempt = (other: ProgramData, own: ProgramData) => RawRequest | Promise<RawRequest>;

const query = (operation: OperationId, id: string, ...pairs: readonly (readonly [string, string])[]): RawRequest => ({
  method: 'GET',
  path: `${pathOf(operation, id)}?${new URLSearchParams(Object.fromEntries(pairs))}`,
});
const read = (operation: OperationId, id: string): RawRequest => ({ method: 'GET', path: pathOf(operation, id) });
/** Requests that changed something in a program. */
const REQUESTS = ['transferRequest', 'reversalRequest', 'cardRequest'] as const;
const write = (operation: OperationId, id: string, body: object, key?: string): RawRequest => ({
  method: OPERATIONS[operation].method,
  path: pathOf(operation, id),
  headers: key === undefined ? {} : headersFor(operation, key),
  body,
});

/** Filters that find the transfers of a card or a reference. */
const FILTERS: readonly ((other: ProgramData) => RawRequest)[] = [
  ({ card }) => query('list_transfers', '', ['card_id', card]),
  ({ namedCard }) => query('list_transfers', '', ['card_id', namedCard]),
  ({ reference }) => query('list_transfers', '', ['reference', reference]),
  ({ idempotencyKey }) => query('list_transfers', '', ['idempotency_key', idempotencyKey]),
  ({ card }) =>
    query(
      'list_transfers',
      '',
      ['card_id', card],
      ['status', 'pending'],
      ['metadata_name', 'note'],
      ['metadata_value', MARK],
    ),
];

/** Other ways to name a record of another program: in a body, a query, a cursor or an idempotency key. */
const FURTHER: Partial<Readonly<Record<OperationId, readonly Attempt[]>>> = {
  create_transfer: [
    ({ card }) => write('create_transfer', '', { amount: 1, card_id: card }),
    ({ namedCard }) => write('create_transfer', '', { amount: 1, card_id: namedCard }),
    ({ card }) => write('create_transfer', '', { amount: 1, card_id: card, type: 'unload' }),
    ({ card }, own) =>
      write('create_transfer', '', { amount: 1, card_id: own.card, type: 'card_to_card', destination_card_id: card }),
    ({ card }, own) =>
      write('create_transfer', '', { amount: 1, card_id: card, type: 'card_to_card', destination_card_id: own.card }),
    ({ card }) => write('create_transfer', '', { amount: 1, card_id: card, scheduled_for: '2099-01-01T00:00:00Z' }),
    ({ card, idempotencyKey }) => write('create_transfer', '', { amount: 500, card_id: card }, idempotencyKey),
    ({ reference }, own) => write('create_transfer', '', { amount: 1, card_id: own.card, reference }),
    ({ idempotencyKey }, own) => write('create_transfer', '', { amount: 1, card_id: own.card }, idempotencyKey),
  ],
  list_transfers: [...FILTERS, ({ cursors }) => query('list_transfers', '', ['cursor', cursors.transfers])],
  export_transfers: FILTERS.map(
    (attempt): Attempt =>
      (other) => {
        const { path = '', ...request } = attempt(other);
        return { ...request, path: path.replace(OPERATIONS.list_transfers.path, OPERATIONS.export_transfers.path) };
      },
  ),
  explain_transfer: [
    ({ card }) => write('explain_transfer', '', { amount: 1, card_id: card }),
    ({ card }, own) =>
      write('explain_transfer', '', { amount: 1, card_id: own.card, type: 'card_to_card', destination_card_id: card }),
    ({ reference }, own) => write('explain_transfer', '', { amount: 1, card_id: own.card, reference }),
  ],
  create_transfer_batch: [
    ({ card, namedCard, idempotencyKey, reference }, own) =>
      write('create_transfer_batch', '', {
        transfers: [
          { amount: 1, card_id: card, idempotency_key: 'row 1' },
          { amount: 1, card_id: namedCard, idempotency_key: 'row 2' },
          { amount: 2, card_id: own.card, idempotency_key: `${idempotencyKey} in a batch` },
          { amount: 2, card_id: own.card, idempotency_key: `row of ${reference}`, reference: `${reference}, batch` },
        ],
      }),
  ],
  capture_transfer: [
    ({ hold }) => write('capture_transfer', hold, {}),
    ({ transfer, idempotencyKey }) => write('capture_transfer', transfer, { amount: 100 }, idempotencyKey),
  ],
  cancel_transfer: [({ transfer, idempotencyKey }) => write('cancel_transfer', transfer, {}, idempotencyKey)],
  reverse_transfer: [
    ({ transfer }) => write('reverse_transfer', transfer, {}),
    ({ transfer, idempotencyKey }) =>
      write('reverse_transfer', transfer, { amount: 100, description: MARK }, idempotencyKey),
  ],
  list_reversals: [
    ({ transfer, cursors }) => query('list_reversals', transfer, ['cursor', cursors.reversals]),
    ({ cursors }, own) => query('list_reversals', own.transfer, ['cursor', cursors.reversals]),
  ],
  list_likely_duplicates: [
    ({ cursors }, own) => query('list_likely_duplicates', own.namedCard, ['cursor', cursors.transfers]),
  ],
  create_card: [({ namedCard }) => write('create_card', '', { card_id: namedCard })],
  list_cards: [
    ({ cursors }) => query('list_cards', '', ['cursor', cursors.cards]),
    () => query('list_cards', '', ['metadata_name', 'note'], ['metadata_value', MARK]),
  ],
  update_card: [
    ({ card }) => write('update_card', card, { status: 'lost' }),
    ({ card }) => write('update_card', card, { limits: {} }),
    ({ card }) => write('update_card', card, { metadata: { mine: 'yes' } }),
    ({ card }) => write('update_card', card, { status: 'closed', balance_to: 'funding' }),
    ({ card }, own) => write('update_card', own.namedCard, { status: 'closed', balance_to: card }),
  ],
  list_postings: [({ namedCard }) => query('list_postings', namedCard, ['cursor', 'pst_2_1'])],
  list_events: [
    ({ transfer }) => query('list_events', '', ['subject_id', transfer]),
    ({ transfer }) => query('list_events', '', ['subject_id', transfer], ['after', '0'], ['type', 'transfer.*']),
    ({ namedCard }) => query('list_events', '', ['subject_id', namedCard], ['after', '0']),
    ({ program }) => query('list_events', '', ['subject_id', program], ['after', '0'], ['limit', '100']),
    ({ case: ofOther }) => query('list_events', '', ['subject_id', ofOther], ['after', '0']),
    ({ incident }) => query('list_events', '', ['subject_id', incident], ['after', '0'], ['type', 'incident.*']),
  ],
  create_webhook: [({ idempotencyKey }) => write('create_webhook', '', { url: WEBHOOK_URL }, idempotencyKey)],
  list_webhooks: [
    // A cursor is an id, which need not exist.
    ({ webhook }) => query('list_webhooks', '', ['cursor', webhook]),
  ],
  update_webhook: [
    ({ webhook }) => write('update_webhook', webhook, { status: 'disabled' }),
    ({ webhook }) => write('update_webhook', webhook, { url: WEBHOOK_URL, headers: { 'X-Key': 'x' } }),
  ],
  list_webhook_attempts: [({ event }, own) => query('list_webhook_attempts', own.webhook, ['event_id', event])],
  resend_event: [
    ({ webhook }, own) => write('resend_event', webhook, { event_id: own.event }),
    ({ event }, own) => write('resend_event', own.webhook, { event_id: event }),
  ],
  create_case: [
    ({ error }) => write('create_case', '', { request_id: error }),
    ({ transferRequest }) => write('create_case', '', { request_id: transferRequest }),
    ({ transfer }) => write('create_case', '', { transfer_id: transfer }),
    ({ hold, idempotencyKey }) => write('create_case', '', { transfer_id: hold }, idempotencyKey),
  ],
  // A cursor is an id, which need not exist.
  list_cases: [
    ({ case: ofOther }) => query('list_cases', '', ['cursor', ofOther]),
    ({ error }) => query('list_cases', '', ['request_id', error]),
    ({ transferRequest }) => query('list_cases', '', ['request_id', transferRequest]),
  ],
  list_errors: [
    ({ card }) => query('list_errors', '', ['card_id', card]),
    ({ cursors }) => query('list_errors', '', ['cursor', cursors.errors]),
  ],
};

/** The ids of a program that fit in the same path parameter. */
const EVERY: Partial<Readonly<Record<Thing, readonly (keyof Omit<ProgramData, 'cursors'>)[]>>> = {
  card: ['card', 'namedCard'],
  closedCard: ['card'],
  transfer: ['transfer', 'hold', 'scheduled'],
  hold: ['hold', 'transfer', 'scheduled'],
  error: ['error', 'transferRequest', 'reversalRequest', 'cardRequest'],
};

const thingsOf = (owns: ProgramData): Record<Thing, string> => ({
  ...owns,
  closedCard: owns.card,
  operatorWebhook: owns.webhook,
  // Only operators can see these records.
  attempt: 'pat_none',
  connector: 'none',
  break: 'brk_none',
  settlementFile: 'stl_none',
  moveIn: 'mvi_none',
  comparison: 'cmp_none',
  equalComparison: 'cmp_none',
  person: 'per_none',
  approval: 'apr_none',
});

/** Returns every way to name a record of another program in an operation of a card program. */
function attemptsOf(operation: OperationId): readonly Attempt[] {
  const thing = thingIn(operation);
  const further = FURTHER[operation] ?? [];
  const ask = async (things: Record<Thing, string>) =>
    toRaw(operation, await partsOf(operation, existingThings(things)));
  if (thing === undefined) return further.length > 0 ? further : [(other) => ask(thingsOf(other))];
  // At this point, the requesting program may have a card with that name, which must not change.
  const isRead = OPERATIONS[operation].method === 'GET';
  const byPath = (EVERY[thing] ?? [thing as 'event'])
    .filter((name) => isRead || name !== 'namedCard')
    .map(
      (name): Attempt =>
        (other) =>
          ask({ ...thingsOf(other), [thing]: other[name] }),
    );
  return [...byPath, ...further];
}

/**
 * Returns the parts of a response that could reveal something. Leaves out the ids that were sent, and the parts that
 * always differ.
 */
function revealingPartsOf({ status, headers, text }: RawResponse, asked: ProgramData) {
  const { cursors, ...ids } = asked;
  const sent = [...Object.values(ids), ...Object.values(cursors)];
  const without = (value: string): string =>
    sent
      .reduce((left, id) => left.replaceAll(id, '*'), value)
      .replaceAll(/\b(tr|rev|card|req|wh|sec|case|msg)_[0-9a-f]{32}\b/g, '$1_…')
      .replaceAll(/whsec_[\w+/=]{44}/g, 'whsec_…')
      .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, 'time');
  // The version of a record that the caller created or read is a hash of the record, which includes the ids.
  const isVersion = (name: string): boolean => name === 'etag' && status < 300;
  const shown = Object.entries(headers).filter(
    ([name]) => name !== 'date' && name !== 'request-id' && !isVersion(name),
  );
  return { status, headers: shown.map(([name, value]) => [name, without(String(value))]), text: without(text) };
}

// Runs with and without row-level security, because row-level security would hide a statement that does not filter by
// program.
describe.each(['on', 'off'] as const)('with row-level security %s', (rowSecurity) => {
  let world: TwoPrograms;
  beforeAll(async () => {
    world = await startTwoPrograms(rowSecurity);
  });
  afterAll(() => world.stop());

  test('a statement that names no program sees exactly what row-level security allows', async () => {
    const both = [world.first.owns, world.second.owns];
    for (const owns of both) {
      const seen = await world.findProgramsSeen(owns);
      if (rowSecurity === 'on') expect(seen).toEqual([owns.program]);
      else expect(seen).toEqual(expect.arrayContaining(both.map(({ program }) => program)));
    }
  });

  describe.each([
    ['the second program asks about the first', 'second', 'first'],
    ['the first program asks about the second', 'first', 'second'],
  ] as const)('%s', (_, asking, asked) => {
    let mine: Tenant;
    let theirs: Tenant;
    let before: readonly string[];
    /** Returns everything that a program sees of its own data. */
    const stateOf = async ({ owns, ask }: Tenant): Promise<readonly string[]> => {
      const reads = [
        ...[owns.transfer, owns.hold, owns.scheduled].map((id) => read('get_transfer', id)),
        ...[owns.card, owns.namedCard].flatMap((id) => [read('get_card', id), read('list_postings', id)]),
        ...(['list_transfers', 'list_cards'] as const).map((id) => query(id, '', ['limit', '100'])),
        read('list_reversals', owns.transfer),
        read('get_webhook', owns.webhook),
        read('list_webhook_attempts', owns.webhook),
        read('get_case', owns.case),
      ];
      const responses = await Promise.all(reads.map((request) => ask(request)));
      expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
      return responses.map(({ text }) => text);
    };

    beforeAll(() => {
      [mine, theirs] = [world[asking], world[asked]];
    });
    beforeEach(async () => {
      before = await stateOf(theirs);
    });

    test.each(PROGRAM_OPERATIONS)('%s returns not found for records of the other program', async (operation) => {
      const nothing = neverMade(theirs.owns);
      for (const [at, attempt] of attemptsOf(operation).entries()) {
        // The first call only fills the caches, so that both compared calls find them in the same state.
        await mine.ask(await attempt(neverMade(nothing), mine.owns));
        world.takeStatements();
        const missing = await mine.ask(await attempt(nothing, mine.owns));
        const statementsForMissing = world.takeStatements();
        const foreign = await mine.ask(await attempt(theirs.owns, mine.owns));
        const statementsForForeign = world.takeStatements();
        expect(revealingPartsOf(foreign, theirs.owns), `attempt ${at}`).toEqual(revealingPartsOf(missing, nothing));
        expect(statementsForForeign, `attempt ${at}`).toEqual(statementsForMissing);
        expect(foreign.status).toBeLessThan(500);
      }
      expect(await stateOf(theirs)).toEqual(before);
    });

    test('get_request finds the results of a request only for its own program', async () => {
      for (const name of [...REQUESTS, 'error'] as const) {
        const { status, text } = await theirs.ask(read('get_request', theirs.owns[name]));
        expect([name, status]).toEqual([name, 200]);
        for (const id of [mine.owns.program, mine.owns.card, mine.owns.transfer]) expect(text).not.toContain(id);
        expect((await mine.ask(read('get_request', theirs.owns[name]))).fields.Code).toBe('request_not_found');
      }
    });

    test.each(OPERATOR_OPERATIONS)('%s is forbidden for both programs', async (operation) => {
      const askAbout = async (owns: ProgramData) => {
        const request = toRaw(operation, await partsOf(operation, existingThings(thingsOf(owns))));
        world.takeStatements();
        const response = await mine.ask(request);
        expect(response.fields).toMatchObject({ Status: 403, Code: 'forbidden' });
        return { ...revealingPartsOf(response, owns), statements: world.takeStatements() };
      };
      const foreign = await askAbout(theirs.owns);
      expect(foreign).toEqual(await askAbout(neverMade(theirs.owns)));
      expect(foreign).toEqual(await askAbout(mine.owns));
      expect(foreign.statements).toEqual([]);
      expect(await stateOf(theirs)).toEqual(before);
    });

    test("refuses a different program's Program-Id as if it were unknown", async () => {
      for (const operation of PROGRAM_OPERATIONS) {
        const [attempt] = attemptsOf(operation);
        if (attempt === undefined) throw new Error(`there is no attempt for ${operation}`);
        const responseFor = async (program: string, asOf: ProgramData) => {
          const request = await attempt(asOf, mine.owns);
          world.takeStatements();
          const response = await mine.ask({ ...request, headers: { ...request.headers, 'Program-Id': program } });
          expect(response.fields).toMatchObject({ Status: 403, Code: 'forbidden' });
          return { ...revealingPartsOf(response, asOf), statements: world.takeStatements() };
        };
        const nothing = neverMade(theirs.owns);
        expect(await responseFor(theirs.owns.program, theirs.owns)).toEqual(
          await responseFor(nothing.program, nothing),
        );
      }
    });

    test("lists and exports contain only the program's own records", async () => {
      const { owns } = theirs;
      // Leaves out the names that programs choose, because two programs may choose the same ones.
      const {
        program,
        card,
        transfer,
        hold,
        scheduled,
        reversal,
        error,
        event,
        webhook,
        case: ofCase,
        incident,
      } = owns;
      const all = [program, card, transfer, hold, scheduled, reversal, error, event, webhook, ofCase, incident];
      const { card: ownCard, error: ownError, webhook: ownWebhook, case: ownCase, incident: ownIncident } = mine.owns;
      for (const [id, own] of [
        ['list_transfers', ownCard],
        ['export_transfers', ownCard],
        ['list_cards', ownCard],
        ['list_errors', ownError],
        ['list_events', ownCard],
        ['list_webhooks', ownWebhook],
        ['list_cases', ownCase],
        ['list_incidents', ownIncident],
      ] as const) {
        const { text, status } = await mine.ask(read(id, ''));
        expect(status).toBe(200);
        expect(text).toContain(own);
        for (const one of all) expect(text).not.toContain(one);
      }
    });
  });
});

// Several programs can choose the same names for cards, references and idempotency keys.
describe.each(['on', 'off'] as const)('with shared names and row-level security %s', (rowSecurity) => {
  let world: TwoPrograms;
  beforeAll(async () => {
    world = await startTwoPrograms(rowSecurity);
  });
  afterAll(() => world.stop());

  const NAME = 'of-both';
  const OTHER = 'also-of-both';
  /** Returns everything that a program sees under the names. */
  const stateOf = async ({ ask }: Tenant): Promise<string> => {
    const responses = await Promise.all([
      ...[NAME, OTHER].flatMap((name) => [
        ask(read('get_card', name)),
        ask(read('get_card_limits', name)),
        ask(read('list_postings', name)),
        ask(read('export_postings', name)),
        ask(query('list_transfers', '', ['card_id', name])),
        ask(query('export_transfers', '', ['card_id', name])),
      ]),
      ask(query('list_transfers', '', ['reference', NAME])),
      ask(query('list_transfers', '', ['idempotency_key', NAME])),
      ask(query('list_transfers', '', ['metadata_name', NAME], ['metadata_value', NAME])),
      ask(query('list_cards', '', ['metadata_name', NAME], ['metadata_value', NAME])),
      ask(query('list_errors', '', ['card_id', NAME])),
    ]);
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    return responses.map(({ text }) => text.replaceAll(/"evaluated_at":"[^"]*"/g, '')).join('\n');
  };

  beforeAll(async () => {
    for (const { ask } of [world.first, world.second]) {
      for (const name of [NAME, OTHER]) await ask(write('create_card', '', { card_id: name }));
    }
  });

  test.each([
    ['first', 'second', 100],
    ['second', 'first', 70],
  ] as const)('the %s program can do everything as if the %s program did not exist', async (acting, other, amount) => {
    const { ask } = world[acting];
    const before = await stateOf(world[other]);
    const make = async (request: RawRequest): Promise<Readonly<Record<string, unknown>>> => {
      const response = await ask(request);
      expect(response.status, response.text).toBeLessThan(300);
      return response.fields;
    };
    const load = { amount, card_id: NAME, reference: NAME, metadata: { [NAME]: NAME } };
    const { transfer_id: loaded } = await make(write('create_transfer', '', load, NAME));
    expect(await make(write('create_transfer', '', load, NAME))).toMatchObject({ transfer_id: loaded });
    const between = { amount: 1, card_id: NAME, type: 'card_to_card', destination_card_id: OTHER };
    await make(write('create_transfer', '', between));
    const { transfer_id: held } = await make(write('create_transfer', '', { ...between, capture: 'manual' }));
    await make(write('capture_transfer', String(held), {}, NAME));
    await make(write('reverse_transfer', String(held), {}, NAME));
    await make(write('update_transfer', String(loaded), { metadata: { [NAME]: NAME, more: 'mine' } }));
    await make(write('update_card', NAME, { limits: { in: { daily_amount: amount * 10 } } }));
    await make(write('update_card', NAME, { status: 'inactive', metadata: { [NAME]: NAME } }));
    expect((await ask(write('create_transfer', '', { amount: 1, card_id: NAME }))).status).toBe(409);
    await make(write('update_card', NAME, { status: 'active' }));
    expect((await ask(write('create_transfer', '', { amount: 1, card_id: NAME, reference: NAME }))).status).toBe(409);
    await make(write('explain_transfer', '', { amount: 1, card_id: NAME }));
    expect(await make(read('get_card', NAME))).toMatchObject({ balance: amount - 1 });
    expect(await make(read('get_card', OTHER))).toMatchObject({ balance: 1 });
    const mine = await make(query('list_transfers', '', ['card_id', NAME]));
    expect(mine.data).toHaveLength(3);
    const { owns } = world[other];
    expect(await stateOf(world[acting])).not.toContain(owns.program);
    expect(await stateOf(world[other])).toBe(before);
  });
});
