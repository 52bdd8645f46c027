import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalogueRecord, ERROR_CODES, operationsWith } from '../../contract/errors/catalogue.ts';
import { exampleRecord, provokingRequest, unknownOutcomeRequest } from '../../contract/errors/examples.ts';
import { SIGN_IN_ERRORS } from '../../contract/errors/sign-in.ts';
import { exampleOf } from '../../contract/examples.ts';
import { type ErrorCode, movesMoney, OPERATION_IDS, OPERATIONS, precedenceOf } from '../../contract/operations.ts';
import { expectBalancedBooks, useOwnService } from '../harness/service.ts';
import { type Expected, expectResponse } from './expect-response.ts';
import { send, sendAll, toRequest } from './send.ts';

const service = useOwnService('Its samples change the clock, the cards and the switch.');
let before: unknown;

beforeAll(async () => {
  before = (await service().client.trialBalance.get()).currencies;
});

afterAll(async () => {
  await expectBalancedBooks(service());
  expect((await service().client.trialBalance.get()).currencies).toEqual(before);
});

/** Returns further expectations for a code that the header provoked. */
function moreOf(code: ErrorCode): Partial<Expected> {
  return code === 'service_disabled' ? { opensWithin: 60 } : {};
}

describe('Sandbox-Provoke', () => {
  test.each(OPERATION_IDS)('returns each listed code of %s', async (operation) => {
    const codes = precedenceOf(operation);
    const requests = codes.map((code) => toRequest(exampleOf(operation), { 'Sandbox-Provoke': code }));
    const responses = await sendAll(service().url, requests);
    expect(responses.length).toBe(codes.length);
    for (const [at, response] of responses.entries()) {
      const code = codes[at] ?? 'unknown_request';
      expectResponse(response, { code, operation, method: OPERATIONS[operation].method, ...moreOf(code) });
    }
  });

  test.each(OPERATION_IDS)('returns no code that %s does not list', async (operation) => {
    const strange = [...ERROR_CODES.filter((code) => !precedenceOf(operation).includes(code)), 'nonsense', ''];
    const requests = strange.map((code) => toRequest(exampleOf(operation), { 'Sandbox-Provoke': code }));
    const responses = await sendAll(service().url, requests);
    expect(responses.length).toBe(strange.length);
    for (const response of responses) expectResponse(response, { code: `${operation}_schema`, operation });
  });
});

test.each(ERROR_CODES.filter((code) => operationsWith(code).length > 0))(
  "returns %s for the request on the code's page",
  async (code) => {
    const provoking = provokingRequest(code);
    if (provoking === undefined) throw new Error('there is no request');
    const { status, body } = await send(service().url, toRequest(provoking));
    const { Status, Type } = exampleRecord(code, '');
    expect(JSON.parse(body)).toMatchObject({ Status, Code: code, Type });
    expect(status).toBe(Status);
    const unknown = unknownOutcomeRequest(code);
    if (unknown === undefined) return;
    expect((await send(service().url, toRequest(unknown))).headers.get('money-moved')).toBe('unknown');
  },
);

test.each(['/', '/errors', '/errors/unauthenticated', '/docs', '/openapi.json', '/health/live', '/health/ready'])(
  'returns the provoked code for %s, which is a page and not an operation',
  async (path) => {
    for (const method of ['GET', 'HEAD']) {
      const headers = [['Sandbox-Provoke', 'unknown_request']] as const;
      const response = await send(service().url, { method, path, headers });
      expectResponse(response, { code: 'unknown_request', operation: undefined, method });
    }
  },
);

test('every code can be provoked in some operation, except the codes of pages, sign-in and processors', () => {
  const ofTransfers = ['processor_declined', 'processor_error'];
  const found = ERROR_CODES.filter((code) => operationsWith(code).length === 0);
  const ofSignIn = Object.keys(SIGN_IN_ERRORS);
  expect(found.toSorted()).toEqual([...ofTransfers, ...ofSignIn, 'unknown_request'].toSorted());
});

test('returns the same headers for HEAD as for GET', async () => {
  for (const operation of OPERATION_IDS.filter((id) => OPERATIONS[id].method === 'GET')) {
    const example = { ...exampleOf(operation), method: 'HEAD' };
    const code = `unknown_${operation}` as const;
    const response = await send(service().url, toRequest(example, { 'Sandbox-Provoke': code }));
    expectResponse(response, { code, operation, method: 'HEAD' });
  }
});

describe('an unknown outcome', () => {
  test.each(OPERATION_IDS.filter(movesMoney))(
    'can be provoked for %s, and the response says whether repeating the request is safe without a key',
    async (operation) => {
      const code = `unknown_${operation}` as const;
      const provoked = { 'Sandbox-Provoke': `${code}; money_moved=unknown` };
      const takesKey = OPERATIONS[operation].idempotency !== 'none';
      const keyed = await send(
        service().url,
        toRequest(exampleOf(operation), { ...provoked, 'Idempotency-Key': randomUUID() }),
      );
      expectResponse(keyed, { code, operation, moneyMoved: 'unknown', ...(takesKey ? { keyed: true } : {}) });
      const { headers: _key, ...bare } = exampleOf(operation);
      if (OPERATIONS[operation].idempotency === 'required') return;
      const keyless = await send(service().url, toRequest({ ...bare, headers: {} }, provoked));
      expectResponse(keyless, { code, operation, moneyMoved: 'unknown' });
      expect(keyless.headers.get('transfer-id')).toMatch(/^tr_[0-9a-f]{32}$/);
    },
  );
});

test.each(ERROR_CODES)('the linked page of %s exists and has the same content as the catalog', async (code) => {
  const data = await send(service().url, { method: 'GET', path: `/errors/${code}` });
  expect(data.status).toBe(200);
  expect(JSON.parse(data.body)).toEqual(catalogueRecord(code));
  const page = await send(service().url, {
    method: 'GET',
    path: `/errors/${code}`,
    headers: [['Accept', 'text/html']],
  });
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.body).toContain(code);
});
