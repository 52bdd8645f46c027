import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { AuditEntryRecord } from '../../contract/audit.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { toWireId } from '../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../domain/sandbox.ts';
import type { OperationFailure } from '../../server/calls/call.ts';
import { type AuditEntry, readAuditChain, toAuditEntry } from '../../server/store/audit.ts';
import { AUDITED_OF_OPERATORS, AUDITED_OPERATIONS } from '../../server/subjects/audit/audit.ts';
import { verifyAudit } from '../../server/subjects/audit/verify-audit.ts';
import { SilentProcessors } from '../fixtures/processors.ts';
import { operatorKey, programKey } from '../harness/keys.ts';
import { type Ledger, openLedger, UNLIMITED } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';
import { CALLER, countRows, OPERATOR, operate, prepareAction } from './audited-actions.ts';
import { watchStatements } from './two-programs.ts';

const server = await useServer();
const ledger = useLedger(server.connection, undefined, undefined, undefined, new SilentProcessors());
/** An intruder with superuser privileges. Nothing stops such a user, so only the hash chain reveals the changes. */
const intruder = await useConnection({ ...server.connection, user: 'postgres' });
/** The owner, with the service's privileges. */
const owner = await useConnection(server.connection);

const chain = async (): Promise<readonly AuditEntry[]> =>
  (await ledger.database.read(readAuditChain(1n, 1000))).map(toAuditEntry);
const problems = async (expected?: string) => (await verifyAudit(ledger.database, expected)).problems;

/** Operations that end their subject, so they can run only once. */
const ENDS_SUBJECT: ReadonlySet<OperationId> = new Set([
  'capture_transfer',
  'cancel_transfer',
  'close_case',
  'delete_webhook',
  'replay_webhook',
]);
/** The case that the operator works on. */
const CASE = `case_${'1'.repeat(32)}`;
const RECORDED = [...AUDITED_OPERATIONS, ...AUDITED_OF_OPERATORS];

describe('the audit log', () => {
  test('records every operator operation that changes something, and no others', () => {
    const changing = OPERATION_IDS.filter(
      (id) => OPERATIONS[id].reach === 'operator' && OPERATIONS[id].method !== 'GET',
    );
    // The sandbox's stop_database and start_database are not in the list, because a stopped database records nothing.
    expect([...AUDITED_OPERATIONS].sort()).toEqual(
      [
        ...changing,
        ...['inspect_error', 'inspect_request', 'inspect_case', 'answer_sandbox_case'],
        ...['move_clock', 'create_session', 'delete_session'],
      ].sort(),
    );
  });

  test('begins with the seeding of a sandbox', async () => {
    const [first] = await chain();
    expect(first).toMatchObject({ position: 1n, actor: 'sandbox', action: 'seed_sandbox', requestId: null });
  });

  test('records operations of card programs only if an operator executes them', () => {
    const changing = OPERATION_IDS.filter(
      (id) => OPERATIONS[id].reach === 'program' && /:(write|erase)$/.test(OPERATIONS[id].scope ?? ''),
    );
    // The rows of a batch are recorded as transfers. An explanation changes nothing.
    const others = ['create_transfer_batch', 'explain_transfer'];
    expect([...AUDITED_OF_OPERATORS].sort()).toEqual(changing.filter((id) => !others.includes(id)).sort());
  });

  test.each(RECORDED)('records %s in one row, with the actor and the subject', async (operation) => {
    const act = await prepareAction(ledger, operation);
    const before = await chain();
    await act({ caseId: CASE });
    const [row, ...others] = (await chain()).slice(before.length);
    // An approval also adds the row of the change that it executes, and a row for the end of the approval.
    const further = operation === 'approve_change' ? ['update_program', 'end_approval'] : [];
    expect(others.map(({ action }) => action)).toEqual(further);
    expect(row).toMatchObject({ actor: OPERATOR, action: operation, position: BigInt(before.length + 1) });
    expect(row?.requestId).not.toBeNull();
    expect(row?.details).not.toMatch(/ts_[0-9a-f]{16}_[0-9a-f]/);
    // An operation on a case is recorded with that case.
    const { case_id: about } = JSON.parse(row?.details ?? '') as { case_id?: string };
    expect([CASE, row?.subjectId]).toContain(about);
    expect(await problems()).toEqual([]);
  });

  test.each(AUDITED_OF_OPERATORS)('does not record %s by a card program', async (operation) => {
    const act = await prepareAction(ledger, operation);
    const before = await chain();
    for (const kind of ['program_key', 'sandbox'] as const) {
      const caller = { kind, keyId: randomUUID(), scopes: [], programId: DEMO_PROGRAM_ID };
      await act({ caller, idempotencyKey: randomUUID() });
      expect((await chain()).length).toBe(before.length);
      if (ENDS_SUBJECT.has(operation)) break;
    }
  });

  test('does not record replays and refusals', async () => {
    const more = { programId: DEMO_PROGRAM_ID, idempotencyKey: randomUUID() };
    const load = { amount: 1, card_id: 'card_active' };
    await operate(ledger, 'create_transfer', load, more);
    const before = await chain();
    await operate(ledger, 'create_transfer', load, more);
    const refused = operate(
      ledger,
      'create_transfer',
      { amount: 1, card_id: 'card_closed' },
      { ...more, idempotencyKey: null },
    );
    await expect(refused).rejects.toMatchObject({ code: 'card_closed' });
    expect((await chain()).length).toBe(before.length);
  });

  test('records the rows of a batch that created a transfer', async () => {
    const before = await chain();
    const transfers = ['card_active', 'card_closed', 'card_empty'].map((card_id) => ({
      amount: '1',
      card_id,
      idempotency_key: randomUUID(),
    }));
    await ledger.call('create_transfer_batch', { transfers }, { caller: CALLER, caseId: CASE });
    const rows = (await chain()).slice(before.length);
    expect(rows.map(({ action, actor }) => ({ action, actor }))).toEqual(
      Array(2).fill({ action: 'create_transfer', actor: OPERATOR }),
    );
    for (const { details } of rows) expect(JSON.parse(details)).toMatchObject({ case_id: CASE });
    expect(await problems()).toEqual([]);
  });

  test('sends the same statements for a create_transfer from a case as for any other', async () => {
    const own = openLedger(server.connection);
    const takeStatements = watchStatements(own);
    const statementsOf = async (more: { caseId?: string }) => {
      const within = { programId: DEMO_PROGRAM_ID, idempotencyKey: randomUUID(), ...more };
      await operate(own, 'create_transfer', { amount: 1, card_id: 'card_active' }, within);
      return takeStatements();
    };
    try {
      await statementsOf({});
      const usual = await statementsOf({});
      expect(usual).toContain('insert_audit_entries');
      expect(await statementsOf({ caseId: CASE })).toEqual(usual);
    } finally {
      await own.close();
    }
  });

  test('records the money that closing a card unloads in a separate row', async () => {
    const card_id = `card of ${randomUUID()}`;
    const within = () => ({ programId: DEMO_PROGRAM_ID, idempotencyKey: randomUUID() });
    await ledger.call('create_card', { card_id }, within());
    await ledger.call('create_transfer', { amount: 500, card_id }, within());
    const before = await chain();
    const closing = { status: 'closed', balance_to: 'funding' };
    await operate(ledger, 'update_card', closing, { ...within(), params: { card_id } });
    const [card, transfer, ...others] = (await chain()).slice(before.length);
    expect(others).toEqual([]);
    expect(card).toMatchObject({ action: 'update_card', subjectId: card_id });
    const moved = JSON.parse(transfer?.details ?? '{}');
    expect(moved).toMatchObject({ type: 'unload', amount: 500, card_id });
    expect(transfer).toMatchObject({ action: 'update_card', actor: OPERATOR, subjectId: moved.transfer_id });
  });

  test('records the new status of an updated subject, and the fields that the request set and removed', async () => {
    const card_id = `card of ${randomUUID()}`;
    const within = () => ({ programId: DEMO_PROGRAM_ID, idempotencyKey: randomUUID() });
    await ledger.call('create_card', { card_id, expires_on: '2090-01-01' }, within());
    const load = await ledger.call('create_transfer', { amount: 5, card_id, metadata: { a: '1', b: '2' } }, within());
    const { transfer_id } = JSON.parse(load.body) as { transfer_id: string };
    const detailsOf = async (operation: OperationId, members: object, params: Record<string, string>) => {
      await operate(ledger, operation, members, { ...within(), params });
      return JSON.parse((await chain()).at(-1)?.details ?? '{}') as Record<string, unknown>;
    };
    const card = { limits: { in: { daily_count: 5 } }, expires_on: null };
    expect(await detailsOf('update_card', card, { card_id })).toMatchObject({ card_id, ...card, change: card });
    const lifted = { limits: { in: { daily_count: null } } };
    expect(await detailsOf('update_card', lifted, { card_id })).toMatchObject({ limits: null, change: lifted });
    const pairs = { metadata: { a: null, c: '3' } };
    const details = await detailsOf('update_transfer', pairs, { transfer_id });
    expect(details).toMatchObject({ transfer_id, omitted: ['metadata'], change: { omitted: ['metadata'] } });
    expect(details).not.toHaveProperty('metadata');
    const ofCard = await detailsOf('update_card', pairs, { card_id });
    expect(ofCard).toMatchObject({ card_id, omitted: ['metadata'], change: { omitted: ['metadata'] } });
    expect(ofCard).not.toHaveProperty('metadata');
    const name = randomUUID();
    const program = { name, limits: { in: { monthly_count: 900_000 } } };
    const program_id = toWireId('prog', DEMO_PROGRAM_ID);
    expect(await detailsOf('update_program', program, { program_id })).toMatchObject({
      program_id,
      name,
      change: program,
    });
    expect(await detailsOf('update_program', { limits: null }, { program_id })).toMatchObject({
      limits: null,
      change: { limits: null },
    });
    const ofProgram = await detailsOf('update_program', pairs, { program_id });
    expect(ofProgram).toMatchObject({ program_id, omitted: ['metadata'], change: { omitted: ['metadata'] } });
    expect(ofProgram).not.toHaveProperty('metadata');
    const ofDeposit = await detailsOf('create_deposit', { amount: 1, metadata: { d: '4' } }, { program_id });
    expect(ofDeposit).toMatchObject({ amount: 1, omitted: ['metadata'] });
    expect(JSON.stringify(ofDeposit)).not.toContain('"d"');
    expect(await problems()).toEqual([]);
  });

  test('does not block other requests while an operator waits for the head of the log', async () => {
    // The operator waits for a lock for at most half a second. If a slow machine needs longer, the test tries again.
    await waitFor('the other transfers to finish while the operator waits', async () => {
      const { before, after } = await passBy();
      expect(before).not.toBe('made');
      if (after !== 'made') expect(after).toMatchObject({ busy: true });
      return before === undefined && after === 'made';
    });
    expect(await problems()).toEqual([]);
  });

  /**
   * Returns the outcome of an operator's transfer that waits for the head: after 40 other transfers, and once the head
   * is free.
   */
  async function passBy(): Promise<{ readonly before: unknown; readonly after: unknown }> {
    const more = () => ({ programId: DEMO_PROGRAM_ID, idempotencyKey: randomUUID() });
    // The other transfers use other cards and no funding, so they need no lock that the operator's transfer holds.
    const [from, to, other] = [await cardWith(500), await cardWith(0), await cardWith(0)];
    const between = { type: 'card_to_card', amount: 1, card_id: 'card_active', destination_card_id: other };
    const operators = { type: 'card_to_card', amount: 100, card_id: from, destination_card_id: to };
    let outcome: unknown;
    await intruder.query('begin; select from audit_head for update');
    try {
      const waiting = operate(ledger, 'create_transfer', operators, more()).then(
        () => {
          outcome = 'made';
        },
        (error: unknown) => {
          outcome = error;
        },
      );
      await Promise.all(Array.from({ length: 40 }, () => ledger.call('create_transfer', between, more())));
      const before = outcome;
      await intruder.query('commit');
      await waiting;
      return { before, after: outcome };
    } finally {
      await intruder.query('rollback');
    }
  }

  async function cardWith(amount: number): Promise<string> {
    const within = () => ({ programId: DEMO_PROGRAM_ID, idempotencyKey: randomUUID() });
    const { body } = await ledger.call('create_card', {}, within());
    const { card_id } = JSON.parse(body) as { card_id: string };
    if (amount > 0) await ledger.call('create_transfer', { amount, card_id }, within());
    return card_id;
  }

  test.each(RECORDED)('undoes %s if its row cannot be written', async (operation) => {
    const act = await prepareAction(ledger, operation);
    const before = await countRows(ledger);
    await intruder.query('alter table audit_head rename to audit_head_away');
    try {
      await expect(act()).rejects.toMatchObject({
        name: 'OperationFailure' satisfies OperationFailure['name'],
        moneyMoved: 'no',
      });
    } finally {
      await intruder.query('alter table audit_head_away rename to audit_head');
    }
    expect(await countRows(ledger)).toEqual(before);
    expect(await problems()).toEqual([]);
  });

  test('records neither refusals nor requests that change nothing', async () => {
    const more = { params: { key_id: String((await operate(ledger, 'create_key', operatorKey('other'))).key_id) } };
    await operate(ledger, 'revoke_key', {}, more);
    const before = await chain();
    await operate(ledger, 'revoke_key', {}, more);
    await expect(operate(ledger, 'roll_key', {}, more)).rejects.toMatchObject({ code: 'roll_key_schema' });
    await expect(operate(ledger, 'create_key', programKey('x', 'prog_x'))).rejects.toThrow();
    expect(await chain()).toEqual(before);
  });

  test('makes one chain without gaps from concurrent requests to two processes', async () => {
    // All of them wait for the head of the hash chain, which takes a long time on a slow machine.
    const processes = [0, 1].map(() => openLedger(server.connection, undefined, undefined, UNLIMITED)) as [
      Ledger,
      Ledger,
    ];
    const before = (await chain()).length;
    await Promise.all(
      Array.from({ length: 40 }, (_, at) => operate(processes[at % 2 ? 1 : 0], 'create_key', operatorKey(`${at}`))),
    );
    for (const one of processes) await one.close();
    expect((await chain()).length).toBe(before + 40);
    expect(await problems()).toEqual([]);
  });

  test('is listed page by page, by action, actor, program and time', async () => {
    type Page = { readonly data: AuditEntryRecord[]; readonly next_cursor: string | null };
    const list = async (members: object) => (await operate(ledger, 'list_audit_entries', members)) as unknown as Page;
    const all = (await chain()).map(({ position }) => Number(position)).reverse();
    const listAll = async (members: object): Promise<AuditEntryRecord[]> => {
      const found: AuditEntryRecord[] = [];
      let cursor: string | null | undefined;
      while (cursor !== null) {
        const page: Page = await list({ ...members, ...(cursor === undefined ? {} : { cursor }) });
        found.push(...page.data);
        cursor = page.next_cursor;
      }
      return found;
    };
    expect((await listAll({ limit: 7 })).map(({ position }) => position)).toEqual(all);
    const rolled = (await list({ action: 'roll_key' })).data;
    expect(rolled.length).toBeGreaterThan(0);
    expect(new Set(rolled.map(({ action }) => action))).toEqual(new Set(['roll_key']));
    const seeded = (await list({ actor: 'sandbox', limit: 100 })).data;
    expect(new Set(seeded.map(({ actor }) => actor))).toEqual(new Set(['sandbox']));
    const program_id = toWireId('prog', DEMO_PROGRAM_ID);
    const ofProgram = (await list({ program_id, action: 'seed_sandbox' })).data;
    expect(ofProgram.map((entry) => entry.program_id)).toEqual([program_id]);
    await expect(list({ program_id: 'prog_1' })).rejects.toMatchObject({ code: 'list_audit_entries_schema' });
    const at = rolled[0]?.created_at ?? '';
    const later = await listAll({ created_from: at, limit: 100 });
    const earlier = await listAll({ created_to: at, limit: 100 });
    expect(later.length + earlier.length).toBe(all.length);
    expect(later.at(-1)?.position).toBe((earlier[0]?.position ?? 0) + 1);
    const none = list({ action: 'get_transfer' });
    await expect(none).rejects.toMatchObject({ code: 'list_audit_entries_schema', details: { field: '/action' } });
  });

  test('is not listed after an unknown entry, and is empty after the oldest entry', async () => {
    const [oldest] = await chain();
    const list = (cursor: string) => operate(ledger, 'list_audit_entries', { cursor });
    expect(await list(toWireId('aud', oldest?.entryId ?? ''))).toMatchObject({ data: [], next_cursor: null });
    await expect(list(toWireId('aud', randomUUID()))).rejects.toMatchObject({
      code: 'list_audit_entries_schema',
      message: expect.stringContaining("'cursor' must be the next_cursor of the previous page"),
      details: { field: '/cursor' },
    });
  });
});

describe('append-only', () => {
  test.each([
    "update audit_entry set actor = 'nobody'",
    'delete from audit_entry where position = 1',
    'truncate audit_entry',
    'update audit_head set position = 0',
    'update audit_head set position = position',
    'delete from audit_head',
    'truncate audit_head',
  ])('a trigger refuses this to every user: %s', async (statement) => {
    await expect(intruder.query(statement)).rejects.toMatchObject({ code: '23001' });
    expect(await problems()).toEqual([]);
  });

  test('the role of requests can add rows to the chain, but cannot read, change or remove them', async () => {
    const as = async (statement: string) => {
      await intruder.query(`begin; set local role transfer_service_application;
        set local service.programs = '{${DEMO_PROGRAM_ID}}'`);
      try {
        return await intruder.query(statement);
      } finally {
        await intruder.query('commit');
      }
    };
    const insertOf = (action: string, programId: string) =>
      `insert into audit_entry (entry_id, actor, action, program_id, details, position, hash)
        values (gen_random_uuid(), 'sandbox', '${action}', '${programId}', '{}', 1, '')`;
    await as(insertOf('create_card', DEMO_PROGRAM_ID));
    // The role cannot add rows for another program, or for actions that programs' requests do not have.
    await expect(as(insertOf('create_card', randomUUID()))).rejects.toMatchObject({ code: '42501' });
    await expect(as(insertOf('change_switch', DEMO_PROGRAM_ID))).rejects.toMatchObject({ code: '42501' });
    expect(await problems()).toEqual([]);
    for (const statement of [
      'select from audit_entry',
      "update audit_entry set actor = 'nobody'",
      'delete from audit_entry',
      'truncate audit_entry',
      'select from audit_head',
    ]) {
      await expect(as(statement)).rejects.toMatchObject({ code: '42501' });
    }
  });

  test.each([
    "update audit_entry set actor = 'nobody'",
    'delete from audit_entry',
    'truncate audit_entry',
    'delete from audit_head',
    'truncate audit_head',
  ])('permissions refuse this to the service: %s', async (statement) => {
    await expect(owner.query(statement)).rejects.toMatchObject({ code: '42501' });
  });

  test('triggers refuse changes even after the service grants itself the privileges', async () => {
    await owner.query('begin; grant update, delete on audit_entry to current_user');
    await expect(owner.query('delete from audit_entry')).rejects.toMatchObject({ code: '23001' });
    await owner.query('rollback');
  });
});

describe('verification detects changes by a superuser:', () => {
  let kept: readonly AuditEntry[] = [];
  /** Makes a change, returns the problems that verification finds, and undoes the change. */
  const tamper = async (statement: string, values: readonly unknown[] = [], expected?: string) => {
    await intruder.query('create table kept_entry as table audit_entry; create table kept_head as table audit_head');
    await intruder.query("set session_replication_role = 'replica'");
    try {
      const { rowCount } = await intruder.query(statement, [...values]);
      expect(rowCount).not.toBe(0);
      return await problems(expected);
    } finally {
      await intruder.query(`set session_replication_role = 'replica';
        truncate audit_entry, audit_head; insert into audit_entry table kept_entry;
        insert into audit_head (singleton, position, hash) select singleton, position, hash from kept_head;
        drop table kept_entry, kept_head; set session_replication_role = 'origin'`);
    }
  };

  beforeAll(async () => {
    kept = (await chain()).slice(0, 6);
  });
  afterEach(async () => {
    expect(await problems()).toEqual([]);
  });

  /** Changes of one byte, in SQL. `$2` is the byte's index, starting at 0. */
  const BYTE_FLIPS: Readonly<Record<string, string>> = {
    entry_id: `encode(set_byte(uuid_send(entry_id), $2 % 16, get_byte(uuid_send(entry_id), $2 % 16) # 1), 'hex')::uuid`,
    created_at: 'created_at + make_interval(secs => (array[0.000001, 0.001, 86400])[$2 % 3 + 1])',
    actor: "overlay(actor placing '~' from $2 % length(actor) + 1 for 1)",
    action: "overlay(action placing '~' from $2 % length(action) + 1 for 1)",
    program_id: `case when program_id is null then gen_random_uuid() else
      encode(set_byte(uuid_send(program_id), $2 % 16, get_byte(uuid_send(program_id), $2 % 16) # 1), 'hex')::uuid end`,
    subject_id:
      "case when subject_id is null then '' else overlay(subject_id placing '~' from $2 % length(subject_id) + 1 for 1) end",
    request_id: 'case when request_id is null then gen_random_uuid() else null end',
    details: "overlay(details placing '~' from $2 % length(details) + 1 for 1)",
    previous_hash: 'set_byte(previous_hash, $2 % 32, get_byte(previous_hash, $2 % 32) # 1)',
    hash: 'set_byte(hash, $2 % 32, get_byte(hash, $2 % 32) # 128)',
  };

  test.each(Object.keys(BYTE_FLIPS))('one changed byte of %s in any row', async (column) => {
    for (const { position } of kept) {
      for (const byte of [0, 7, 31]) {
        const flip = `update audit_entry set ${column} = ${BYTE_FLIPS[column]?.replaceAll('$2', '$2::int')} where position = $1`;
        const changed = `case when ${column} is null then 1 else $2::int end is not null and position = $1`;
        const found = await tamper(flip.replace('position = $1', changed), [position, byte]);
        expect(found[0], `${column} of ${position}`).toMatch(
          new RegExp(`^Entry ${position} \\(aud_[0-9a-f]{32}\\) was changed`),
        );
      }
    }
  });

  test('any changed byte of the details', async () => {
    const { position = 0n, details = '' } = kept.at(3) ?? {};
    for (let byte = 0; byte < details.length; byte += 1) {
      const found = await tamper(
        "update audit_entry set details = overlay(details placing '~' from $2 for 1) where position = $1",
        [position, byte + 1],
      );
      expect(found).toHaveLength(1);
      expect(found[0]).toContain(`Entry ${position} (aud_`);
    }
  });

  test('text moved from one field to the next', async () => {
    const found = await tamper(`update audit_entry set actor = left(actor, -1), action = right(actor, 1) || action
      where position = 5`);
    expect(found[0]).toMatch(/^Entry 5 .* was changed/);
  });

  test('the removal of the first, a middle, the last, and several rows', async () => {
    const last = (await chain()).length;
    const removed = (where: string) => tamper(`delete from audit_entry where position ${where}`);
    expect(await removed('= 1')).toEqual(['Entry 1 is missing.']);
    expect(await removed('= 6')).toEqual(['Entry 6 is missing.']);
    expect(await removed(`= ${last}`)).toEqual([`Entry ${last} is missing.`]);
    expect(await removed('between 4 and 9')).toEqual(['Entries 4 to 9 are missing.']);
    expect(await removed(`> ${last - 3}`)).toEqual([`Entries ${last - 2} to ${last} are missing.`]);
    expect(await removed('> 0')).toEqual([`Entries 1 to ${last} are missing.`]);
  });

  test('two swapped rows', async () => {
    const found = await tamper(`update audit_entry set position = position + 1000000 where position in (4, 8);
      update audit_entry set position = case position when 1000004 then 8 else 4 end where position > 1000000`);
    expect(found.join('\n')).toMatch(/^Entry 4 .* was changed[\s\S]*\nEntry 8 .* was changed/m);
  });

  test('an inserted row that shifts later ones', async () => {
    const found =
      await tamper(`insert into audit_entry select position + 1, gen_random_uuid(), created_at, actor, action,
        program_id, subject_id, request_id, details, hash, hash from audit_entry order by position desc limit 1`);
    expect(found[0]).toMatch(/was changed/);
    expect(found.at(-1)).toMatch(/^The log continues to entry \d+, but its head says that it ends at \d+\.$/);
  });

  test('a row before the first one, with any hash', async () => {
    const [first, ...others] = await chain();
    const last = others.at(-1)?.hash;
    const noted = randomBytes(32);
    await intruder.query('alter table audit_entry drop constraint audit_entry_position_from_one');
    try {
      for (const position of [0n, -1n, -(2n ** 63n)]) {
        const forge = `insert into audit_entry select $1, gen_random_uuid(), created_at, 'host', action, program_id,
          subject_id, request_id, details, decode(repeat('00', 32), 'hex'), $2 from audit_entry where position = 1`;
        const putIn = new RegExp(
          `^Entry ${position} \\(aud_[0-9a-f]{32}\\) was inserted: the first entry of the log is entry 1`,
        );
        for (const expected of [undefined, last?.toString('hex')]) {
          const found = await tamper(forge, [position, first?.hash], expected);
          expect(found).toEqual([expect.stringMatching(putIn)]);
        }
        // The forged row does not replace the noted hash.
        expect(await tamper(forge, [position, noted], noted.toString('hex'))).toEqual([
          expect.stringMatching(putIn),
          expect.stringContaining('the log was truncated or rewritten'),
        ]);
      }
    } finally {
      await intruder.query(
        'alter table audit_entry add constraint audit_entry_position_from_one check (position > 0) not valid',
      );
    }
  });

  test('a row before the first one, which the table refuses even without triggers', async () => {
    const forge = `insert into audit_entry select 0, gen_random_uuid(), created_at, actor, action, program_id,
      subject_id, request_id, details, previous_hash, hash from audit_entry where position = 1`;
    await expect(tamper(forge)).rejects.toMatchObject({
      code: '23514',
      constraint: 'audit_entry_position_from_one',
    });
  });

  test('rows removed at the end with the head set back, but only with a noted head', async () => {
    const { position, head } = await verifyAudit(ledger.database);
    const rows = await chain();
    expect([position, head]).toEqual([BigInt(rows.length), rows.at(-1)?.hash.toString('hex')]);
    const cut = `delete from audit_entry where position > (select max(position) - 3 from kept_entry);
      update audit_head set (position, hash) = (select position, hash from audit_entry order by position desc limit 1)`;
    expect(await tamper(cut)).toEqual([]);
    expect(await tamper(cut, [], head)).toEqual([
      `No entry has the hash ${head}, which was noted earlier: the log was truncated or rewritten.`,
    ]);
    // The entries before the cut are still there.
    expect(await tamper(cut, [], rows.at(-4)?.hash.toString('hex'))).toEqual([]);
  });

  test('a head that was changed, set back or removed', async () => {
    const last = (await chain()).length;
    expect(await tamper('update audit_head set hash = set_byte(hash, 3, get_byte(hash, 3) # 1)')).toEqual([
      `The hash in the head of the log differs from the hash of entry ${last}: one of them was changed.`,
    ]);
    expect(await tamper('update audit_head set position = position + 1')).toEqual([`Entry ${last + 1} is missing.`]);
    expect((await tamper('update audit_head set position = position - 1')).at(-1)).toContain(
      'The log continues to entry',
    );
    expect(await tamper('delete from audit_head')).toEqual([
      'The head of the log is missing, so the end of the log is unknown.',
    ]);
  });

  test('a rewritten log, but only with a noted head', async () => {
    const noted = (await chain()).at(-1)?.hash.toString('hex');
    expect(await problems(noted)).toEqual([]);
    const anew = `truncate audit_entry, audit_head; insert into audit_head (position, hash)
      values (0, decode(repeat('00', 32), 'hex')); set session_replication_role = 'origin';
      insert into audit_entry (entry_id, actor, action, details)
      select entry_id, actor, action, '{}' from kept_entry order by position`;
    expect(await tamper(anew)).toEqual([]);
    expect(await tamper(anew, [], noted)).toEqual([
      `No entry has the hash ${noted}, which was noted earlier: the log was truncated or rewritten.`,
    ]);
  });

  test('but not the growth of the log after a head was noted', async () => {
    const noted = (await chain()).at(-1)?.hash.toString('hex');
    await operate(ledger, 'create_key', operatorKey('one more'));
    expect(await problems(noted)).toEqual([]);
  });
});
