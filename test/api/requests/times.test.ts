import { afterAll, describe, expect, test } from 'vitest';
import { exampleOf } from '../../../contract/examples.ts';
import { type Operation, parametersOf } from '../../../contract/operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { bodyOf } from '../../fixtures/operations.ts';
import { thingsOf } from '../../fixtures/service-things.ts';
import { operatorKey } from '../../harness/keys.ts';
import { type RawResponse, sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks, useService } from '../../harness/service.ts';

// Dates and times in all fields of requests must be in the years 1900 to 9999.

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

type Shape = { readonly format?: string; readonly anyOf?: readonly Shape[] };

const tableOf = (id: OperationId): Operation => OPERATIONS[id];
const formatOf = ({ format, anyOf = [] }: Shape): string | undefined =>
  format ?? anyOf.find((one) => one.format)?.format;

/** Every field of a body or query that contains a date or a time. */
const MEMBERS = OPERATION_IDS.flatMap((id) => {
  const { body, query } = tableOf(id);
  const of = (where: 'body' | 'query', schema: object | undefined) =>
    Object.entries(((schema ?? {}) as { properties?: Record<string, Shape> }).properties ?? {}).flatMap(
      ([name, shape]) => {
        const format = formatOf(shape);
        return format === undefined ? [] : [[id, name, format, where] as const];
      },
    );
  return [...of('body', body), ...of('query', query)];
});

const BAD: Readonly<Record<string, readonly string[]>> = {
  date: [
    '0000-01-01',
    '0001-01-01',
    '1899-12-31',
    '10000-01-01',
    '2030-02-30',
    '2030-1-1',
    '+02030-01-01',
    '-0001-01-01',
  ],
  'date-time': [
    ...['0000-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '1899-12-31T23:59:59Z', '10000-01-01T00:00:00Z'],
    ...['1900-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '+010000-01-01T00:00:00Z'],
    ...['2030-02-30T00:00:00Z', '2030-01-01T24:00:00Z', '2030-01-01T00:00:60Z', '2030-01-01T00:00:00+24:00'],
    ...['2030-01-01', '2030-01-01T00:00:00', '2030-01-01 00:00:00Z'],
  ],
};

/** Other fields that the request needs in addition to a time. */
const REQUIRED_WITH: Readonly<Partial<Record<OperationId, object>>> = {
  create_transfer: { capture: 'manual' },
  explain_transfer: { capture: 'manual' },
  change_switch: { disabled: true },
};

async function ask(id: OperationId, where: 'body' | 'query', name: string, value: string): Promise<RawResponse> {
  const { method, path } = tableOf(id);
  const filled = parametersOf(path).reduce((text, parameter) => text.replace(`{${parameter}}`, 'card_active'), path);
  if (where === 'query') {
    const required = exampleOf(id).path.split('?')[1] ?? '';
    return sendRaw(running().url, { method, path: `${filled}?${required}&${name}=${encodeURIComponent(value)}` });
  }
  const body = { ...(await bodyOf(id, thingsOf(client()))), ...REQUIRED_WITH[id], [name]: value };
  return sendRaw(running().url, { method, path: filled, body });
}

test('finds the fields with dates and times', () => {
  const named = new Set(MEMBERS.map(([, name]) => name));
  for (const name of ['expires_on', 'expires_at', 'scheduled_for', 'until', 'previous_until', 'created_from', 'from']) {
    expect(named).toContain(name);
  }
});

describe('a time outside the supported years, or an invalid one', () => {
  test.each(MEMBERS)('is refused by %s in %s', async (id, name, format, where) => {
    for (const value of BAD[format] ?? []) {
      const { fields, headers } = await ask(id, where, name, value);
      expect(fields, value).toMatchObject({ Status: 400, Code: `${id}_schema`, Type: 'Request Error' });
      expect(headers['error-field']).toBe(`/${name}`);
      expect(fields.Message).toMatch(/1900.*9999/);
    }
  });
});

describe('a time at either end of the supported years', () => {
  const ENDS: Readonly<Record<string, readonly string[]>> = {
    date: ['1900-01-01', '9999-12-31'],
    'date-time': ['1900-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z'],
  };

  test.each(MEMBERS.filter(([id]) => id !== 'change_switch'))(
    'is accepted by %s in %s',
    async (id, name, format, where) => {
      for (const value of ENDS[format] ?? []) {
        const { status, fields } = await ask(id, where, name, value);
        expect(status, `${value}: ${fields.Message}`).toBeLessThan(500);
        // A past or distant time may be refused for its value, but not for its format.
        expect(String(fields.Message)).not.toMatch(/1900 to 9999|1900-01-01 to/);
      }
    },
  );

  test('is stored with a card', async () => {
    for (const expires_on of ['1900-01-01', '9999-12-31']) {
      const { card_id } = await client().cards.create({ expires_on });
      expect((await client().cards.get(card_id)).expires_on).toBe(expires_on);
    }
  });

  test('is stored with a key and its successor', async () => {
    const made = await client().keys.create({ ...operatorKey('to the end'), expires_at: '9999-12-31T23:59:59.999Z' });
    expect(made.expires_at).toBe('9999-12-31T23:59:59.999Z');
    const rolled = await client().keys.roll(made.key_id);
    expect(rolled.expires_at).toBe('9999-12-31T23:59:59.999Z');
  });

  test('can be the end of a disabled scope', async () => {
    const { program_id } = await client().programs.create({ name: 'Closed', currency: 'USD' });
    const until = '9999-12-31T23:59:59.999Z';
    const changed = await client().switch.change({ disabled: true, reason: 'a test', program_id, until });
    expect(changed.until).toBe(until);
  });
});
