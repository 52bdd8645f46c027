import { afterAll, describe, expect, test } from 'vitest';
import { type RawRequest, type RawResponse, sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks, useService } from '../../harness/service.ts';

// Tests the requests of simple clients. The service is lenient where that is safe, and strict where leniency could
// mislead the caller.

const running = useService();
const send = (raw: RawRequest): Promise<RawResponse> => sendRaw(running().url, raw);
afterAll(() => expectBalancedBooks(running()));

const LOAD = { amount: 1, card_id: 'card_active' };
const FORM = 'application/x-www-form-urlencoded';

describe('reading JSON', () => {
  test.each([
    ['no Content-Type', undefined],
    ['JSON', 'application/json'],
    ['capitals', 'Application/JSON'],
    ['a charset', 'application/json; charset=utf-8'],
    ['an uppercase charset', 'application/json;charset=UTF-8'],
    ['a quoted charset', 'application/json; charset="utf-8"'],
    ['a quoted uppercase charset', 'application/json ; Charset="UTF-8"'],
    ["curl's form type", FORM],
    ["curl's form type with a charset", `${FORM}; charset=utf-8`],
  ])('accepts %s', async (_, type) => {
    const response = await send({ headers: type === undefined ? {} : { 'Content-Type': type }, body: LOAD });
    expect([response.status, response.fields.status]).toEqual([201, 'completed']);
  });

  test.each([
    ['no Content-Type', undefined],
    ['JSON', 'application/json'],
    ["curl's form type", FORM],
  ])('reads an empty body as {} with %s', async (_, type) => {
    const response = await send({ headers: type === undefined ? {} : { 'Content-Type': type }, body: '' });
    expect(response.fields).toMatchObject({ Status: 400, Code: 'create_transfer_schema' });
    expect(response.fields.Message).toContain("'amount' and 'card_id'");
    const card = await send({ path: '/api/v0.1/core/card', body: ' \n' });
    expect(card.status).toBe(201);
  });

  test.each([
    ['a form', FORM, 'amount=1&card_id=card_active'],
    ['XML', 'text/xml', '<amount>1</amount>'],
    ['text', 'text/plain', JSON.stringify(LOAD)],
    ['another charset', 'application/json; charset=utf-16', JSON.stringify(LOAD)],
    ['a multipart form', 'multipart/form-data; boundary=x', '--x--'],
  ])('does not read %s as JSON', async (_, type, body) => {
    const response = await send({ headers: { 'Content-Type': type }, body });
    expect(response.fields).toMatchObject({ Status: 415, Code: 'unsupported_media_type', Type: 'Request Error' });
    expect(response.headers.accept).toBe('application/json');
    expect(response.headers['money-moved']).toBe('no');
  });

  test('accepts a merge patch for PATCH only', async () => {
    const headers = { 'Content-Type': 'application/merge-patch+json; charset=utf-8' };
    const patch = {
      method: 'PATCH',
      path: '/api/v0.1/core/card/card_active',
      headers,
      body: { holder_reference: null },
    };
    expect((await send(patch)).status).toBe(200);
    expect((await send({ headers, body: LOAD })).fields).toMatchObject({ Code: 'unsupported_media_type' });
  });

  test('does not read a compressed body', async () => {
    const response = await send({ headers: { 'Content-Encoding': 'gzip' }, body: LOAD });
    expect(response.fields).toMatchObject({ Code: 'unsupported_media_type' });
  });
});

describe('paths', () => {
  test('ignores a trailing slash', async () => {
    expect((await send({ path: '/api/v0.1/core/transfer/', body: LOAD })).status).toBe(201);
    expect((await send({ method: 'GET', path: '/api/v0.1/core/card/card_active/' })).status).toBe(200);
  });

  test.each([
    ['GET', '/api/v0.1/core/nothing', 404, 'route_not_found'],
    ['POST', '/api/v0.2/core/transfer', 404, 'route_not_found'],
    ['GET', '/', 200, undefined],
    ['DELETE', '/api/v0.1/core/transfer', 405, 'method_not_allowed'],
    ['PUT', '/api/v0.1/core/card/card_active', 405, 'method_not_allowed'],
    ['GET', `/api/v0.1/core/transfer/${'x'.repeat(300)}`, 414, 'uri_too_long'],
  ])('responds to %s %s with %i', async (method, path, status, code) => {
    const response = await send({ method, path });
    expect([response.status, response.fields.Code]).toEqual([status, code]);
    expect(response.headers.allow !== undefined).toBe(status === 405);
  });
});

describe('fields', () => {
  test('ignores unknown fields and names them in a header, on success and on refusal', async () => {
    const created = await send({ body: { ...LOAD, note: 'x', größe: 1, order: { amount: 5 } } });
    expect(created.status).toBe(201);
    expect(created.headers['ignored-fields']).toBe('note, gr%C3%B6%C3%9Fe, order');
    expect(created.headers.sandbox).toBe('true');
    const refused = await send({ body: { ...LOAD, card_id: 'card_closed', note: 'x' } });
    expect([refused.status, refused.headers['ignored-fields']]).toEqual([409, 'note']);
    const { headers } = await send({ body: LOAD });
    expect([headers['ignored-fields'], headers.sandbox]).toEqual([undefined, undefined]);
  });

  test.each([
    ['Amount', 'amount'],
    ['cardId', 'card_id'],
    ['card-id', 'card_id'],
    ['destinationCardId', 'destination_card_id'],
    ['Capture', 'capture'],
    ['TYPE', 'type'],
    ['meta_data', 'metadata'],
  ])('refuses %s, and the message suggests %s', async (variant, name) => {
    const { fields, headers } = await send({ body: { ...LOAD, [variant]: 'x' } });
    expect(fields).toMatchObject({ Status: 400, Code: 'create_transfer_schema' });
    expect(fields.Message).toContain(`'${variant}'`);
    expect(fields.Message).toContain(`'${name}'`);
    expect(headers['error-field']).toBe(`/${variant}`);
  });

  test.each<[object, string, string]>([
    [
      { amount: 100, cardId: 'card_active' },
      '/card_id',
      "The required field 'card_id' is missing. You sent 'cardId'; did you mean 'card_id'?",
    ],
    [
      { Amount: 100, card_id: '' },
      '/amount',
      "The required fields 'amount' and 'card_id' are missing. You sent 'Amount'; did you mean 'amount'?",
    ],
    [
      { AMOUNT: 100, 'card-id': 'card_active' },
      '/amount',
      "The required fields 'amount' and 'card_id' are missing. You sent 'AMOUNT' and 'card-id'; did you mean 'amount' and 'card_id'?",
    ],
    [
      { amount: 100, card_id: null, cardID: 'card_active' },
      '/card_id',
      `The required field 'card_id' is missing (null and "" count as missing). You sent 'cardID'; did you mean 'card_id'?`,
    ],
    [{ amount: 100, card: 'card_active' }, '/card_id', "The required field 'card_id' is missing."],
  ])('names the misspelled field and the missing field: %j', async (body, field, message) => {
    const { fields, headers } = await send({ body });
    expect(fields).toMatchObject({ Status: 400, Code: 'create_transfer_schema', Message: message });
    expect(headers['error-field']).toBe(field);
  });

  test.each(['scheduled_for', 'expires_at'])('refuses %s too far in the future', async (name) => {
    const { fields } = await send({ body: { ...LOAD, capture: 'manual', [name]: '2099-01-01T00:00:00Z' } });
    expect(fields).toMatchObject({ Status: 400, Code: 'create_transfer_schema' });
    expect(fields.Message).toContain(`'${name}'`);
  });

  test.each<[object | string, string]>([
    [{ ...LOAD, type: 'gift' }, '/type'],
    [{ ...LOAD, type: 7 }, '/type'],
    [{ ...LOAD, card_id: 7 }, '/card_id'],
    [{ ...LOAD, card_id: 'x'.repeat(256) }, '/card_id'],
    [{ ...LOAD, amount: true }, '/amount'],
    [{ ...LOAD, capture: 'later' }, '/capture'],
    [{ ...LOAD, expires_at: '2030-01-01T00:00:00Z' }, '/expires_at'],
    [{ ...LOAD, scheduled_for: 'tomorrow' }, '/scheduled_for'],
    [{ ...LOAD, currency: 'usd' }, '/currency'],
    [{ ...LOAD, metadata: { a: 1 } }, '/metadata'],
    [{ ...LOAD, metadata: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`n${at}`, ''])) }, '/metadata'],
    [{ ...LOAD, type: 'card_to_card' }, '/destination_card_id'],
    [{ ...LOAD, type: 'unload', destination_card_id: 'card_empty' }, '/destination_card_id'],
    [{ ...LOAD, type: 'card_to_card', destination_card_id: 'card_active' }, '/destination_card_id'],
    ['{"amount": 1, "amount": 2, "card_id": "card_active"}', '/amount'],
  ])('refuses %j at %s', async (body, field) => {
    const response = await send({ body });
    expect(response.fields).toMatchObject({ Status: 400, Code: 'create_transfer_schema', Type: 'Request Error' });
    expect([response.headers['error-field'], response.headers['money-moved']]).toEqual([field, 'no']);
  });

  test.each(['[]', '"x"', '7', 'null', '{', '{"amount": 1,}', "{'amount': 1}", '\u0000'])(
    'refuses the body %s because it is not a JSON object',
    async (body) => {
      const { fields } = await send({ body });
      expect(fields).toMatchObject({ Status: 400, Code: 'create_transfer_schema' });
    },
  );

  test.each([
    '85.5',
    '"85.50"',
    '1e3',
    '-0',
    '0',
    '-1',
    '"0100"',
    '1e999',
    '9007199254740993',
    '1000000000000',
    '" 1"',
  ])('refuses the amount %s', async (amount) => {
    const { fields, headers } = await send({ body: `{"card_id": "card_active", "amount": ${amount}}` });
    expect(fields).toMatchObject({ Status: 400, Code: 'invalid_amount', Type: 'Request Error' });
    expect(fields.Message).toContain('minor units');
    expect(headers['error-field']).toBe('/amount');
  });
});

describe('headers of every response', () => {
  test('are complete on success', async () => {
    const { headers } = await send({ headers: { 'Request-Id': 'my-trace.7' }, body: LOAD });
    expect(headers['request-id']).toMatch(/^req_[0-9a-f]{32}$/);
    expect(headers['client-request-id']).toBe('my-trace.7');
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['money-moved']).toBe('yes');
  });

  test('link a refusal to its explanation, and say whether to retry and whether money moved', async () => {
    const { headers, text } = await send({ body: { ...LOAD, card_id: 'card_closed' } });
    expect(text.startsWith('{"Message":')).toBe(true);
    expect(headers).toMatchObject({
      'error-code': 'card_closed',
      'error-field': '/card_id',
      link: '</errors/card_closed>; rel="describedby"',
      'money-moved': 'no',
      'should-retry': 'false',
    });
    const explained = await send({ method: 'GET', path: '/errors/card_closed.json' });
    expect([explained.status, explained.fields.status]).toEqual([200, 409]);
  });

  test('contain the error code for a failed HEAD request, whose response has no body', async () => {
    const response = await send({ method: 'HEAD', path: '/api/v0.1/core/card/card_missing' });
    expect([response.status, response.text, response.headers['error-code']]).toEqual([404, '', 'card_not_found']);
  });

  test('have no Money-Moved after a failed read', async () => {
    const response = await send({ method: 'GET', path: '/api/v0.1/core/card/card_missing' });
    expect(response.headers).not.toHaveProperty('money-moved');
  });
});
