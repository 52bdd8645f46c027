import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { ERRORS, errorRecord, supportAdvice } from '../../contract/errors/catalogue.ts';
import { exampleReply } from '../../contract/examples.ts';
import { type ErrorCode, OPERATIONS } from '../../contract/operations.ts';
import { LIMIT_NAMES } from '../../sdk/client.ts';
import { errorResponse, failingResponse, startCannedService, TRANSFER } from '../sdk/canned-service.ts';
import { type Outcome, runHere } from './in-process.ts';
import { CARD, CARD_LIMITS, MOVEMENT, SETTING, STATEMENT, TRIAL_BALANCE } from './records.ts';

const service = await startCannedService();
afterAll(() => service.close());

function type(text: string, environment: { key?: string; program?: string } = {}): Promise<Outcome> {
  return runHere(service.url, text.split(' '), environment);
}

describe('the card program of a command', () => {
  const program = 'prog_environment';

  test('comes from the option if given, otherwise from the environment', async () => {
    service.play({ status: 200, body: { data: [], next_cursor: null } });
    await type('transfers list', { program, key: 'secret' });
    await type('transfers list --program prog_2 --key other', { program, key: 'secret' });
    expect(service.received.map(({ headers }) => [headers['program-id'], headers.authorization])).toEqual([
      ['prog_environment', 'Bearer secret'],
      ['prog_2', 'Bearer other'],
    ]);
  });

  test('from the environment does not restrict a switch command or a new key', async () => {
    service.play({ status: 200, body: SETTING });
    await type('switch disable --reason test', { program });
    await type('switch enable', { program });
    await type('keys create --name ops --scopes operator --all-programs', { program });
    expect(service.received.map(({ body }) => body).join()).not.toContain(program);
  });

  test('is required for a deposit, as an option or in the environment', async () => {
    service.play({ status: 201, body: MOVEMENT });
    expect(await type('deposits create --amount 5')).toMatchObject({ exitCode: 2 });
    expect(service.received).toEqual([]);
    expect(await type('deposits create --amount 5', { program: 'prog_1' })).toMatchObject({ exitCode: 0 });
    expect(service.received[0]?.url).toContain('/prog_1/deposit');
  });
});

describe('a case', () => {
  const REQUEST = `req_${'1'.repeat(32)}`;
  const opened = exampleReply('create_case') as object;

  test.each<[string, object]>([
    ['cases open --text Where?', { text: 'Where?' }],
    [`cases open ${REQUEST}`, { request_id: REQUEST }],
    [`cases open tr_1 --text Where? --severity high`, { transfer_id: 'tr_1', text: 'Where?', severity: 'high' }],
  ])('is opened by "%s"', async (text, body) => {
    service.play({ status: 201, body: opened });
    expect(await type(text)).toMatchObject({ exitCode: 0, output: expect.stringContaining('case_id') });
    expect(service.received.map((request) => JSON.parse(request.body))).toEqual([body]);
  });

  test('needs an id or some text', async () => {
    const message = "The required field 'text' is missing. Send a 'request_id', a 'transfer_id' or a 'text'.";
    service.play(errorResponse({ ...errorRecord('create_case_schema', message) }));
    const { exitCode, errors } = await type('cases open');
    expect(service.received.map((request) => JSON.parse(request.body))).toEqual([{}]);
    expect([exitCode, errors]).toEqual([1, expect.stringContaining(message)]);
    expect(await type('cases open card_active')).toMatchObject({
      exitCode: 2,
      errors: expect.stringContaining('not a request id (req_...) or a transfer id (tr_...)'),
    });
    expect(service.received).toHaveLength(1);
  });
});

test('status works with a process of an earlier version, which sends no yesterday', async () => {
  const { yesterday, ...earlier } = exampleReply('get_status') as { readonly yesterday: object };
  service.play({ status: 200, body: earlier });
  const { exitCode, output, errors } = await type('status');
  expect(yesterday).toBeDefined();
  expect([exitCode, errors]).toEqual([0, '']);
  expect(output).toMatch(/^webhooks:/m);
  expect(output).not.toMatch(/^days:/m);
});

describe('limits', () => {
  test.each<[string, object | null]>([
    ['none', null],
    ['{}', {}],
    ['{"in":{"daily_count":5}}', { in: { daily_count: 5 } }],
    [
      'in.daily_amount=50000,in.daily_count=5,out.minimum_amount=0,maximum_balance=200000',
      { in: { daily_amount: 50_000, daily_count: 5 }, out: { minimum_amount: 0 }, maximum_balance: 200_000 },
    ],
    // The service checks the names, so the command accepts any.
    ['out.dayly_count=5,daily_count=5', { out: { dayly_count: 5 }, daily_count: 5 }],
  ])('are read from %s', async (text, limits) => {
    service.play({ status: 200, body: CARD });
    const { exitCode } = await type(`cards update card_active --limits ${text}`);
    expect(exitCode).toBe(0);
    expect(JSON.parse(service.received[0]?.body ?? '')).toEqual({ limits });
  });

  test('can be separated by spaces', async () => {
    service.play({ status: 201, body: CARD });
    const { exitCode } = await runHere(service.url, [
      'cards',
      'create',
      '--limits',
      'in.daily_count=5, out.daily_count=6',
    ]);
    expect(exitCode).toBe(0);
    expect(service.received[0]?.body).toBe('{"limits":{"in":{"daily_count":5},"out":{"daily_count":6}}}');
  });

  test('can be removed one by one, by direction, or all at once, like the details of a card', async () => {
    service.play({ status: 200, body: CARD });
    await type('cards update card_1 --limits in.daily_count=none,out=none,maximum_balance=none');
    await type('cards update card_1 --limits none --remove holder_reference,last_four,expires_on');
    await type('transfers update tr_1 --metadata a=1 --remove-metadata b --remove-metadata c');
    await type('cards update card_1 --metadata a=1 --remove-metadata b');
    await type('programs update prog_1 --clear-metadata');
    expect(service.received.map(({ body }) => JSON.parse(body))).toEqual([
      { limits: { in: { daily_count: null }, out: null, maximum_balance: null } },
      { limits: null, holder_reference: null, last_four: null, expires_on: null },
      { metadata: { a: '1', b: null, c: null } },
      { metadata: { a: '1', b: null } },
      { metadata: null },
    ]);
  });

  test('are described in the help', async () => {
    for (const command of ['cards create', 'cards update', 'programs update']) {
      const { output } = await type(`${command} --help`);
      for (const name of LIMIT_NAMES) expect(output).toContain(name);
      const text = output.replaceAll(/\s+/g, ' ');
      expect(text.includes('Omitted limits keep their values.')).toBe(command !== 'cards create');
    }
  });

  test('are shown for a card that cannot be used', async () => {
    const shut = { ...CARD_LIMITS.in, allowed: false, code: 'card_lost', most: 0, limits: [] };
    const usedUp = { ...CARD_LIMITS.out, most: 0, limits: [] };
    service.play({ status: 200, body: { ...CARD_LIMITS, in: shut, out: usedUp, maximum_balance: null } });
    const { output } = await type('cards limits card_lost');
    expect(output).toContain('next transfer in:  not allowed: card_lost\nnext transfer out: none available\n');
    expect(output).toContain('\n\nNo limits.\n');
  });
});

const BATCH = 'transfers create-batch test/cli/rows.json';
const SEND_AGAIN = `To get the missing outcomes, send the batch again with the same keys. No row
moves money twice.`;
const CREATED = {
  idempotency_key: 'row',
  status: 201,
  transfer: TRANSFER,
  error: null,
  money_moved: 'yes',
  replayed: false,
};
const withError = (code: ErrorCode, moneyMoved: string) => {
  const error = errorRecord(code, 'What happened.');
  return { ...CREATED, status: error.Status, transfer: null, error, money_moved: moneyMoved };
};
const REFUSED = withError('card_not_found', 'no');
const OVERLOADED = withError('service_unavailable', 'no');
const UNKNOWN = withError('unknown_create_transfer', 'unknown');

describe('commands', () => {
  test('--all prints all pages as one list', async () => {
    service.play(
      { status: 200, body: { data: [CARD], next_cursor: 'c2' } },
      { status: 200, body: { data: [CARD], next_cursor: null } },
    );
    const { output } = await type('cards list --all --json');
    expect(JSON.parse(output)).toEqual({ data: [CARD, CARD], next_cursor: null });
    expect(service.received.map(({ url }) => url.split('?')[1])).toEqual(['limit=100', 'limit=100&cursor=c2']);
  });

  test('erase asks for confirmation, and requires --yes if no one can answer', async () => {
    const questions: string[] = [];
    const answered = (answer: boolean) =>
      runHere(service.url, ['cards', 'erase', 'mine'], {}, undefined, undefined, async (question) => {
        questions.push(question);
        return answer;
      });
    expect(await answered(false)).toEqual({ exitCode: 2, output: '', errors: 'Nothing was erased.\n' });
    expect(await type('cards erase mine')).toMatchObject({ exitCode: 2, output: '' });
    service.play({ status: 200, body: Object(exampleReply('erase_card_holder')) });
    expect(await answered(true)).toMatchObject({ exitCode: 0, errors: '' });
    expect(service.received.map(({ url }) => url)).toEqual(['/api/v0.1/core/card/mine/erase']);
    expect(questions).toEqual(Array(2).fill(expect.stringContaining('card mine? This cannot be undone.')));
  });

  test('connectors marks the disabled connectors, then lists the reasons in the format of switch show', async () => {
    const listed = Object(exampleReply('list_connectors')) as { readonly data: readonly object[] };
    const connector = Object(listed.data[0]);
    const setting = { ...SETTING, scope: 'connector', connector_id: 'increase', until: '2030-02-01T12:00:00.000Z' };
    const ofLoads = { ...connector, connector_id: 'bank', disabled_by: [{ ...setting, type: 'load' }] };
    service.play(
      { status: 200, body: { data: [connector, { ...connector, disabled_by: [setting] }, ofLoads] } },
      { status: 200, body: { data: [setting, { ...setting, type: 'load' }] } },
      { status: 200, body: { data: [connector] } },
    );
    const { output } = await type('connectors');
    const [connectors = '', settings] = output.split('\nDisabled by the switch:\n');
    const disabled = connectors.split('\n').map((line) => / {2}(yes|no|in part) {2}/.exec(line)?.[1]);
    expect(disabled.slice(1, 4)).toEqual(['no', 'yes', 'in part']);
    expect(settings).toBe((await type('switch show')).output);
    expect((await type('connectors')).output).not.toContain('Disabled by the switch');
  });

  test('statement shows the opening and closing balances of a statement that has several pages', async () => {
    service.play(
      { status: 200, body: { ...STATEMENT, next_cursor: 'c2' } },
      { status: 200, body: { ...STATEMENT, next_cursor: null } },
    );
    const { output } = await type('cards statement card_active --all --json --to 2030-01-31T12:00:00Z');
    expect(JSON.parse(output)).toEqual({ ...STATEMENT, data: [...STATEMENT.data, ...STATEMENT.data] });
    expect(service.received[1]?.url).toContain('/posting?limit=100&cursor=c2&created_to=2030-01-31T12%3A00%3A00Z');
  });

  test('transfers list and export have every filter', async () => {
    const filters = [
      ...['--card card_active --type load --status pending --reference r --idempotency-key k --metadata order=a=b'],
      ...['--from 2030-01-01T00:00:00Z --to 2030-02-01T00:00:00Z --minimum-amount 1 --maximum-amount 999999999999'],
    ].join(' ');
    service.play({ status: 200, body: { data: [], next_cursor: null } });
    await type(`transfers list ${filters} --limit 5 --cursor c2`);
    const query = new URL(service.received[0]?.url ?? '', service.url).searchParams;
    expect([...query.keys()].sort()).toEqual(Object.keys(OPERATIONS.list_transfers.query?.properties ?? {}).sort());
    expect(Object.fromEntries(query)).toMatchObject({
      metadata_name: 'order',
      metadata_value: 'a=b',
      maximum_amount: '999999999999',
    });
    for (const list of ['cards list', 'programs list', 'programs movements prog_1 --reference r']) {
      service.play({ status: 200, body: { data: [], next_cursor: null } });
      await type(`${list} --metadata order=a=b`);
      const { searchParams: pair } = new URL(service.received[0]?.url ?? '', service.url);
      expect(Object.fromEntries(pair)).toMatchObject({ metadata_name: 'order', metadata_value: 'a=b' });
    }
    service.play({ chunks: ['transfer_id\r\n'] });
    await type(`transfers export ${filters} --raw`);
    const exported = new URL(service.received[0]?.url ?? '', service.url).searchParams;
    expect([...exported.keys()].sort()).toEqual(
      Object.keys(OPERATIONS.export_transfers.query?.properties ?? {}).sort(),
    );
  });

  test('create accepts scheduled transfers and expiring holds', async () => {
    service.play({ status: 201, body: TRANSFER });
    await type('transfers create --card c --amount 5 --capture manual --expires-at 2030-01-31T12:00:00Z');
    await type('transfers create --card c --amount 5 --scheduled-for 2030-01-31T12:00:00Z');
    expect(service.received.map(({ body }) => JSON.parse(body))).toEqual([
      { card_id: 'c', amount: '5', capture: 'manual', expires_at: '2030-01-31T12:00:00Z' },
      { card_id: 'c', amount: '5', scheduled_for: '2030-01-31T12:00:00Z' },
    ]);
  });

  test('capture and reverse use the full amount without --amount', async () => {
    service.play({ status: 200, body: TRANSFER });
    await type('transfers capture tr_1');
    await type('transfers reverse tr_1');
    await type('transfers update tr_1 --clear-metadata');
    expect(service.received.map(({ body }) => body)).toEqual(['{}', '{}', '{"metadata":null}']);
  });

  test.each(['capture', 'cancel', 'reverse'])(
    'print the idempotency key if the result of %s is unknown',
    async (command) => {
      service.play(failingResponse({ 'should-retry': 'false', 'money-moved': 'unknown' }));
      const { exitCode, errors } = await type(`transfers ${command} tr_1 --idempotency-key k`);
      expect(exitCode).toBe(3);
      expect(errors).toContain('Run the command again with --idempotency-key k: it moves money at most once.\n');
    },
  );

  test.each<[string, number]>([
    ['0', 0],
    ['90', 90],
    ['90m', 5400],
    ['36h', 129_600],
  ])('sandbox clock sets the clock %s ahead', async (text, seconds) => {
    service.play({ status: 200, body: { now: '2030-01-31T12:00:00.000Z', seconds_ahead: seconds } });
    await type(`sandbox clock ${text}`);
    expect(service.received[0]?.body).toBe(`{"seconds_ahead":${seconds}}`);
  });

  test('a replayed response is reported as a replay', async () => {
    service.play({ status: 201, body: TRANSFER, headers: { 'idempotent-replayed': 'true' } });
    const { output } = await type('transfers create --card card_active --amount 1000 --idempotency-key k');
    expect(output).toContain('yes: an earlier request did this; this one moved no money\n');
  });

  test.each([
    'cards create',
    'programs create --name x --currency USD',
    'keys create --name x --scopes cards:read --all-programs',
    'keys roll key_1',
    'keys revoke key_1',
    'switch enable',
    'sandbox clock 0',
  ])('%s sends an idempotency key, and prints it if no response arrives', async (command) => {
    service.play('cut before the response');
    const { exitCode, errors } = await type(`${command} --idempotency-key k`);
    expect(exitCode).toBe(4);
    expect(errors).toContain('Run the command again with --idempotency-key k: it is executed at most once.\n');
    expect(service.received.map(({ headers }) => headers['idempotency-key'])).toEqual(['k', 'k', 'k']);
  });

  test.each<{ rows: readonly object[]; exitCode: number; summary: string }>([
    { rows: [CREATED], exitCode: 0, summary: '1 created' },
    { rows: [{ ...CREATED, replayed: true }], exitCode: 0, summary: '1 already created' },
    { rows: [CREATED, REFUSED], exitCode: 1, summary: '1 created, 1 refused' },
    { rows: [OVERLOADED, REFUSED], exitCode: 3, summary: `1 refused, 1 failed (no money moved)\n${SEND_AGAIN}` },
    {
      rows: [UNKNOWN, REFUSED, CREATED, UNKNOWN],
      exitCode: 3,
      summary: `1 created, 1 refused, 2 unknown (money may have moved)\n${SEND_AGAIN}`,
    },
    {
      rows: [{ ...UNKNOWN, money_moved: 'yes' }],
      exitCode: 3,
      summary: `1 failed (the money has moved)\n${SEND_AGAIN}`,
    },
  ])('a batch is summarized: $summary', async ({ rows, exitCode, summary }) => {
    const body = { data: rows.map((row, index) => ({ index, ...row })) };
    service.play({ status: 200, body });
    const shown = await type(BATCH);
    expect(shown).toMatchObject({ exitCode, errors: '' });
    expect(shown.output.slice(shown.output.indexOf('\n\n') + 2)).toBe(`${summary}\n`);
    const json = await type(`${BATCH} --json`);
    expect(json.exitCode).toBe(exitCode);
    expect(JSON.parse(json.output)).toEqual(body);
  });

  test('each row of a batch says whether its money moved', async () => {
    service.play({ status: 200, body: { data: [UNKNOWN, CREATED].map((row, index) => ({ index, ...row })) } });
    expect((await type(BATCH)).output).toMatch(
      /^index +idempotency_key +status +money_moved +replayed +result\n +0 +row +500 +unknown +no +unknown_create_transfer\n +1 +row +201 +yes +no +tr_/,
    );
  });

  test('the replay of a new key shows no secret', async () => {
    const key_omitted = 'The secret is in the first response only and is not stored.';
    const body = { key_id: 'key_1', name: 'x', scopes: ['cards:read'], key: null, key_omitted };
    service.play({ status: 201, body, headers: { 'idempotent-replayed': 'true' } });
    const { output, errors } = await type(
      'keys create --name x --scopes cards:read --all-programs --idempotency-key k',
    );
    expect(output).toContain(`key_omitted: ${key_omitted}\n`);
    expect(output).toContain('yes: this request changed nothing\n');
    expect(errors).toBe('');
  });

  test('trial-balance exits with 3 if the ledger does not balance', async () => {
    const differing_accounts = [{ account_id: 'acc_1', balance: 5, postings: 4 }];
    service.play({ status: 200, body: { ...TRIAL_BALANCE, balanced: false, differing_accounts } });
    const { exitCode, output } = await type('trial-balance');
    expect(exitCode).toBe(3);
    expect(output).toContain('balanced:          no\n');
    expect(output).toContain('acc_1             5         4\n');
  });

  test('control characters from the service are escaped', async () => {
    service.play({ status: 200, body: { ...TRANSFER, description: 'a\u001b[2Jb\u202ec' } });
    const { output } = await type('transfers get tr_1');
    expect(output).toContain('a\\u001b[2Jb\\u202ec');
    expect(output).not.toContain('\u001b');
  });

  test('control characters in JSON are escaped without changing its values', async () => {
    const transfer = { ...TRANSFER, description: 'a\u001b[2Jb\u202ec\u009b31md' };
    service.play({ status: 200, body: transfer });
    const { output } = await type('transfers get tr_1 --json');
    expect(output).toContain('a\\u001b[2Jb\\u202ec\\u009b31md');
    expect(JSON.parse(output)).toMatchObject({ description: transfer.description });
  });

  test('create prints the transfer id and the idempotency key if the result is unknown', async () => {
    service.play(failingResponse({ 'should-retry': 'false', 'money-moved': 'unknown', 'transfer-id': 'tr_1' }));
    const { exitCode, errors } = await type('transfers create --card card_active --amount 1000 --idempotency-key k');
    expect(exitCode).toBe(3);
    expect(errors).toContain('Money moved: unknown\nRequest id:  req_canned\nTransfer id: tr_1\n');
    expect(errors).toContain('Run the command again with --idempotency-key k: it moves money at most once.\n');
  });

  test('an error is printed as JSON', async () => {
    const headers = { 'money-moved': 'no', 'should-retry': 'false', 'error-field': '/amount' };
    service.play(errorResponse({ Status: 400, Code: 'invalid_amount', Type: 'Request Error' }, headers));
    const { exitCode, output, errors } = await type('transfers create --card card_active --amount 0 --json');
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' });
    expect(JSON.parse(errors)).toMatchObject({
      Message: 'Something specific.',
      Status: 400,
      Code: 'invalid_amount',
      Type: 'Request Error',
      request_id: 'req_canned',
      money_moved: 'no',
      should_retry: false,
      field: '/amount',
    });
  });
});

describe('errors without a service', () => {
  test('codes lists every code', async () => {
    const { output } = await type('errors codes');
    for (const code of Object.keys(ERRORS)) expect(output).toContain(`\n${code} `);
    const { data } = JSON.parse((await type('errors codes --json')).output) as { data: { code: string }[] };
    expect(data.map(({ code }) => code)).toEqual(Object.keys(ERRORS));
  });

  test.each(Object.keys(ERRORS))('explain %s fits in 80 columns', async (code) => {
    const { exitCode, output } = await type(`errors explain ${code}`);
    expect(exitCode).toBe(0);
    for (const line of output.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    const text = output.replaceAll(/\s+/g, ' ');
    const definition = ERRORS[code as keyof typeof ERRORS];
    expect(text).toContain(definition.resolution);
    const { next, tell } = supportAdvice(definition);
    expect(text).toContain(`For support Next step: ${next} Tell the customer: ${tell} See `);
  });

  test.each([
    ['funds', 'did you mean insufficient_funds?'],
    ['nsf', 'did you mean insufficient_funds?'],
    ['frozen', 'did you mean card_suspended?'],
    ['xylophone', 'list them with: transfer-service errors codes'],
  ])('explain suggests a code for %s', async (typed, suggestion) => {
    const { exitCode, errors } = await type(`errors explain ${typed}`);
    expect({ exitCode, errors }).toEqual({
      exitCode: 2,
      errors: `error: unknown error code '${typed}'; ${suggestion}\n`,
    });
  });
});

describe('invalid command lines', () => {
  test.each([
    '',
    'transfers',
    'transfers creat',
    'transfers create --amount 5',
    'transfers list --limit many',
    'transfers list --type gift',
    'transfers list --all --cursor c2',
    'transfers create --card c --amount 5 --metadata novalue',
    'cards get ..',
    'cards list --url nonsense',
    'switch disable',
    'transfers capture',
    'transfers update tr_1',
    'transfers update tr_1 --metadata a=b --clear-metadata',
    'transfers list --metadata a=b --metadata c=d',
    'transfers list --minimum-amount 8.50',
    'transfers create --card c --amount 5 --capture later',
    'cards update card_1 --status expired',
    'cards update card_1 --limits daily',
    'cards update card_1 --limits out.daily_amount=8.50',
    'cards update card_1 --limits out.daily_count=5,out.daily_count=6',
    'cards update card_1 --limits out.daily_count=5 --limits in.daily_count=5',
    'programs update prog_1 --card-limits {',
    'keys create --name x --all-programs --scopes transfers:delete',
    'keys roll',
    'keys create --name x --program prog_1',
    'keys create --name x --scopes cards:read',
    'keys create --name x --all-programs',
    'keys create --name x --all-programs --role cashier',
    'keys create --name x --all-programs --role viewer --scopes cards:read',
    'keys create --name x --scopes operator --program prog_1 --all-programs',
    'cards create --limits none',
    'cards create --limits out.daily_count=none',
    'cards update card_1 --limits in=none,in.daily_count=5',
    'cards update card_1 --remove status',
    'cards update card_1 --expires-on 2030-01-31 --remove expires_on',
    'transfers update tr_1 --remove-metadata a --clear-metadata',
    'sandbox clock -- -5',
    'sandbox clock 2w',
    'nonsense',
  ])('"%s" exits with 2 without a request', async (text) => {
    service.play({ status: 200, body: {} });
    const { exitCode, output, errors } = await runHere(service.url, text === '' ? [] : text.split(' '));
    expect({ exitCode, output }).toEqual({ exitCode: 2, output: '' });
    expect(errors).not.toBe('');
    expect(service.received).toEqual([]);
  });

  test.each([
    ['a,b\n1,2\n', ["line 1, a: There is no column 'a'."]],
    [
      'attempt_id,kind,amount,currency,settled_on\nx,push,1,USD,2026-01-31\nx,pash,1,USD,2026-01-31\nx,push,1,ZZZ,2026-01-31\n',
      ["line 3, kind: 'kind' must be 'push' or 'pull'", "line 4, currency: 'ZZZ' is not an ISO 4217 currency code."],
    ],
    [' <Document>\n<Stmt></Document>', ['line 2: The file is not valid XML']],
  ])(
    'a settlement file with problems is not imported, and each problem is printed on its own line: %j',
    async (text, problems) => {
      const folder = mkdtempSync(join(tmpdir(), 'settlement-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const path = join(folder, 'file');
      writeFileSync(path, text);
      const { exitCode, errors } = await runHere(service.url, [
        'settlement',
        'import',
        path,
        '--connector',
        'simulator',
      ]);
      expect({ exitCode, received: service.received }).toEqual({ exitCode: 2, received: [] });
      expect(errors.split('\n')).toEqual([
        `error: nothing was imported from ${path}:`,
        ...problems.map((problem) => expect.stringContaining(problem)),
        '',
      ]);
    },
  );

  /** Command lines that a shell creates from `--option "$VARIABLE"` if the variable is not set. */
  test.each([
    ['switch', 'disable', '--reason', 'test', '--program', ''],
    ['switch', 'disable', '--reason', 'test', '--program', 'prog_1', '--type', ''],
    ['switch', 'disable', '--reason', 'test', '--until', ''],
    ['switch', 'enable', '--program', ''],
    ['--program', '', 'switch', 'enable'],
    ['--program=', 'switch', 'enable'],
    ['keys', 'create', '--name', 'x', '--scopes', 'cards:read', '--program', ''],
    ['keys', 'create', '--name', 'x', '--scopes', 'operator', '--all-programs', '--program', ''],
    ['keys', 'create', '--name', 'x', '--scopes', '', '--all-programs'],
    ['keys', 'create', '--name', 'x', '--scopes', 'cards:read', '--all-programs', '--expires-at', ''],
    ['keys', 'roll', 'key_1', '--previous-until', ''],
    ['transfers', 'capture', 'tr_1', '--amount', ''],
    ['transfers', 'reverse', 'tr_1', '--amount', ''],
    ['transfers', 'create', '--card', 'c', '--amount', '5', '--scheduled-for', ''],
    ['transfers', 'list', '--card', ''],
    ['transfers', 'export', '--card', ''],
    ['errors', 'search', '--program', ''],
    ['errors', 'list', '--code', ''],
    ['audit', 'list', '--action', ''],
    ['cards', 'list', '--program', ''],
    ['cards', 'update', 'card_1', '--limits', ''],
    ['cards', 'get', ''],
  ])('an empty value exits with 2: %j', async (...words) => {
    service.play({ status: 200, body: {} });
    const { exitCode, errors } = await runHere(service.url, words);
    expect({ exitCode, received: service.received }).toEqual({ exitCode: 2, received: [] });
    expect(errors).not.toBe('');
  });
});
