import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { type Fetch, InvalidArgument, isFailedCall, TransferService } from '../../sdk/client.ts';

// Tests how a console prints an error. Node prints the stack and the fields, and a browser prints only the stack.

const REFUSED = { Message: 'The card has 5.00 USD.', Status: 409, Code: 'insufficient_funds', Type: 'Request Error' };

const respond =
  (status: number, body: string): Fetch =>
  async () =>
    new Response(body, { status, headers: { 'Request-Id': 'req-1', 'Money-Moved': 'no' } });

const failureOf = (fetch: Fetch): Promise<Error> =>
  new TransferService({ fetch, maxRetries: 0 }).transfers
    .create({ amount: 100, card_id: 'card_active' }, { idempotencyKey: 'order-1' })
    .then(() => expect.fail('the call succeeded'))
    .catch((error: Error) => error);

const refused = () => failureOf(respond(409, JSON.stringify(REFUSED)));

test('the stack begins with the class, the code, the message, the request id and whether money moved', async () => {
  const { stack = '' } = await refused();
  const [first, second] = stack.split('\n');
  expect(first).toBe('RequestError [insufficient_funds]: The card has 5.00 USD. (request req-1, money moved: no)');
  expect(second).toMatch(/^ {4}at /);
});

test('Node also prints the fields that have a value, without the headers and the message', async () => {
  const fields = inspect(await refused())
    .replace(/^[^{]*/, '')
    .replaceAll(/\s+/g, ' ');
  expect(fields).toBe(
    "{ Status: 409, Code: 'insufficient_funds', Type: 'Request Error', requestId: 'req-1', moneyMoved: 'no', " +
      "shouldRetry: false, replayed: false, idempotencyKey: 'order-1', attempts: 1 }",
  );
});

test('fields that are not printed are kept', async () => {
  const error = await refused();
  expect(error).toMatchObject({ Message: REFUSED.Message, transferId: undefined });
  expect((error as Error & { headers: Headers }).headers.get('Money-Moved')).toBe('no');
});

test('logs an error as JSON with its message', async () => {
  expect(JSON.parse(JSON.stringify(await refused()))).toMatchObject({
    ...REFUSED,
    requestId: 'req-1',
    moneyMoved: 'no',
  });
});

test.each([
  [
    'UnexpectedResponse [502]',
    respond(502, '<html>'),
    /neither an error record nor a record/,
    '(request req-1, money moved: no)',
  ],
  [
    'ConnectionFailure [lost]',
    () => Promise.reject(new TypeError('fetch failed')),
    /with the idempotency key "order-1"/,
    '(money moved: unknown)',
  ],
] as const)('the first line of %s has the same parts', async (beginning, fetch, message, end) => {
  const [first = ''] = (await failureOf(fetch)).stack?.split('\n') ?? [];
  expect(first.startsWith(`${beginning}: `)).toBe(true);
  expect(first).toMatch(message);
  expect(first.endsWith(end)).toBe(true);
});

test('isFailedCall recognizes the errors of calls', async () => {
  for (const fetch of [
    respond(409, JSON.stringify(REFUSED)),
    respond(502, ''),
    () => Promise.reject(new Error('lost')),
  ])
    expect(isFailedCall(await failureOf(fetch))).toBe(true);
  for (const other of [new Error('no call'), new InvalidArgument('not sent'), undefined, 'text', { moneyMoved: 'no' }])
    expect(isFailedCall(other)).toBe(false);
});

test("a message is a single line, even if the platform's message contains a line break", async () => {
  const cause = new Error('SSL routines:wrong version number:\n');
  const { message } = await failureOf(() => Promise.reject(new TypeError('fetch failed', { cause })));
  expect(message).toContain('(SSL routines:wrong version number:)');
  expect(message).not.toContain('\n');
});

test('keeps the stack of an engine whose stacks begin without the message', async () => {
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = () => 'create@client.js:1:1';
  try {
    expect((await refused()).stack).toBe('create@client.js:1:1');
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
  }
});
