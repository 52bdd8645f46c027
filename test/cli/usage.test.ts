import { afterAll, describe, expect, test } from 'vitest';
import { startCannedService, TRANSFER } from '../sdk/canned-service.ts';
import { runHere } from './in-process.ts';

const service = await startCannedService();
afterAll(() => service.close());

describe('an unknown command exits with 2 and suggests the right one', () => {
  test.each([
    ['trasnfers', 'Did you mean: transfer-service transfers\nHelp: transfer-service --help\n'],
    ['card', 'Did you mean: transfer-service cards\n'],
    ['payments', 'Did you mean: transfer-service transfers list\n'],
    ['transfers crate', 'Did you mean: transfer-service transfers create\n'],
    ['import', 'Did you mean: transfer-service move-in check <file>\n'],
    ['cards import', 'Did you mean: transfer-service move-in check <file>\n'],
    ['move-in import', 'Did you mean: transfer-service move-in run\n'],
    ['deposits list', 'Did you mean: transfer-service movements --kind deposit\n'],
    ['holds', 'Did you mean: transfer-service cards holds <card_id>\n'],
    ['transfers refund tr_1', 'Did you mean: transfer-service transfers reverse\n'],
    [
      '--url http://127.0.0.1:1 cards foo',
      'The commands of cards are create, get, list, update, holds, erase, limits,',
    ],
    ['quux', 'The commands are transfers, cards, events, webhooks, doctor, status,'],
    ['transfers create --card c', 'Help: transfer-service transfers create --help\n'],
  ])('%s', async (text, advice) => {
    const { exitCode, output, errors } = await runHere(service.url, text.split(' '));
    expect({ exitCode, output }).toEqual({ exitCode: 2, output: '' });
    expect(errors).toMatch(/^error: /);
    expect(errors).toContain(advice);
    for (const line of errors.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});

test.each([
  ['help', 'Usage: transfer-service <resource> <command> [options]'],
  ['help transfers create', 'Usage: transfer-service transfers create [options]'],
  ['cards show --help', 'Usage: transfer-service cards get|show [options] <card_id>'],
])('%s prints help', async (text, usage) => {
  const { exitCode, output } = await runHere(service.url, text.split(' '));
  expect(exitCode).toBe(0);
  expect(output).toContain(usage);
});

describe('an empty list names the next step', () => {
  test.each([
    ['transfers list', 'No transfers.\n', 'transfers create --card <card_id> --amount "10.00 USD"\n'],
    ['transfers list --card nope', 'No transfers match these filters.\n', 'transfers list\n'],
    ['cards list', 'No cards.\n', 'programs list\n'],
    ['errors list', 'No errors.\n', 'errors tail\n'],
    ['keys list', 'No API keys.\n', 'keys create --name <text>'],
    ['search 987.65', 'No results.\n', 'errors search --help\n'],
    ['search 12.34', 'No results.\n', 'requests inspect <request_id>\n'],
  ])('%s', async (text, first, next) => {
    service.play({ status: 200, body: { data: [], next_cursor: null, complete: true } });
    const { exitCode, output } = await runHere(service.url, text.split(' '));
    expect(exitCode).toBe(0);
    expect(output.startsWith(first)).toBe(true);
    expect(output).toContain(`transfer-service ${next}`);
  });
});

describe('amounts with their currency', () => {
  const sent = () => service.received.map(({ method, body }) => [method, body === '' ? null : JSON.parse(body)]);

  test('are sent in minor units, together with the currency, which the service checks', async () => {
    service.play({ status: 201, body: TRANSFER });
    await runHere(service.url, [
      'transfers',
      'create',
      '--card',
      'c',
      '--amount',
      '10.00 USD',
      '--idempotency-key',
      'k',
    ]);
    await runHere(service.url, ['deposits', 'create', '--program', 'prog_1', '--amount', '1200 JPY']);
    expect(sent()).toEqual([
      ['POST', { card_id: 'c', amount: '1000', currency: 'USD' }],
      ['POST', { amount: '1200', currency: 'JPY' }],
    ]);
  });

  test("must be in the transfer's currency for a capture or a reversal", async () => {
    service.play({ status: 200, body: TRANSFER });
    await runHere(service.url, ['transfers', 'capture', 'tr_1', '--amount', '6.00 USD']);
    expect(sent()).toEqual([
      ['GET', null],
      ['POST', { amount: '600' }],
    ]);
    service.play({ status: 200, body: TRANSFER });
    const refused = await runHere(service.url, ['transfers', 'reverse', 'tr_1', '--amount', '6.00 EUR']);
    expect(refused).toMatchObject({ exitCode: 2, output: '' });
    expect(refused.errors).toContain('--amount is in EUR, and the transfer tr_1 is in USD');
    expect(sent()).toEqual([['GET', null]]);
  });

  test('are refused before a request is sent if they name no currency', async () => {
    service.play({ status: 201, body: TRANSFER });
    const { exitCode, errors } = await runHere(service.url, 'transfers create --card c --amount 10.00'.split(' '));
    expect(exitCode).toBe(2);
    expect(errors).toContain('type "10.00 USD" with your currency, or 1000 in minor units.');
    expect(service.received).toEqual([]);
  });
});

test.each([
  ['2026-11-21', '2026-11-21T00:00:00Z'],
  ['2026-11-21 09:30', '2026-11-21T09:30:00Z'],
  ['2026-11-21 00:47:19 UTC', '2026-11-21T00:47:19Z'],
  ['2026-11-21T00:47:19.123+01:00', '2026-11-21T00:47:19.123+01:00'],
])('--from %s is read as UTC', async (typed, time) => {
  service.play({ status: 200, body: { data: [], next_cursor: null } });
  const { exitCode } = await runHere(service.url, ['transfers', 'list', '--from', typed]);
  expect(exitCode).toBe(0);
  expect(new URL(service.received[0]?.url ?? '', service.url).searchParams.get('created_from')).toBe(time);
});

test('a list of transfers shows captured and reversed amounts that differ from the amount', async () => {
  const [plain, held] = [
    { ...TRANSFER, transfer_id: 'tr_plain', amount: 2000, captured_amount: 2000, reversed_amount: 0 },
    { ...TRANSFER, transfer_id: 'tr_held', amount: 2000, captured_amount: 1250, reversed_amount: 250 },
  ];
  service.play({ status: 200, body: { data: [plain, held], next_cursor: null } });
  const { output } = await runHere(service.url, ['transfers', 'list']);
  const [headings, ...lines] = output.split('\n').map((line) => line.trim().split(/ {2,}/));
  expect(headings).toEqual(expect.arrayContaining(['amount', 'captured', 'reversed', 'status']));
  expect(lines[0]).toEqual(expect.arrayContaining(['tr_plain', '20.00 USD', '-']));
  expect(lines[1]).toEqual(expect.arrayContaining(['tr_held', '20.00 USD', '12.50 USD', '2.50 USD']));
});

test.each([
  ['connect ENOENT /run/postgresql', 'Cause: connect ENOENT /run/postgresql\n'],
  ['provoked', 'Cause: the header Sandbox-Provoke\n'],
])('shows the last cause of an inspected error first: %s', async (message, line) => {
  const causes = [
    { name: 'OperationFailure', message: 'create_transfer', stack: [] },
    { name: 'Error', message, stack: ['at connect (net:1)'] },
  ];
  service.play({ status: 200, body: { request_id: 'req_1', code: 'unknown_create_transfer', causes } });
  const { output } = await runHere(service.url, ['errors', 'inspect', 'req_1']);
  expect(output).toContain(line);
  expect(output.indexOf(line)).toBeLessThan(output.indexOf('thrown:'));
});
