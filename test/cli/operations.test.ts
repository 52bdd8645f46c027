import type { Command } from 'commander';
import { afterAll, describe, expect, test } from 'vitest';
import { buildProgram } from '../../cli/program.ts';
import { exampleReply } from '../../contract/examples.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import type { SchemaShape } from '../../contract/schema-parts.ts';
import { rowOf } from '../fixtures/operations.ts';
import { startCannedService, TRANSFER } from '../sdk/canned-service.ts';
import { type Outcome, runHere } from './in-process.ts';
import type { Line } from './line.ts';
import { CARD, CARD_LIMITS, STATEMENT, TRIAL_BALANCE } from './records.ts';
import { WEBHOOK_ADVICE, WEBHOOK_LINES } from './webhook-lines.ts';

/** Returns the reply of an operation, from the contract's example. */
function record(operation: OperationId): object {
  return Object(exampleReply(operation));
}

/** A program whose currency has no decimals. */
const YEN = { currency: 'JPY', funding: [{ currency: 'JPY', balance: 1200, available: 1000 }] };

const CSV = 'a,b\r\n1,"x\ny"\r\n';

/**
 * All operations with their own command. The exceptions are sign-in and sign-out, which browsers send, notices, which
 * processors' adapters sign and send, and the two operations that `settlement import` sends.
 */
const COMMANDED = OPERATION_IDS.filter((id) => rowOf(id).command !== null);

/** For each operation: the response to its command, the request that it sends, and part of its output. */
const LINES: Readonly<Partial<Record<OperationId, Line>>> = {
  create_transfer: {
    reply: TRANSFER,
    sends: { amount: '1000', card_id: 'card_active', metadata: { a: 'b', c: 'd=e' } },
    shows: 'amount:          10.00 USD\n',
  },
  create_transfer_batch: {
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
    shows: '\n1 created\n',
  },
  explain_transfer: {
    sends: { card_id: 'card_active', amount: '1000' },
    reply: {
      would_succeed: false,
      first_failure: 'insufficient_funds',
      result: null,
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
    reply: { ...TRANSFER, amount: 1000, captured_amount: 600, capture: 'manual' },
    sends: { amount: '600' },
    shows: 'captured_amount: 6.00 USD\n',
  },
  cancel_transfer: {
    reply: { ...TRANSFER, status: 'canceled', captured_amount: 0, completed_at: null },
    shows: 'status:          canceled\n',
  },
  reverse_transfer: {
    sends: { amount: '400', description: 'returned' },
    shows: 'amount:          2.50 USD\n',
  },
  update_transfer: {
    reply: TRANSFER,
    sends: { metadata: { order: '18', note: '' } },
    shows: 'metadata.order:  17\n',
  },
  export_transfers: { reply: CSV, shows: CSV },
  list_reversals: { shows: 'reversal_id                             amount  status' },
  get_reversal: { shows: 'amount:      2.50 USD\n' },
  get_transfer_timeline: {
    // A transfer that is scheduled for a different date is not a duplicate, so the output does not mention it.
    reply: {
      likely_duplicates: [
        { ...TRANSFER, transfer_id: 'tr_later', scheduled_for: '2030-01-31T12:00:00.000Z' },
        { ...TRANSFER, transfer_id: 'tr_twin' },
      ],
    },
    shows:
      "  posting  10.00 USD moved from the program's funding to the card 'card_active'.\nLikely a duplicate of this transfer: tr_twin\n",
  },
  close_break: { sends: { note: 'settled', attempt_ids: ['pat_1', 'pat_2'] }, shows: 'closed_by:' },
  list_likely_duplicates: { shows: 'seconds_apart  earlier  ' },
  get_transfer: { reply: TRANSFER, shows: 'metadata.order:  17\n' },
  list_transfers: {
    reply: { data: [TRANSFER], next_cursor: 'c2' },
    shows: 'More results: add --all, or --cursor c2\n',
  },
  create_card: {
    reply: CARD,
    sends: { card_id: 'mine', expires_on: '2031-01-31', metadata: { tier: 'gold' } },
    shows: 'balance:    25.00 USD\n',
  },
  get_card: { shows: 'metadata.order: A-1042\n' },
  list_cards: {
    reply: { data: [CARD], next_cursor: null },
    shows: 'card_id      status    balance  available\n' + 'card_active  active  25.00 USD  25.00 USD\n',
  },
  update_card: {
    reply: { ...CARD, limits: { out: { daily_count: 5 }, maximum_balance: 200_000 } },
    sends: { status: 'closed', balance_to: 'funding', limits: { out: { daily_count: 5 }, maximum_balance: 200_000 } },
    shows: 'limits.out.daily_count: 5\nlimits.maximum_balance: 2,000.00 USD\n',
  },
  erase_card_holder: { shows: 'status:       running\n' },
  get_card_limits: {
    reply: CARD_LIMITS,
    shows: `card_id:           card_active
program_id:        prog_1
balance:           25.00 USD
available:         25.00 USD
incoming:          1.00 USD
next transfer in:  0.01 USD to 450.00 USD
next transfer out: 1.00 USD to 25.00 USD
evaluated_at:      2030-01-31 12:00:00 UTC

limit               set_by               value       used          left  frees_at
in.daily_amount     program_card    500.00 USD  50.00 USD    450.00 USD  2030-02-01 00:00:00 UTC
in.daily_count      card                     5          1             4  2030-02-01 00:00:00 UTC
out.minimum_amount  card              1.00 USD          -             -  -
maximum_balance     card          2,000.00 USD          -  1,974.00 USD  -
`,
  },
  list_holds: {
    shows:
      'held:     10.00 USD\nincoming: 0.00 USD\n\n' +
      'transfer_id                          direction     amount  type    expires_at\n',
  },
  list_postings: {
    reply: STATEMENT,
    shows: `card_id:         card_active
opening_balance: 0.00 USD
closing_balance: 25.00 USD

sequence  created_at               purpose  direction     amount    balance  source
       2  2030-01-31 12:00:00 UTC  unload   out         5.00 USD  25.00 USD  tr_2
       1  2030-01-31 12:00:00 UTC  load     in         30.00 USD  30.00 USD  tr_1
`,
  },
  export_postings: { reply: CSV, shows: CSV },
  create_program: {
    reply: YEN,
    sends: { name: 'Gifts', currency: 'JPY', time_zone: 'Asia/Tokyo', metadata: { region: 'east' } },
    shows: 'funding.JPY.available: 1,000 JPY\n',
  },
  get_program: { reply: YEN, shows: 'funding.JPY.balance:   1,200 JPY\n' },
  list_programs: { reply: { data: [], next_cursor: null }, shows: 'No card programs.\n' },
  update_program: {
    reply: { ...YEN, limits: { in: { daily_amount: 5 } }, card_limits: {} },
    sends: { name: 'Gifts', limits: { in: { daily_amount: 5 } }, card_limits: null },
    shows: 'limits.in.daily_amount: 5 JPY\n',
  },
  create_deposit: {
    sends: { amount: '500', reference: 'bank-7', metadata: { bank: 'north' } },
    shows: 'idempotency_key: k\n',
  },
  create_withdrawal: {
    sends: { amount: '500', description: 'wire' },
    shows: 'kind:            withdrawal\n',
  },
  export_funding_movements: { reply: CSV, shows: CSV },
  export_day: { reply: CSV, shows: CSV },
  export_audit_entries: { reply: CSV, shows: CSV },
  list_funding_movements: { shows: 'deposit  50,000.00 USD' },
  get_approval_policy: {
    shows: 'rule 1:              {"operation":"create_withdrawal","over":10000,"currency":"USD"}\n',
  },
  change_approval_policy: { sends: { rules: [], expires_after_hours: 48 }, shows: 'expires_after_hours: 24\n' },
  get_switch: { shows: 'Maintenance\n' },
  change_switch: {
    sends: {
      disabled: true,
      reason: 'maintenance',
      program_id: 'prog_1',
      type: 'load',
      until: '2030-01-31T12:00:00Z',
    },
    shows: 'disabled: yes\n',
  },
  get_status: { shows: 'books_not_verified: The books were last verified 9 hours ago.\n' },
  preview_switch: { shows: 'scheduled transfers:                     12, 3 of them due within 24 hours\n' },
  get_overview: { shows: 'p50 3.4 ms, p99 11 ms\n' },
  get_trial_balance: { reply: TRIAL_BALANCE, shows: 'world         1  -25.00 USD\n' },
  create_key: {
    sends: { name: 'shop', scopes: ['transfers:read', 'operator'], all_programs: true },
    shows: 'key:        ts_7Qm2Lk_…\n',
  },
  list_sessions: { shows: 'Support, Ada' },
  revoke_session: { shows: 'ended_at:       ' },
  get_session: { shows: 'role:         support\n' },
  list_keys: {
    reply: { data: [{ ...record('revoke_key'), program_id: null }] },
    shows: 'all card programs',
  },
  roll_key: {
    sends: { previous_until: '2030-01-31T12:00:00Z' },
    shows: 'scopes:     transfers:read, transfers:write\n',
  },
  list_access: { shows: 'all card programs  treasurer  move_money,change_funding,' },
  export_access: { reply: CSV, shows: CSV },
  list_audit_entries: { shows: 'change_switch  -           service\n' },
  verify_audit: { shows: 'entries:  42\nposition: 42\nhead:     a4e19b07' },
  revoke_key: { shows: 'name:         Shop server\n' },
  list_events: { shows: '      42  2026-01-31 09:30:00 UTC  transfer.completed  tr_' },
  get_event: { shows: 'position:' },
  search_events: { shows: '  1042        42  2026-01-31 09:30:00 UTC' },
  inspect_event: { shows: 'number:' },
  ...WEBHOOK_LINES,
  get_error: { shows: 'request.amount:  1\n' },
  list_errors: { shows: 'card_empty  no\n' },
  inspect_error: {
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
  search_errors: { shows: 'no           prog_019000000000700080000000000000de\n' },
  search: {
    shows:
      "transfer  tr_0196f5c2d9a17b40a5d2c08e6f1b3a97  reference  Load of 10.00 USD to the card 'card_active': completed  2026-",
  },
  count_errors: {
    reply: { dropped: 3 },
    shows: '   12\n3 more errors in this period could not be recorded.\n',
  },
  get_request: {
    shows: "create_transfer succeeded: 10.00 USD moved from the program's funding to the card 'card_active'",
  },
  move_clock: {
    reply: { now: '2030-02-08T12:00:00.000Z', seconds_ahead: 691_200 },
    sends: { seconds_ahead: 691_200 },
    shows: 'now:           2030-02-08 12:00:00 UTC\nseconds_ahead: 691200\n',
  },
  stop_database: { shows: 'state: stopped\n' },
  start_database: { shows: 'state: running\n' },
};

/** Operations whose command also prints the next step, or that the secret will not be shown again. */
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

function replyOf(operation: OperationId): object | string {
  const { reply = {} } = LINES[operation] ?? {};
  return typeof reply === 'string' ? reply : { ...record(operation), ...reply };
}

function commandOf(operation: OperationId): string {
  const { command } = rowOf(operation);
  if (command === null) throw new Error(`${operation} has no command`);
  return command;
}

/** Returns the first text in a record, or in the first record of a list. Every output contains it. */
function firstTextOf(reply: object | string): string {
  if (typeof reply === 'string') return reply;
  const [record] = Reflect.get(reply, 'data') ?? [reply];
  return Object.values(Object(record)).find((value) => typeof value === 'string') as string;
}

function play(operation: OperationId): void {
  const reply = replyOf(operation);
  const { status } = OPERATIONS[operation];
  const then = operation === 'get_overview' ? [{ status: 200, body: record('list_breaks') }] : [];
  service.play(typeof reply === 'string' ? { chunks: [reply] } : { status, body: reply }, ...then);
}

describe('operations and commands', () => {
  test.each(COMMANDED)('%s has a command that sends its request and prints its response', async (operation) => {
    const { sends, shows = firstTextOf(replyOf(operation)) } = LINES[operation] ?? {};
    const { method, path } = OPERATIONS[operation];
    play(operation);
    const { exitCode, output, errors } = await type(commandOf(operation));
    expect({ exitCode, errors: ADVISES.includes(operation) ? '' : errors }).toEqual({ exitCode: 0, errors: '' });
    expect(output).toContain(shows);
    const [request] = service.received;
    expect(request?.method).toBe(method);
    expect(request?.url.split('?')[0]).toMatch(new RegExp(`^${path.replaceAll(/\{[a-z_]+\}/g, '[a-z_0-9]+')}$`));
    const sent = request?.body === '' ? undefined : JSON.parse(request?.body ?? '');
    const { body } = OPERATIONS[operation];
    if (sends !== undefined || body === undefined) expect(sent).toEqual(sends);
    else expect(Object.keys(sent)).toEqual(expect.arrayContaining(body.required ?? []));
  });

  test.each(COMMANDED)('%s prints the response with --json', async (operation) => {
    const reply = replyOf(operation);
    play(operation);
    const { output } = await type(`--json ${commandOf(operation)}`);
    expect(typeof reply === 'string' ? output : JSON.parse(output)).toEqual(reply);
  });

  test.each(allLeaves())('$path accepts every word that its operation accepts', ({ path, command }) => {
    const operations = COMMANDED.filter((id) => `${commandOf(id)} `.startsWith(`${path} `)).map((id) => OPERATIONS[id]);
    const schemas = operations.flatMap(({ query, body }) => [query, body]);
    const fields = schemas.flatMap((schema) => Object.values(schema?.properties ?? {}) as SchemaShape[]);
    const accepted = fields.map((field) => field.enum?.toSorted());
    for (const { argChoices } of operations.length === 0 ? [] : command.options) {
      if (argChoices !== undefined) expect(accepted).toContainEqual(argChoices.toSorted());
    }
  });

  test('every command that belongs to no operation is listed here', () => {
    const known = [
      ...COMMANDED.map(commandOf),
      'settlement import',
      'move-in check',
      'move-in run',
      'move-in compare',
      'move-in cut-over',
      'switch enable',
      'events tail',
      'events listen',
      'doctor',
      'errors tail',
      'completion',
      'mcp',
      'runbook',
      'sandbox reset',
      'sandbox settlement-file',
      'sandbox move-in-files',
      'connector check',
      'errors codes',
      'errors explain',
      'start',
      'migrate',
      'backup list',
      'restore',
      'config',
      'verify-books',
      'verify-metadata',
      'distribute',
      'audit verify',
      'operator-key create',
      'approval-policy remove',
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
