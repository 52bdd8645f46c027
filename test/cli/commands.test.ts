import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildProgram } from '../../cli/program.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { CATALOGUE } from '../../sdk/client.ts';
import { type CannedService, errorAnswer, failingAnswer, startCannedService, TRANSFER } from '../sdk/canned-service.ts';
import { type Outcome, runHere } from './in-process.ts';

const CARD = {
  card_id: 'card_active',
  program_id: 'prog_1',
  status: 'active',
  currency: 'USD',
  balance: 2500,
  held: 0,
  available: 2500,
  holder_reference: null,
  last_four: null,
  expires_on: null,
  created_at: '2030-01-31T12:00:00.000Z',
  updated_at: '2030-01-31T12:00:00.000Z',
};
const PROGRAM = {
  program_id: 'prog_1',
  name: 'Gifts',
  currency: 'JPY',
  time_zone: 'UTC',
  funding: [{ currency: 'JPY', balance: 1200, available: 1000 }],
  created_at: '2030-01-31T12:00:00.000Z',
};
const SETTING = {
  scope: 'service',
  program_id: null,
  type: null,
  disabled: true,
  reason: 'maintenance',
  actor: 'key_1',
  since: '2030-01-31T12:00:00.000Z',
  until: null,
};
const KEY = {
  key_id: 'key_1',
  name: 'shop',
  program_id: null,
  shown_as: 'ts_abcd',
  created_at: '2030-01-31T12:00:00.000Z',
  expires_at: null,
  revoked_at: null,
};
const MOVEMENT = {
  movement_id: 'dep_1',
  program_id: 'prog_1',
  kind: 'deposit',
  amount: 500,
  currency: 'USD',
  balance: 500,
  description: null,
  created_at: '2030-01-31T12:00:00.000Z',
};
const TRIAL_BALANCE = {
  balanced: true,
  currencies: [
    {
      currency: 'USD',
      accounts: 3,
      sum: 0,
      by_kind: [
        { kind: 'world', accounts: 1, balance: -2500 },
        { kind: 'card', accounts: 2, balance: 2500 },
      ],
    },
  ],
  differing_accounts: [],
  drawn_up_at: '2030-01-31T12:00:00.000Z',
};

const LOGGED_ERROR = {
  request_id: 'req_1',
  created_at: '2030-01-31T12:00:00.000Z',
  operation: 'create_transfer',
  code: 'insufficient_funds',
  status: 409,
  type: 'Request Error',
  message: 'The card has less.',
  field: '/amount',
  method: 'POST',
  path: '/api/v0.1/core/transfer',
  card_id: 'card_empty',
  transfer_id: null,
  idempotency_key: null,
  money_moved: 'no',
  request: { amount: '1', card_id: 'card_empty' },
};
const INSPECTED_ERROR = {
  ...LOGGED_ERROR,
  program_id: 'prog_1',
  caller: 'program_key',
  checks: { available: '0' },
  causes: [
    { name: 'OperationFailure', message: 'the database failed', stack: ['at readRows (transaction.ts:11)'] },
    { name: 'Error', message: 'connect ECONNREFUSED', stack: [] },
  ],
};
const COUNTED = { start: '2030-01-31T12:00:00.000Z', code: 'card_dne', type: 'Request Error', count: 12 };

type Line = { readonly type: string; readonly reply: object; readonly sends?: object; readonly shows: string };

/** Every operation: what is typed for it, what comes back, what is sent, and a piece of what is shown. */
const LINES: Readonly<Record<OperationId, Line>> = {
  create_transfer: {
    type: 'transfers create --card card_active --amount 1000 --metadata a=b --metadata c=d=e',
    reply: TRANSFER,
    sends: { amount: '1000', card_id: 'card_active', metadata: { a: 'b', c: 'd=e' } },
    shows: 'amount:          1000 (10.00 USD)\n',
  },
  create_transfer_batch: {
    type: 'transfers create-batch test/cli/rows.json',
    sends: { transfers: [{ amount: 1000, card_id: 'card_active', idempotency_key: 'row-1' }] },
    reply: {
      data: [
        {
          index: 0,
          idempotency_key: 'row-1',
          status: 201,
          transfer: TRANSFER,
          error: null,
          money_moved: 'yes',
          replayed: false,
        },
      ],
    },
    shows: '1 created, 0 refused\n',
  },
  explain_transfer: {
    type: 'transfers explain --card card_active --amount 1000',
    sends: { card_id: 'card_active', amount: '1000' },
    reply: {
      would_succeed: false,
      first_failure: 'insufficient_funds',
      checks: [
        {
          name: 'available_balance',
          outcome: 'failed',
          code: 'insufficient_funds',
          message: 'x',
          saw: { available: '0' },
        },
      ],
    },
    shows: 'The transfer would be refused: insufficient_funds.\n',
  },
  get_transfer: { type: 'transfers get tr_1', reply: TRANSFER, shows: 'metadata.order:  17\n' },
  list_transfers: {
    type: 'transfers list --card card_active --status completed',
    reply: { data: [TRANSFER], next_cursor: 'c2' },
    shows: 'There is more: add --all, or --cursor c2\n',
  },
  create_card: {
    type: 'cards create --card mine --expires-on 2031-01-31',
    reply: CARD,
    sends: { card_id: 'mine', expires_on: '2031-01-31' },
    shows: 'balance:    2500 (25.00 USD)\n',
  },
  get_card: { type: 'cards get card_active', reply: CARD, shows: 'status:     active\n' },
  list_cards: {
    type: 'cards list',
    reply: { data: [CARD], next_cursor: null },
    shows:
      'card_id      status           balance         available\n' +
      'card_active  active  2500 (25.00 USD)  2500 (25.00 USD)\n',
  },
  create_program: {
    type: 'programs create --name Gifts --currency JPY --time-zone Asia/Tokyo',
    reply: PROGRAM,
    sends: { name: 'Gifts', currency: 'JPY', time_zone: 'Asia/Tokyo' },
    shows: 'funding.JPY.available: 1000 (1000 JPY)\n',
  },
  get_program: { type: 'programs get prog_1', reply: PROGRAM, shows: 'funding.JPY.balance:   1200 (1200 JPY)\n' },
  list_programs: { type: 'programs list', reply: { data: [], next_cursor: null }, shows: 'There are none.\n' },
  create_deposit: {
    type: 'deposits create --program prog_1 --amount 500 --idempotency-key k',
    reply: MOVEMENT,
    sends: { amount: '500' },
    shows: 'idempotency_key: k\n',
  },
  create_withdrawal: {
    type: 'withdrawals create --program prog_1 --amount 500 --description wire',
    reply: { ...MOVEMENT, kind: 'withdrawal' },
    sends: { amount: '500', description: 'wire' },
    shows: 'kind:            withdrawal\n',
  },
  get_switch: { type: 'switch show', reply: { data: [SETTING] }, shows: 'maintenance\n' },
  change_switch: {
    type: 'switch disable --program prog_1 --type load --reason maintenance --until 2030-01-31T12:00:00Z',
    reply: SETTING,
    sends: {
      disabled: true,
      reason: 'maintenance',
      program_id: 'prog_1',
      type: 'load',
      until: '2030-01-31T12:00:00Z',
    },
    shows: 'disabled: yes\n',
  },
  get_trial_balance: { type: 'trial-balance', reply: TRIAL_BALANCE, shows: 'world         1  -2500 (-25.00 USD)\n' },
  create_key: {
    type: 'keys create --name shop',
    reply: { ...KEY, key: 'ts_abcd_secret' },
    sends: { name: 'shop' },
    shows: 'key:        ts_abcd_secret\n',
  },
  list_keys: { type: 'keys list', reply: { data: [KEY], next_cursor: null }, shows: 'operator' },
  revoke_key: { type: 'keys revoke key_1', reply: KEY, shows: 'key_id:     key_1\n' },
  get_error: { type: 'errors show req_1', reply: LOGGED_ERROR, shows: 'request.amount:  1\n' },
  list_errors: {
    type: 'errors list --code insufficient_funds --card card_empty --from 2030-01-31T00:00:00Z',
    reply: { data: [LOGGED_ERROR], next_cursor: null },
    shows: 'card_empty  no\n',
  },
  inspect_error: {
    type: 'errors inspect req_1',
    reply: INSPECTED_ERROR,
    shows:
      'thrown: OperationFailure: the database failed\n  at readRows (transaction.ts:11)\n' +
      'caused by: Error: connect ECONNREFUSED\n',
  },
  search_errors: {
    type: 'errors search --program prog_1 --operation create_transfer',
    reply: { data: [INSPECTED_ERROR], next_cursor: null, dropped: 0 },
    shows: 'no           prog_1\n',
  },
  count_errors: {
    type: 'errors count --interval day',
    reply: {
      interval: 'day',
      from: '2030-01-31T00:00:00.000Z',
      to: '2030-02-01T00:00:00.000Z',
      data: [COUNTED],
      dropped: 3,
    },
    shows: '   12\n3 more errors of this time could not be recorded.\n',
  },
  stop_database: { type: 'sandbox database stop', reply: { state: 'stopped' }, shows: 'state: stopped\n' },
  start_database: { type: 'sandbox database start', reply: { state: 'running' }, shows: 'state: running\n' },
};

let service: CannedService;
beforeAll(async () => {
  service = await startCannedService();
});
afterAll(() => service.close());

function type(text: string, environment: { key?: string; program?: string } = {}): Promise<Outcome> {
  return runHere(service.url, text.split(' '), environment);
}

function leaves(command: Command, path: readonly string[] = []): { path: string; command: Command }[] {
  if (command.commands.length === 0) return [{ path: path.join(' '), command }];
  return command.commands.flatMap((inner) => leaves(inner, [...path, inner.name()]));
}

function allLeaves() {
  const ignore = () => undefined;
  const environment = { url: 'http://127.0.0.1:8080', key: undefined, program: undefined };
  return leaves(buildProgram({ environment, write: ignore, writeError: ignore, endWith: ignore }));
}

describe('operations and commands', () => {
  test.each(OPERATION_IDS)('%s has its command', async (operation) => {
    const { type: typed, reply, sends, shows } = LINES[operation];
    const { method, path, status } = OPERATIONS[operation];
    service.play({ status, body: reply });
    const { exitCode, output, errors } = await type(typed);
    expect({ exitCode, errors: operation === 'create_key' ? '' : errors }).toEqual({ exitCode: 0, errors: '' });
    expect(output).toContain(shows);
    const [request] = service.received;
    expect(request?.method).toBe(method);
    expect(request?.url.split('?')[0]).toMatch(new RegExp(`^${path.replaceAll(/\{[a-z_]+\}/g, '[a-z_0-9]+')}$`));
    expect(request?.body === '' ? undefined : JSON.parse(request?.body ?? '')).toEqual(sends);
  });

  test.each(OPERATION_IDS)('%s prints what the service sent with --json', async (operation) => {
    const { type: typed, reply } = LINES[operation];
    service.play({ status: OPERATIONS[operation].status, body: reply });
    const { output } = await type(`--json ${typed}`);
    expect(JSON.parse(output)).toEqual(reply);
  });

  test('every command but those of the catalogue is that of an operation', () => {
    const known = [
      ...Object.values(LINES).map((line) => line.type),
      'switch enable',
      'errors codes',
      'errors explain',
      'migrate',
      'config',
      'verify-books',
      'operator-key create',
    ];
    for (const { path } of allLeaves()) expect(known.some((text) => text.startsWith(path))).toBe(true);
  });

  test('no help is wider than 80 columns', async () => {
    for (const path of ['', ...allLeaves().map((leaf) => leaf.path)]) {
      const { output, exitCode } = await type(`${path} --help`.trim());
      expect(exitCode).toBe(0);
      for (const line of output.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });
});

describe('whom a command is about', () => {
  const program = 'prog_forgotten';

  test('the environment names the program to act in, the command line wins', async () => {
    service.play({ status: 200, body: { data: [], next_cursor: null } });
    await type('transfers list', { program, key: 'secret' });
    await type('transfers list --program prog_2 --key other', { program, key: 'secret' });
    expect(service.received.map(({ headers }) => [headers['program-id'], headers.authorization])).toEqual([
      ['prog_forgotten', 'Bearer secret'],
      ['prog_2', 'Bearer other'],
    ]);
  });

  test('the environment never narrows the switch, and never binds a key', async () => {
    service.play({ status: 200, body: SETTING });
    await type('switch disable --reason test', { program });
    await type('switch enable', { program });
    await type('keys create --name ops', { program });
    expect(service.received.map(({ body }) => body).join()).not.toContain(program);
  });

  test('a deposit must name its program, by option or by environment', async () => {
    service.play({ status: 201, body: MOVEMENT });
    expect(await type('deposits create --amount 5')).toMatchObject({ exitCode: 2 });
    expect(service.received).toEqual([]);
    expect(await type('deposits create --amount 5', { program: 'prog_1' })).toMatchObject({ exitCode: 0 });
    expect(service.received[0]?.url).toContain('/prog_1/deposit');
  });
});

describe('what a person should notice', () => {
  test('all pages are joined', async () => {
    service.play(
      { status: 200, body: { data: [CARD], next_cursor: 'c2' } },
      { status: 200, body: { data: [CARD], next_cursor: null } },
    );
    const { output } = await type('cards list --all --json');
    expect(JSON.parse(output)).toEqual({ data: [CARD, CARD], next_cursor: null });
    expect(service.received.map(({ url }) => url.split('?')[1])).toEqual(['limit=100', 'limit=100&cursor=c2']);
  });

  test('a replay', async () => {
    service.play({ status: 201, body: TRANSFER, headers: { 'idempotent-replayed': 'true' } });
    const { output } = await type('transfers create --card card_active --amount 1000 --idempotency-key k');
    expect(output).toContain('yes: this request moved nothing\n');
  });

  test('books that do not balance end with 3', async () => {
    const differing_accounts = [{ account_id: 'acc_1', balance: 5, postings: 4 }];
    service.play({ status: 200, body: { ...TRIAL_BALANCE, balanced: false, differing_accounts } });
    const { exitCode, output } = await type('trial-balance');
    expect(exitCode).toBe(3);
    expect(output).toContain('balanced:    no\n');
    expect(output).toContain('acc_1             5         4\n');
  });

  test('a description cannot give orders to the terminal', async () => {
    service.play({ status: 200, body: { ...TRANSFER, description: 'a\u001b[2Jb\u202ec' } });
    const { output } = await type('transfers get tr_1');
    expect(output).toContain('a\\u001b[2Jb\\u202ec');
    expect(output).not.toContain('\u001b');
  });

  test('the key that makes a second try safe', async () => {
    service.play(failingAnswer({ 'should-retry': 'false', 'money-moved': 'unknown', 'transfer-id': 'tr_1' }));
    const { exitCode, errors } = await type('transfers create --card card_active --amount 1000 --idempotency-key k');
    expect(exitCode).toBe(3);
    expect(errors).toContain('Transfer id: tr_1\nMoney moved: unknown\n');
    expect(errors).toContain('Send it again with --idempotency-key k: it moves money at most once.\n');
  });

  test('an error for machines', async () => {
    const headers = { 'money-moved': 'no', 'should-retry': 'false', 'error-field': '/amount' };
    service.play(errorAnswer({ Status: 400, Code: 'invalid_amount', Type: 'Request Error' }, headers));
    const { exitCode, output, errors } = await type('transfers create --card card_active --amount 85.5 --json');
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

describe('the catalogue without the service', () => {
  test('lists every code', async () => {
    const { output } = await type('errors codes');
    for (const code of Object.keys(CATALOGUE)) expect(output).toContain(`\n${code} `);
    const { data } = JSON.parse((await type('errors codes --json')).output) as { data: { code: string }[] };
    expect(data.map(({ code }) => code)).toEqual(Object.keys(CATALOGUE));
  });

  test.each(Object.keys(CATALOGUE))('explains %s in 80 columns', async (code) => {
    const { exitCode, output } = await type(`errors explain ${code}`);
    expect(exitCode).toBe(0);
    for (const line of output.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(output.replaceAll(/\s+/g, ' ')).toContain(CATALOGUE[code as keyof typeof CATALOGUE].resolution);
  });

  test('asks back for a code that is none', async () => {
    const { exitCode, errors } = await type('errors explain funds');
    expect({ exitCode, errors }).toEqual({
      exitCode: 2,
      errors: "error: there is no code 'funds'; did you mean insufficient_funds?\n",
    });
  });
});

describe('commands that were not typed right', () => {
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
    'nonsense',
  ])('"%s" ends with 2 and asks the service nothing', async (text) => {
    service.play({ status: 200, body: {} });
    const { exitCode, output, errors } = await runHere(service.url, text === '' ? [] : text.split(' '));
    expect({ exitCode, output }).toEqual({ exitCode: 2, output: '' });
    expect(errors).not.toBe('');
    expect(service.received).toEqual([]);
  });
});
