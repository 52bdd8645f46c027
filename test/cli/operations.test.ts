import type { Command } from 'commander';
import { afterAll, describe, expect, test } from 'vitest';
import { buildProgram } from '../../cli/program.ts';
import { exampleReply } from '../../contract/examples.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { startCannedService, TRANSFER } from '../sdk/canned-service.ts';
import { type Outcome, runHere } from './in-process.ts';
import type { Line } from './line.ts';
import { CARD, CARD_LIMITS, STATEMENT, TRIAL_BALANCE } from './records.ts';
import { WEBHOOK_ADVICE, WEBHOOK_LINES } from './webhook-lines.ts';

/** The reply of an operation in the contract's example. */
function record(operation: OperationId): object {
  return Object(exampleReply(operation));
}

/** A program whose currency has no decimals. */
const YEN = { currency: 'JPY', funding: [{ currency: 'JPY', balance: 1200, available: 1000 }] };

const CSV = 'a,b\r\n1,"x\ny"\r\n';

/** Signing in and out gives a cookie to a browser, and takes it away; a command line keeps none. */
type OfBrowsers = 'create_session' | 'delete_session';

/** The operations that have a command. */
type Commanded = Exclude<OperationId, OfBrowsers>;

const COMMANDED = OPERATION_IDS.filter((id): id is Commanded => id !== 'create_session' && id !== 'delete_session');

/** Every operation but those: its command, the response, the body that is sent, and part of the output. */
const LINES: Readonly<Record<Commanded, Line>> = {
  create_transfer: {
    type: 'transfers create --card card_active --amount 1000 --metadata a=b --metadata c=d=e',
    reply: TRANSFER,
    sends: { amount: '1000', card_id: 'card_active', metadata: { a: 'b', c: 'd=e' } },
    shows: 'amount:          10.00 USD\n',
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
    shows: '1 created, 0 failed\n',
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
    shows: 'The transfer would fail: insufficient_funds.\n',
  },
  capture_transfer: {
    type: 'transfers capture tr_1 --amount 600 --idempotency-key k',
    reply: { ...TRANSFER, amount: 1000, captured_amount: 600, capture: 'manual' },
    sends: { amount: '600' },
    shows: 'captured_amount: 6.00 USD\n',
  },
  cancel_transfer: {
    type: 'transfers cancel tr_1',
    reply: { ...TRANSFER, status: 'canceled', captured_amount: 0, completed_at: null },
    shows: 'status:          canceled\n',
  },
  reverse_transfer: {
    type: 'transfers reverse tr_1 --amount 400 --description returned',
    sends: { amount: '400', description: 'returned' },
    shows: 'amount:          2.50 USD\n',
  },
  update_transfer: {
    type: 'transfers update tr_1 --metadata order=18 --metadata note=',
    reply: TRANSFER,
    sends: { metadata: { order: '18', note: '' } },
    shows: 'metadata.order:  17\n',
  },
  export_transfers: { type: 'transfers export --status completed', reply: CSV, shows: CSV },
  list_reversals: {
    type: 'transfers reversals tr_1 --limit 5',
    shows: 'reversal_id                             amount  status',
  },
  get_reversal: { type: 'transfers reversal rev_1', shows: 'amount:      2.50 USD\n' },
  get_transfer_timeline: {
    type: 'transfers timeline tr_1',
    shows: "  posting  10.00 USD moved from the program's funding to the card 'card_active'.\n",
  },
  list_likely_duplicates: { type: 'cards duplicates card_active --window 60', shows: 'seconds_apart  earlier\n' },
  get_transfer: { type: 'transfers get tr_1', reply: TRANSFER, shows: 'metadata.order:  17\n' },
  list_transfers: {
    type: 'transfers list --card card_active --status completed',
    reply: { data: [TRANSFER], next_cursor: 'c2' },
    shows: 'More results: add --all, or --cursor c2\n',
  },
  create_card: {
    type: 'cards create --card mine --expires-on 2031-01-31',
    reply: CARD,
    sends: { card_id: 'mine', expires_on: '2031-01-31' },
    shows: 'balance:    25.00 USD\n',
  },
  get_card: { type: 'cards get card_active', shows: 'status:     active\n' },
  list_cards: {
    type: 'cards list',
    reply: { data: [CARD], next_cursor: null },
    shows: 'card_id      status    balance  available\n' + 'card_active  active  25.00 USD  25.00 USD\n',
  },
  update_card: {
    type: 'cards update card_active --status closed --balance-to funding --limits out.daily_count=5,maximum_balance=200000',
    reply: { ...CARD, limits: { out: { daily_count: 5 }, maximum_balance: 200_000 } },
    sends: { status: 'closed', balance_to: 'funding', limits: { out: { daily_count: 5 }, maximum_balance: 200_000 } },
    shows: 'limits.out.daily_count: 5\nlimits.maximum_balance: 2000.00 USD\n',
  },
  erase_card_holder: {
    type: 'cards erase card_closed --yes',
    shows: 'status:       running\n',
  },
  get_card_limits: {
    type: 'cards limits card_active',
    reply: CARD_LIMITS,
    shows: `card_id:           card_active
program_id:        prog_1
balance:           25.00 USD
available:         25.00 USD
incoming:          1.00 USD
next transfer in:  0.01 USD to 450.00 USD
next transfer out: 1.00 USD to 25.00 USD
evaluated_at:      2030-01-31 12:00:00 UTC

limit               set_by              value       used         left  frees_at
in.daily_amount     program_card   500.00 USD  50.00 USD   450.00 USD  2030-02-01 00:00:00 UTC
in.daily_count      card                    5          1            4  2030-02-01 00:00:00 UTC
out.minimum_amount  card             1.00 USD          -            -  -
maximum_balance     card          2000.00 USD          -  1974.00 USD  -
`,
  },
  list_holds: {
    type: 'cards holds card_active',
    shows:
      'held:     10.00 USD\nincoming: 0.00 USD\n\n' +
      'transfer_id                          direction     amount  type    expires_at\n',
  },
  list_postings: {
    type: 'cards postings card_active --from 2030-01-01T00:00:00Z',
    reply: STATEMENT,
    shows: `card_id:         card_active
opening_balance: 0.00 USD
closing_balance: 25.00 USD

sequence  created_at               purpose  direction     amount    balance  source
       2  2030-01-31 12:00:00 UTC  unload   out         5.00 USD  25.00 USD  tr_2
       1  2030-01-31 12:00:00 UTC  load     in         30.00 USD  30.00 USD  tr_1
`,
  },
  export_postings: { type: 'cards export-postings card_active', reply: CSV, shows: CSV },
  create_program: {
    type: 'programs create --name Gifts --currency JPY --time-zone Asia/Tokyo',
    reply: YEN,
    sends: { name: 'Gifts', currency: 'JPY', time_zone: 'Asia/Tokyo' },
    shows: 'funding.JPY.available: 1000 JPY\n',
  },
  get_program: { type: 'programs get prog_1', reply: YEN, shows: 'funding.JPY.balance:   1200 JPY\n' },
  list_programs: { type: 'programs list', reply: { data: [], next_cursor: null }, shows: 'No card programs.\n' },
  update_program: {
    type: 'programs update prog_1 --name Gifts --limits in.daily_amount=5 --card-limits none',
    reply: { ...YEN, limits: { in: { daily_amount: 5 } }, card_limits: {} },
    sends: { name: 'Gifts', limits: { in: { daily_amount: 5 } }, card_limits: null },
    shows: 'limits.in.daily_amount: 5 JPY\n',
  },
  create_deposit: {
    type: 'deposits create --program prog_1 --amount 500 --idempotency-key k',
    sends: { amount: '500' },
    shows: 'idempotency_key: k\n',
  },
  create_withdrawal: {
    type: 'withdrawals create --program prog_1 --amount 500 --description wire',
    sends: { amount: '500', description: 'wire' },
    shows: 'kind:            withdrawal\n',
  },
  list_funding_movements: {
    type: 'programs movements prog_1',
    shows: 'deposit  50000.00 USD',
  },
  get_switch: { type: 'switch show', shows: 'Maintenance\n' },
  change_switch: {
    type: 'switch disable --program prog_1 --type load --reason maintenance --until 2030-01-31T12:00:00Z',
    sends: {
      disabled: true,
      reason: 'maintenance',
      program_id: 'prog_1',
      type: 'load',
      until: '2030-01-31T12:00:00Z',
    },
    shows: 'disabled: yes\n',
  },
  get_status: { type: 'status', shows: 'books_not_verified: The books were last verified 9 hours ago.\n' },
  preview_switch: {
    type: 'switch preview --program prog_1 --type load',
    shows: 'scheduled transfers:                     12, 3 of them due within 24 hours\n',
  },
  get_overview: { type: 'overview', shows: 'p50 3.4 ms, p99 11 ms\n' },
  get_trial_balance: { type: 'trial-balance', reply: TRIAL_BALANCE, shows: 'world         1  -25.00 USD\n' },
  create_key: {
    type: 'keys create --name shop --scopes transfers:read,operator --all-programs',
    sends: { name: 'shop', scopes: ['transfers:read', 'operator'], all_programs: true },
    shows: 'key:        ts_7Qm2Lk_…\n',
  },
  list_sessions: { type: 'sessions list', shows: 'Support, Ada' },
  revoke_session: { type: 'sessions revoke ses_1', shows: 'ended_at:       ' },
  get_session: { type: 'sessions current', shows: 'role:         support\n' },
  list_keys: {
    type: 'keys list',
    reply: { data: [{ ...record('revoke_key'), program_id: null }] },
    shows: 'all card programs',
  },
  roll_key: {
    type: 'keys roll key_1 --previous-until 2030-01-31T12:00:00Z',
    sends: { previous_until: '2030-01-31T12:00:00Z' },
    shows: 'scopes:     transfers:read, transfers:write\n',
  },
  list_audit_entries: {
    type: 'audit list --action change_switch --from 2030-01-31T00:00:00Z',
    shows: 'change_switch  -           service\n',
  },
  verify_audit: {
    type: 'audit verify --remote',
    shows: 'entries:  42\nposition: 42\nhead:     a4e19b07',
  },
  revoke_key: { type: 'keys revoke key_1', shows: 'name:         Shop server\n' },
  list_events: {
    type: 'events list --type transfer.* --subject tr_1',
    shows: '      42  2026-01-31 09:30:00 UTC  transfer.completed  tr_',
  },
  get_event: { type: 'events get evt_1', shows: 'position:' },
  search_events: { type: 'events search --program prog_1', shows: '  1042        42  2026-01-31 09:30:00 UTC' },
  inspect_event: { type: 'events inspect evt_1', shows: 'number:' },
  ...WEBHOOK_LINES,
  get_error: { type: 'errors show req_1', shows: 'request.amount:  1\n' },
  list_errors: {
    type: 'errors list --code insufficient_funds --card card_empty --from 2030-01-31T00:00:00Z',
    shows: 'card_empty  no\n',
  },
  inspect_error: {
    type: 'errors inspect req_1',
    reply: {
      causes: [
        { name: 'OperationFailure', message: 'the database failed', stack: ['at readRows (transaction.ts:11)'] },
        { name: 'Error', message: 'connect ECONNREFUSED', stack: [] },
      ],
    },
    shows:
      'thrown: OperationFailure: the database failed\n  at readRows (transaction.ts:11)\n' +
      'caused by: Error: connect ECONNREFUSED\n',
  },
  search_errors: {
    type: 'errors search --program prog_1 --operation create_transfer',
    shows: 'no           prog_019000000000700080000000000000de\n',
  },
  search: {
    type: 'search order-17',
    shows:
      'transfer  tr_0196f5c2d9a17b40a5d2c08e6f1b3a97  reference  Load of 10.00 USD to card_active: completed  2026-',
  },
  count_errors: {
    type: 'errors count --interval day',
    reply: { dropped: 3 },
    shows: '   12\n3 more errors in this period could not be recorded.\n',
  },
  get_request: {
    type: 'requests show req_1',
    shows: "create_transfer succeeded: 10.00 USD moved from the program's funding to the card 'card_active'",
  },
  move_clock: {
    type: 'sandbox clock 8d',
    reply: { now: '2030-02-08T12:00:00.000Z', seconds_ahead: 691_200 },
    sends: { seconds_ahead: 691_200 },
    shows: 'now:           2030-02-08 12:00:00 UTC\nseconds_ahead: 691200\n',
  },
  stop_database: { type: 'sandbox database stop', shows: 'state: stopped\n' },
  start_database: { type: 'sandbox database start', shows: 'state: running\n' },
};

/** Operations whose command also prints that the secret is not shown again, or what to do next. */
const ADVISES: readonly OperationId[] = ['create_key', 'roll_key', ...WEBHOOK_ADVICE];

const service = await startCannedService();
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
  const environment = {
    url: 'http://127.0.0.1:8080',
    key: undefined,
    program: undefined,
    webhookSecret: undefined,
    isRunByNpm: false,
  };
  const writeAll = async () => undefined;
  const untilEnded = () => new AbortController().signal;
  const asking = { untilEnded, confirm: undefined };
  return leaves(
    buildProgram({ environment, write: ignore, writeAll, writeError: ignore, ...asking, exitWith: ignore }),
  );
}

function replyOf(operation: Commanded): object | string {
  const { reply = {} } = LINES[operation];
  return typeof reply === 'string' ? reply : { ...record(operation), ...reply };
}

/** Plays the response of an operation. */
function play(operation: Commanded): void {
  const reply = replyOf(operation);
  const { status } = OPERATIONS[operation];
  service.play(typeof reply === 'string' ? { chunks: [reply] } : { status, body: reply });
}

describe('operations and commands', () => {
  test.each(COMMANDED)('%s has a command', async (operation) => {
    const { type: typed, sends, shows } = LINES[operation];
    const { method, path } = OPERATIONS[operation];
    play(operation);
    const { exitCode, output, errors } = await type(typed);
    expect({ exitCode, errors: ADVISES.includes(operation) ? '' : errors }).toEqual({ exitCode: 0, errors: '' });
    expect(output).toContain(shows);
    const [request] = service.received;
    expect(request?.method).toBe(method);
    expect(request?.url.split('?')[0]).toMatch(new RegExp(`^${path.replaceAll(/\{[a-z_]+\}/g, '[a-z_0-9]+')}$`));
    expect(request?.body === '' ? undefined : JSON.parse(request?.body ?? '')).toEqual(sends);
  });

  test.each(COMMANDED)('%s prints the response with --json', async (operation) => {
    const { type: typed } = LINES[operation];
    const reply = replyOf(operation);
    play(operation);
    const { output } = await type(`--json ${typed}`);
    expect(typeof reply === 'string' ? output : JSON.parse(output)).toEqual(reply);
  });

  test('every other command is known', () => {
    const known = [
      ...Object.values(LINES).map((line) => line.type),
      'switch enable',
      'events tail',
      'events listen',
      'doctor',
      'errors tail',
      'completion',
      'runbook',
      'sandbox reset',
      'errors codes',
      'errors explain',
      'start',
      'migrate',
      'backup list',
      'restore',
      'config',
      'verify-books',
      'audit verify',
      'operator-key create',
    ];
    for (const { path } of allLeaves())
      expect(
        known.some((text) => text.startsWith(path)),
        path,
      ).toBe(true);
  });

  test('the help fits in 80 columns', async () => {
    const paths = allLeaves().map(({ path }) => path);
    const resources = paths.map((path) => path.split(' ').slice(0, -1).join(' '));
    for (const path of new Set(['', ...resources, ...paths])) {
      const { output, exitCode } = await type(`${path} --help`.trim());
      expect(exitCode).toBe(0);
      for (const line of output.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });
});
