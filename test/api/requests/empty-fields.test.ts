import { afterAll, describe, expect, test } from 'vitest';
import { exampleOf } from '../../../contract/examples.ts';
import { type Operation, parametersOf } from '../../../contract/operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import { bodyOf } from '../../fixtures/operations.ts';
import { thingsOf } from '../../fixtures/service-things.ts';
import { programKey } from '../../harness/keys.ts';
import { type RawResponse, sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks, refusalOf, useService } from '../../harness/service.ts';
import { held, made, newCard } from '../arrange.ts';

// Tests how each field treats `null` and "". A caller may send them because a variable was not set. Such a request must
// never do more than the caller meant.

const running = useService();
const client = () => running().client;
const things = () => thingsOf(client());
afterAll(() => expectBalancedBooks(running()));

const tableOf = (id: OperationId): Operation => OPERATIONS[id];

function send(id: OperationId, body: object | undefined, query = ''): Promise<RawResponse> {
  const { method, path, idempotency } = tableOf(id);
  const filled = parametersOf(path).reduce((text, name) => text.replace(`{${name}}`, `${name}_1`), path);
  const headers: Record<string, string> = idempotency === 'required' ? { 'Idempotency-Key': 'empty-members' } : {};
  return sendRaw(running().url, { method, path: `${filled}${query}`, headers, body });
}

/**
 * Returns the fields that a body's schema does not allow to be empty, each with the last words of the error message,
 * which say what omitting the field does.
 */
function guardedIn(id: OperationId): Readonly<Record<string, string>> {
  return (Reflect.get(tableOf(id).body ?? {}, 'x-if-omitted') ?? {}) as Readonly<Record<string, string>>;
}

/**
 * Fields of bodies that may be null or "". An empty value counts as a missing field, and a request without the field
 * does no more than a request with it.
 */
const LENIENT: readonly string[] = [
  ...['card_id', 'destination_card_id', 'currency', 'description', 'reference', 'metadata', 'holder_reference'],
  ...['last_four', 'time_zone', 'funding_low_threshold', 'reason', 'headers'],
  ...['severity', 'contact', 'external_author', 'external_id', 'outcome', 'internal_text', 'sequence_number'],
  // One of these two is required, so omitting one grants nothing.
  ...['role', 'scopes'],
  ...['request_id', 'transfer_id', 'text'],
];

const OF_BODIES = OPERATION_IDS.filter((id) => tableOf(id).body !== undefined && tableOf(id).method === 'POST');
const GUARDED = OF_BODIES.flatMap((id) => Object.keys(guardedIn(id)).map((name) => [id, name] as const));
const PARAMETERS = OPERATION_IDS.flatMap((id) =>
  Object.keys(tableOf(id).query?.properties ?? {})
    // A metadata value can be empty. The filter then finds only empty values.
    .filter(
      (name) => name !== 'metadata_value' && !((tableOf(id).query?.required ?? []) as readonly string[]).includes(name),
    )
    .map((name) => [id, name] as const),
);

describe('bodies', () => {
  test('refuses an empty optional field of a POST, or safely treats it as missing', () => {
    for (const id of OF_BODIES) {
      const { properties = {}, required = [] } = tableOf(id).body ?? {};
      const optional = Object.keys(properties).filter((name) => !(required as readonly string[]).includes(name));
      const lenient = LENIENT.filter((name) => optional.includes(name));
      expect([...Object.keys(guardedIn(id)), ...lenient].sort(), id).toEqual(optional.sort());
    }
  });

  test.each(GUARDED)('%s refuses an empty %s', async (id, name) => {
    for (const empty of [null, '']) {
      const { fields, headers } = await send(id, { ...(await bodyOf(id, things())), [name]: empty });
      expect(fields).toMatchObject({ Status: 400, Code: `${id}_schema`, Type: 'Request Error' });
      expect(headers['error-field']).toBe(`/${name}`);
      const what = empty === null ? 'null' : 'empty';
      const message = `'${name}' must not be ${what}: send a value, or omit the field ${guardedIn(id)[name]}.`;
      expect(fields.Message).toBe(message);
    }
  });

  test('refuses empty limits of a new card', async () => {
    for (const [limits, field] of [
      [{ in: null }, '/limits/in'],
      [{ in: { daily_count: null } }, '/limits/in/daily_count'],
      [{ out: { maximum_amount: '' } }, '/limits/out/maximum_amount'],
      [{ maximum_balance: null }, '/limits/maximum_balance'],
    ] as const) {
      const { fields, headers } = await send('create_card', { limits });
      expect(fields).toMatchObject({ Status: 400, Code: 'create_card_schema' });
      expect(headers['error-field']).toBe(field);
    }
  });

  test('also refuses empty fields in the rows of a batch', async () => {
    const row = { amount: 1, card_id: 'card_active', idempotency_key: 'empty-row', scheduled_for: '' };
    const { fields } = await send('create_transfer_batch', { transfers: [row] });
    expect(fields.data).toMatchObject([{ status: 400, transfer: null, error: { Code: 'create_transfer_schema' } }]);
  });

  test('treats other empty fields as missing', async () => {
    for (const name of ['destination_card_id', 'currency', 'description', 'reference', 'metadata']) {
      for (const empty of [null, '']) {
        const { status } = await send('create_transfer', { amount: 1, card_id: 'card_active', [name]: empty });
        expect(status, name).toBe(201);
      }
    }
  });

  test('refuses an empty amount, but captures or reverses the whole amount if the field is missing', async () => {
    const card = await newCard(client());
    const [hold, load] = [await held(client(), card, 9), await made(client(), card, 7)];
    for (const [id, verb] of [
      [hold, 'capture'],
      [load, 'reverse'],
    ] as const) {
      for (const body of ['{"amount":null}', '{"amount":""}']) {
        const path = `/api/v0.1/core/transfer/${id}/${verb}`;
        const { fields, headers } = await sendRaw(running().url, { path, body });
        expect(fields).toMatchObject({ Status: 400, Code: `${verb}_transfer_schema` });
        expect([headers['error-field'], headers['money-moved']]).toEqual(['/amount', 'no']);
      }
    }
    expect(await client().transfers.get(hold)).toMatchObject({ status: 'pending', captured_amount: 0 });
    expect(await client().transfers.get(load)).toMatchObject({ reversed_amount: 0 });
    expect((await client().transfers.capture(hold)).captured_amount).toBe(9);
    expect((await client().transfers.reverse(load)).amount).toBe(7);
  });
});

describe('keys and the switch', () => {
  const keyCount = async () => (await client().keys.list({ limit: 100 })).data.length;

  test.each<[string, object, string, string]>([
    ['an empty program', { ...programKey('x', ''), program_id: '' }, '/program_id', "'all_programs': true"],
    ['no program', { ...programKey('x', ''), program_id: null }, '/program_id', "'all_programs': true"],
    [
      'neither a program nor all programs',
      { name: 'x', scopes: ['cards:read'] },
      '/program_id',
      "'program_id' is missing",
    ],
    ['all_programs: false', { name: 'x', scopes: ['cards:read'], all_programs: false }, '/program_id', 'missing'],
    [
      'both a program and all programs',
      { ...programKey('x', DEMO_PROGRAM), all_programs: true },
      '/all_programs',
      'exclude each other',
    ],
    ['no scopes', { name: 'x', all_programs: true }, '/scopes', "'scopes' is missing"],
    ['scopes: null', { name: 'x', all_programs: true, scopes: null }, '/scopes', "'scopes' is missing"],
    ['an empty list of scopes', { name: 'x', all_programs: true, scopes: [] }, '/scopes', '1 to'],
    [
      'the scope operator for one program',
      { name: 'x', program_id: DEMO_PROGRAM, scopes: ['operator'] },
      '/scopes',
      'all_programs',
    ],
  ])('creates no key with %s', async (_, body, field, says) => {
    const before = await keyCount();
    const { fields, headers } = await send('create_key', body);
    expect(fields).toMatchObject({ Status: 400, Code: 'create_key_schema' });
    expect(headers['error-field']).toBe(field);
    expect(fields.Message).toContain(says);
    expect(await keyCount()).toBe(before);
  });

  test('gives a key exactly the requested scopes and programs', async () => {
    const one = await client().keys.create({ name: 'x', scopes: ['cards:read'], program_id: DEMO_PROGRAM });
    expect(one).toMatchObject({ scopes: ['cards:read'], program_id: DEMO_PROGRAM });
    const all = await client().keys.create({ name: 'x', scopes: ['cards:read'], all_programs: true });
    expect(all).toMatchObject({ scopes: ['cards:read'], program_id: null });
    const both = { name: 'x', scopes: ['cards:read' as const], program_id: DEMO_PROGRAM, all_programs: false };
    expect(await client().keys.create(both)).toMatchObject({ program_id: DEMO_PROGRAM });
  });

  test('does not change the switch for an empty or misspelled scope', async () => {
    const change = { disabled: true, reason: 'a test' };
    const disabled = async () => (await client().switch.get()).data.filter((scope) => scope.disabled);
    const before = await disabled();
    for (const scope of [
      { program_id: '' },
      { program_id: null },
      { type: '' },
      { program: 'x' },
      { programId: 'x' },
    ]) {
      const { fields } = await send('change_switch', { ...change, ...scope });
      expect(fields, JSON.stringify(scope)).toMatchObject({ Status: 400, Code: 'change_switch_schema' });
    }
    const inProgram = { ...change, program_id: DEMO_PROGRAM, type: '' };
    expect((await send('change_switch', inProgram)).fields.Code).toBe('change_switch_schema');
    expect(await disabled()).toEqual(before);
    const refused = await refusalOf(client().switch.change({ ...change, program_id: '' }));
    expect(refused).toMatchObject({ Code: 'change_switch_schema', field: '/program_id' });
  });
});

describe('queries', () => {
  test.each(PARAMETERS)('%s refuses an empty %s', async (id, name) => {
    const required = exampleOf(id).path.split('?')[1];
    const before = required === undefined ? '?' : `?${required}&`;
    for (const query of [`${before}${name}=`, `${before}${name}`]) {
      const { fields, headers } = await send(id, undefined, query);
      expect(fields).toMatchObject({ Status: 400, Code: `${id}_schema`, Type: 'Request Error' });
      expect(fields.Message).toBe(`'${name}' is empty: send a value, or omit the parameter.`);
      expect(headers['error-field']).toBe(`/${name}`);
    }
  });
});
