import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isErrorCode } from '../../../contract/errors/catalogue.ts';
import { expectFound } from '../../codes/expect-response.ts';
import { waitFor } from '../../harness/process.ts';
import { sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks, useOwnService } from '../../harness/service.ts';

type Expectation = {
  readonly Status: number;
  readonly Code?: string;
  readonly Type?: string;
  readonly message_names?: readonly string[];
  readonly message_omits?: readonly string[];
  readonly message_says?: string;
};

type Vector = {
  readonly name: string;
  readonly given?: string;
  readonly request: Readonly<Record<string, unknown>>;
  readonly expect: Expectation;
};

type Conformance = {
  readonly record: {
    readonly fields: readonly string[];
    readonly types: readonly string[];
    readonly code_pattern: string;
  };
  readonly vectors: readonly Vector[];
};

const COMMITTED = new URL('conformance.json', import.meta.url);
/** On development machines, this file is next to the project. Elsewhere, only the committed copy exists. */
const SPECIFIED = new URL('../../../../shared/spec/conformance.json', import.meta.url);

const text = readFileSync(existsSync(SPECIFIED) ? SPECIFIED : COMMITTED, 'utf8');
const { record, vectors } = JSON.parse(text) as Conformance;

/**
 * The keywords that the test can check in an expectation. The test fails on any other keyword instead of ignoring it.
 */
const KEYWORDS = ['Status', 'Code', 'Type', 'message_names', 'message_omits', 'message_says'];

const service = useOwnService('It compares the balance of a seeded card.');

/** Creates the conditions that a vector requires. Each function returns a function that reverts its condition. */
const GIVEN: Readonly<Record<string, () => Promise<() => Promise<void>>>> = {
  nothing: async () => async () => undefined,
  'the database is stopped': async () => {
    await service().database.stop();
    return async () => {
      await service().database.start();
      const ready = async () => (await sendRaw(service().url, { method: 'GET', path: '/health/ready' })).status === 200;
      await waitFor('the database to respond again', ready);
    };
  },
  'an operator disabled the service': async () => {
    await service().client.switch.change({ disabled: true, reason: 'conformance' });
    return async () => void (await service().client.switch.change({ disabled: false }));
  },
};

test('has the vectors of the specification', () => {
  expect(readFileSync(COMMITTED, 'utf8')).toBe(text);
  expect(vectors.length).toBeGreaterThan(0);
});

test.each(vectors)('$name', async (vector) => {
  expect(KEYWORDS).toEqual(expect.arrayContaining(Object.keys(vector.expect)));
  const bringAbout = GIVEN[vector.given ?? 'nothing'];
  if (bringAbout === undefined) throw new Error(`No test can create this condition: ${vector.given}`);
  const restore = await bringAbout();
  try {
    const body = JSON.stringify(vector.request).replaceAll('"$card"', '"card_active"');
    const response = await sendRaw(service().url, { headers: { 'Content-Type': 'application/json' }, body });
    expect(response.status).toBe(vector.expect.Status);
    if (vector.expect.Code === undefined) expect(response.fields).toMatchObject(JSON.parse(body));
    else expectRecord(response.fields, vector.expect);
  } finally {
    await restore();
  }
});

function expectRecord(members: Readonly<Record<string, unknown>>, expected: Expectation): void {
  // Compares the names and their order. Parsed JSON keeps the order of its members.
  expect(Object.keys(members)).toEqual(record.fields);
  const { Message, Status, Code, Type } = members;
  expect({ Status, Code, Type }).toEqual({ Status: expected.Status, Code: expected.Code, Type: expected.Type });
  expect(Code).toMatch(new RegExp(record.code_pattern));
  expect(record.types).toContain(Type);
  for (const name of expected.message_names ?? []) expect(Message).toContain(name);
  for (const name of expected.message_omits ?? []) expect(Message).not.toContain(name);
  if (expected.message_says !== undefined) expect(Message).toContain(expected.message_says);
  if (typeof Code === 'string' && isErrorCode(Code)) expectFound(String(Message), Code);
}

test('leaves nothing disabled, moves only the money of created transfers, and keeps the books balanced', async () => {
  const state = await service().client.switch.get();
  expect(state.data.filter(({ disabled }) => disabled)).toEqual([]);
  const created = vectors.filter(({ expect: { Status } }) => Status === 201).length;
  // The sandbox gives the card a balance of 25,000.
  expect((await service().client.cards.get('card_active')).balance).toBe(25_000 + created * 1000);
  await expectBalancedBooks(service());
});
