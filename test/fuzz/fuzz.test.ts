import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { type ServiceProcess, startService } from '../harness/process.ts';
import { runCampaign } from './campaign.ts';
import type { ReceivedResponse } from './conversation.ts';
import { newBatchOf } from './generate.ts';
import { type ExpectedResponse, judge, judgeExchange } from './judge.ts';

/** What is done with transfers and cards that are there. */
const CHANGES = [
  'capture_transfer',
  'cancel_transfer',
  'reverse_transfer',
  'update_transfer',
  'update_card',
  'get_card_limits',
  'list_postings',
] as const;

describe('generated requests', () => {
  let directory: Awaited<ReturnType<typeof ledgerDirectory>>;
  let service: ServiceProcess;

  beforeAll(async () => {
    directory = await ledgerDirectory();
    service = await startService({ DATA_DIR: directory.path, LOG_LEVEL: 'silent' });
  });

  afterAll(async () => {
    await service.stop();
    await directory.remove();
  });

  it('get error records or exactly the requested result, ten thousand of them', {}, async () => {
    const seed = 20_260_101;
    const result = await runCampaign(service, { seed, count: 10_000 });
    // A violation is looked at with: npm run fuzz -- --seed 20260101 --batch <batch>
    expect(result.violations).toEqual([]);
    expect(result.requests).toBeGreaterThanOrEqual(10_000);
    expect(result.moves).toBeGreaterThan(2000);
    for (const operation of CHANGES) {
      expect(result.successes.get(operation), operation).toBeGreaterThan(50);
    }
    for (const status of [200, 201, 400, 401, 403, 404, 405, 409, 413, 415, 417, 431]) {
      expect(result.statuses.get(status), `status ${status}`).toBeGreaterThan(0);
    }
    expect(result.statuses.get(500)).toBeUndefined();
  });
});

it('are the same for the same seed, and others for another', () => {
  const bytesOf = (seed: number) =>
    Array.from({ length: 50 }, (_, batch) => {
      const made = newBatchOf({ seed, batch });
      return made.kind === 'bytes' ? made.bytes : Buffer.concat(made.requests.map(({ bytes }) => bytes));
    });
  expect(bytesOf(7)).toEqual(bytesOf(7));
  expect(bytesOf(7)).not.toEqual(bytesOf(8));
});

// A judge that cannot say no proves nothing.
describe('the judge', () => {
  const expected: ExpectedResponse = {
    method: 'POST',
    operation: 'create_transfer',
    expectation: 'refusal',
    faults: ['a fault'],
    planted: [],
    amount: 5,
  };

  function refused(
    message: string,
    change: (response: ReceivedResponse) => ReceivedResponse = (response) => response,
  ): ReceivedResponse {
    const body = JSON.stringify({
      Message: message,
      Status: 400,
      Code: 'create_transfer_schema',
      Type: 'Request Error',
    });
    const headers = [
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/json; charset=utf-8',
      `Request-Id: req_${'0'.repeat(32)}`,
      'Cache-Control: no-store',
      'Error-Code: create_transfer_schema',
      'Link: </errors/create_transfer_schema>; rel="describedby"',
      'Should-Retry: false',
      'Money-Moved: no',
    ];
    return change({ status: 400, head: headers.join('\r\n'), body });
  }

  const without = (header: string) => (response: ReceivedResponse) => ({
    ...response,
    head: response.head.replace(new RegExp(`\r\n${header}: [^\r]*`), ''),
  });

  it('accepts an error record', () => {
    expect(judge(refused('It is not so.'), expected, ['4111111111111111'])).toBeUndefined();
  });

  it.each<[string, ReceivedResponse]>([
    ['a success in spite of a fault', { status: 201, head: 'HTTP/1.1 201 Created', body: '{"amount":5}' }],
    ['a redirection', { status: 302, head: 'HTTP/1.1 302 Found', body: '' }],
    ['a stack', refused('Broken at handler (file.ts:1:2).')],
    ["PostgreSQL's own words", refused('duplicate key value violates unique constraint "card_name".')],
    ['a function that was meant to be a reason', refused('function toString() { [native code] }.')],
    ['a card number', refused('There is no card 4111 1111 1111 1111.')],
    [
      'a fifth member',
      refused('No.', (response) => ({ ...response, body: response.body.replace('}', ',"Extra":1}') })),
    ],
    ['members in another order', refused('No.', (response) => ({ ...response, body: reordered(response.body) }))],
    [
      'another status in the body',
      refused('No.', (response) => ({ ...response, body: response.body.replace('400', '404') })),
    ],
    [
      'a code that nobody knows',
      refused('No.', (response) => ({ ...response, head: response.head.replace('_schema', '_x') })),
    ],
    ['no request id', refused('No.', without('Request-Id'))],
    ['no link', refused('No.', without('Link'))],
    ['no advice whether to retry', refused('No.', without('Should-Retry'))],
    [
      'an unknown outcome',
      refused('No.', (response) => ({ ...response, head: response.head.replace(': no', ': unknown') })),
    ],
    ['no message', refused('')],
    ['support for a fault of the caller', refused('Please contact support.')],
  ])('detects %s', (_, response) => {
    expect(judge(response, expected, ['4111111111111111'])).toBeDefined();
  });

  it('detects another amount than the one sent, and a refusal without a reason', () => {
    const good = { ...expected, expectation: 'success', faults: [] } as const;
    const moved = { status: 201, head: 'HTTP/1.1 201 Created', body: '{"amount":6}' };
    expect(judge(moved, good, [])).toMatch(/for 5 and moved 6/);
    expect(judge(refused('No.'), good, [])).toMatch(/nothing was wrong/);
  });

  it.each<[string, ExpectedResponse['operation'], number, object, RegExp]>([
    ['a hold that has moved', 'create_transfer', 201, { amount: 5, captured_amount: 5, status: 'pending' }, /pending/],
    [
      'a transfer that has not',
      'create_transfer',
      201,
      { amount: 5, captured_amount: 0, status: 'completed' },
      /and 0/,
    ],
    ['a capture of too much', 'capture_transfer', 200, { captured_amount: 6, status: 'completed' }, /was for 5/],
    ['a capture of nothing', 'capture_transfer', 200, { captured_amount: 5, status: 'pending' }, /is pending/],
    ['a cancellation that moved', 'cancel_transfer', 200, { captured_amount: 5, status: 'canceled' }, /canceled/],
    ['a reversal of too much', 'reverse_transfer', 201, { amount: 6 }, /was for 5 and moved 6/],
    ['another success than there is', 'capture_transfer', 201, { captured_amount: 5, status: 'completed' }, /has 200/],
  ])('detects %s', (_, operation, status, record, problem) => {
    const good = { ...expected, operation, expectation: 'success', faults: [] } as const;
    const response = { status, head: `HTTP/1.1 ${status} Good`, body: JSON.stringify(record) };
    expect(judge(response, good, [])).toMatch(problem);
  });

  it('detects a refusal without Money-Moved', () => {
    const either = { ...expected, expectation: 'either', faults: [] } as const;
    expect(judge(refused('No.'), either, [])).toBeUndefined();
    expect(judge(refused('No.', without('Money-Moved')), either, [])).toMatch(/no money moved/);
  });

  it('detects a connection that ends without a response, and one with extra bytes', () => {
    const two = [
      { closes: false, method: 'GET' },
      { closes: false, method: 'GET' },
    ];
    const responses = [{ status: 200, head: 'HTTP/1.1 200 OK', body: '{}' }];
    expect(judgeExchange({ responses, rest: '', isEnded: true }, two)).toMatch(/no response said so/);
    expect(judgeExchange({ responses, rest: '', isEnded: false }, two)).toMatch(/in time/);
    expect(judgeExchange({ responses: [...responses, ...responses], rest: 'x', isEnded: false }, two)).toMatch(
      /more came/,
    );
  });
});

function reordered(body: string): string {
  return JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(body)).reverse()));
}
