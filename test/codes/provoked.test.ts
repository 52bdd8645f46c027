import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalogueRecord, ERROR_CODES, operationsWith } from '../../contract/errors/catalogue.ts';
import { exampleRecord, provokingRequest, unknownOutcomeRequest } from '../../contract/errors/examples.ts';
import { exampleOf } from '../../contract/examples.ts';
import { type ErrorCode, movesMoney, OPERATION_IDS, OPERATIONS, precedenceOf } from '../../contract/operations.ts';
import { expectBalancedBooks, useService } from '../harness/service.ts';
import { ask, askAll, toQuestion } from './ask.ts';
import { type Expected, expectAnswer } from './expect-answer.ts';

const service = useService();
let before: unknown;

beforeAll(async () => {
  before = (await service().client.trialBalance.get()).currencies;
});

afterAll(async () => {
  await expectBalancedBooks(service());
  expect((await service().client.trialBalance.get()).currencies).toEqual(before);
});

/** What the header makes of a code beyond what every answer has. */
function moreOf(code: ErrorCode): Partial<Expected> {
  return code === 'service_disabled' ? { opensWithin: 60 } : {};
}

describe('Sandbox-Provoke makes every operation answer with each code that it lists:', () => {
  test.each(OPERATION_IDS)('%s', async (operation) => {
    const codes = precedenceOf(operation);
    const questions = codes.map((code) => toQuestion(exampleOf(operation), { 'Sandbox-Provoke': code }));
    const answers = await askAll(service().url, questions);
    expect(answers.length).toBe(codes.length);
    for (const [at, answer] of answers.entries()) {
      const code = codes[at] ?? 'unknown_request';
      expectAnswer(answer, { code, operation, method: OPERATIONS[operation].method, ...moreOf(code) });
    }
  });

  test('and with nothing that it does not list', async () => {
    for (const operation of OPERATION_IDS) {
      const strange = [...ERROR_CODES.filter((code) => !precedenceOf(operation).includes(code)), 'nonsense', ''];
      const questions = strange.map((code) => toQuestion(exampleOf(operation), { 'Sandbox-Provoke': code }));
      const answers = await askAll(service().url, questions);
      expect(answers.length).toBe(strange.length);
      for (const answer of answers) expectAnswer(answer, { code: `${operation}_schema`, operation });
    }
  });
});

test.each(ERROR_CODES.filter((code) => operationsWith(code).length > 0))(
  'the request that the page of a code prints gets it: %s',
  async (code) => {
    const provoking = provokingRequest(code);
    if (provoking === undefined) throw new Error('there is no request');
    const { status, body } = await ask(service().url, toQuestion(provoking));
    const { Status, Type } = exampleRecord(code, '');
    expect(JSON.parse(body)).toMatchObject({ Status, Code: code, Type });
    expect(status).toBe(Status);
    const unknown = unknownOutcomeRequest(code);
    if (unknown === undefined) return;
    expect((await ask(service().url, toQuestion(unknown))).headers.get('money-moved')).toBe('unknown');
  },
);

test.each(['/', '/errors', '/errors/unauthenticated', '/docs', '/openapi.json', '/health/live', '/health/ready'])(
  'pages answer with the code that no operation has: %s',
  async (path) => {
    for (const method of ['GET', 'HEAD']) {
      const headers = [['Sandbox-Provoke', 'unknown_request']] as const;
      const answer = await ask(service().url, { method, path, headers });
      expectAnswer(answer, { code: 'unknown_request', operation: undefined, method });
    }
  },
);

test('every code can be provoked somewhere', () => {
  expect(ERROR_CODES.filter((code) => operationsWith(code).length === 0)).toEqual(['unknown_request']);
});

test('HEAD is answered with the head of the same', async () => {
  for (const operation of OPERATION_IDS.filter((id) => OPERATIONS[id].method === 'GET')) {
    const example = { ...exampleOf(operation), method: 'HEAD' };
    const code = `unknown_${operation}` as const;
    const answer = await ask(service().url, toQuestion(example, { 'Sandbox-Provoke': code }));
    expectAnswer(answer, { code, operation, method: 'HEAD' });
  }
});

describe('an outcome in doubt', () => {
  test.each(OPERATION_IDS.filter(movesMoney))(
    'can be provoked of %s, and only its key makes it safe to repeat',
    async (operation) => {
      const code = `unknown_${operation}` as const;
      const provoked = { 'Sandbox-Provoke': `${code}; money_moved=unknown` };
      const takesKey = OPERATIONS[operation].idempotency !== 'none';
      const keyed = await ask(
        service().url,
        toQuestion(exampleOf(operation), { ...provoked, 'Idempotency-Key': randomUUID() }),
      );
      expectAnswer(keyed, { code, operation, moneyMoved: 'unknown', ...(takesKey ? { keyed: true } : {}) });
      const { headers: _key, ...bare } = exampleOf(operation);
      if (OPERATIONS[operation].idempotency === 'required') return;
      const keyless = await ask(service().url, toQuestion({ ...bare, headers: {} }, provoked));
      expectAnswer(keyless, { code, operation, moneyMoved: 'unknown' });
      expect(keyless.headers.get('transfer-id')).toMatch(/^tr_[0-9a-f]{32}$/);
    },
  );
});

test.each(ERROR_CODES)('the page that every answer links to exists and says the same: %s', async (code) => {
  const data = await ask(service().url, { method: 'GET', path: `/errors/${code}` });
  expect(data.status).toBe(200);
  expect(JSON.parse(data.body)).toEqual(catalogueRecord(code));
  const page = await ask(service().url, { method: 'GET', path: `/errors/${code}`, headers: [['Accept', 'text/html']] });
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.body).toContain(code);
});
