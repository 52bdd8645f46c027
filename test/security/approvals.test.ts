import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ApprovalRule } from '../../contract/approvals.ts';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { ROLES, type Role } from '../../contract/scope.ts';
import type { ApprovalStatus } from '../../domain/approvals/approval.ts';
import { APPROVABLE } from '../../domain/approvals/policy.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { parseStrictJson } from '../../server/calls/strict-json.ts';
import { signInPerson } from '../../server/subjects/sessions/sign-in-person.ts';
import { problemsOf } from '../api/events/event-schema.ts';
import { type CallParts, newThings, partsOf, toRaw } from '../fixtures/operations.ts';
import { SilentProcessors } from '../fixtures/processors.ts';
import { UNLIMITED } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';
import { newBreak, unknownAttempt } from './audited-actions.ts';
import { makeKey, ownPage, startSessionService } from './session-world.ts';

const server = await useServer();
const ledger = useLedger(server.connection, undefined, undefined, UNLIMITED, new SilentProcessors());
const service = await startSessionService(ledger);

/** A connection that sees the rows of every table. */
const owner = await useConnection(server.connection);

type Fields = Readonly<Record<string, unknown>>;
let subjects = 0;

/** Signs in a new person, and returns a function that sends requests as this person. */
async function person(role: Role, name: string) {
  subjects += 1;
  const subject = `person ${subjects}`;
  const signIn = (as: Role) =>
    signInPerson(ledger.database, performance.now() + 20_000, {
      ...{ issuer: 'https://id.example.com', subject, name, email: null },
      ...{ roles: [{ role: as, programId: null }], programId: null, scopes: ROLES[as] },
      ...{ signedInAt: new Date(), providerSession: null },
    });
  const { token, personId } = await signIn(role);
  const own = [...ownPage(service.port), `Cookie: console-${service.port}=${token}`];
  const ask = (path: string, method = 'GET', body?: object, headers: readonly string[] = []) =>
    service.ask(method, path, [...own, ...headers], body);
  return { ask, personId, id: `per_${personId.replaceAll('-', '')}`, signIn };
}

const WITHDRAWAL = OPERATIONS.create_withdrawal.path.replace('{program_id}', DEMO_PROGRAM);

const about = (approval: Fields, what = ''): string =>
  `${OPERATIONS.list_approvals.path}/${String(approval.approval_id)}${what}`;

/** Sets the rules as a caller without a key, whose requests need no approval. */
const withRules = async (...rules: readonly ApprovalRule[]): Promise<void> => {
  const body = parseStrictJson(Buffer.from(JSON.stringify({ rules }))) as Fields;
  await ledger.call('change_approval_policy', {}, { programId: '', idempotencyKey: randomUUID(), body });
};

type Person = Awaited<ReturnType<typeof person>>;

const withdraw = (by: Pick<Person, 'ask'>, amount: number, key: string = randomUUID(), more: object = {}) =>
  by.ask(WITHDRAWAL, 'POST', { amount, ...more }, [`Idempotency-Key: ${key}`]);

const funding = async (): Promise<number> => {
  const { body } = await ledger.call('get_program', {}, { params: { program_id: DEMO_PROGRAM } });
  const { funding: accounts } = JSON.parse(body) as { funding: { currency: string; balance: number }[] };
  return accounts.find(({ currency }) => currency === 'USD')?.balance ?? 0;
};

const tariq = await person('treasurer', 'Tariq Haddad');
const olivia = await person('treasurer', 'Olivia Park');
/** The person who prepares the subjects of requests, and sends all other requests. */
const ada = await person('administrator', 'Ada Okafor');

const decideOn = (by: Pick<Person, 'ask'>, approval: Fields, what: 'approve' | 'reject' | 'withdraw') =>
  by.ask(about(approval, `/${what}`), 'POST', { reason: 'a test' });

const statusOf = async (approval: Fields): Promise<unknown> => (await olivia.ask(about(approval))).fields.status;

const settle = async (): Promise<number> => {
  for (const end of await ledger.findUnsettled()) await end(performance.now() + 20_000);
  return 0;
};

/** Requests a withdrawal that waits for approval. */
const waiting = async (
  by: Pick<Person, 'ask'> = tariq,
  amount = 20_000,
  key: string = randomUUID(),
): Promise<Fields> => {
  const { status, fields } = await withdraw(by, amount, key, { description: randomUUID() });
  expect(status).toBe(202);
  return fields;
};

const RULE: ApprovalRule = { operation: 'create_withdrawal', over: 10_000, currency: 'USD' };

beforeEach(() => withRules(RULE));

describe('a withdrawal above the amount of a rule', () => {
  test('waits, is approved by someone else, and is carried out once under its key', async () => {
    const before = await funding();
    const small = await withdraw(tariq, 10_000);
    expect(small.status).toBe(201);
    const key = randomUUID();
    const asked = await withdraw(tariq, 25_000, key, { description: 'Monthly sweep' });
    expect(asked).toMatchObject({ status: 202, fields: { status: 'pending', operation: 'create_withdrawal' } });
    expect([asked.headers.get('money-moved'), asked.headers.get('location')]).toEqual(['no', about(asked.fields)]);
    const balance = before - 10_000;
    expect(asked.fields).toMatchObject({
      summary: 'withdraw 250.00 USD from the funding of Demo program',
      body: { amount: 25_000, description: 'Monthly sweep' },
      requested_by: tariq.id,
      values_then: { funding: expect.arrayContaining([{ currency: 'USD', balance, available: balance }]) },
    });
    expect((await withdraw(tariq, 25_000, key, { description: 'Monthly sweep' })).fields).toEqual(asked.fields);
    const other = await withdraw(tariq, 26_000, key);
    expect(other.fields.Code).toBe('idempotency_key_exists');
    const equal = await withdraw(olivia, 25_000, undefined, { description: 'Monthly sweep' });
    expect(equal).toMatchObject({ status: 409, fields: { Code: 'approval_pending' } });
    expect(equal.fields.Message).toContain(String(asked.fields.approval_id));
    expect((await decideOn(tariq, asked.fields, 'approve')).fields.Code).toBe('own_approval');
    expect((await olivia.ask(about(asked.fields))).fields).toMatchObject({
      requested_by_name: 'Tariq Haddad',
      values_now: asked.fields.values_then,
    });
    expect(await funding()).toBe(balance);
    const approved = await decideOn(olivia, asked.fields, 'approve');
    expect([approved.status, approved.headers.get('money-moved')]).toEqual([200, 'yes']);
    expect(approved.fields).toMatchObject({
      status: 'carried_out',
      decided_by: olivia.id,
      decided_by_name: 'Olivia Park',
      body: null,
      result: { kind: 'withdrawal', amount: 25_000 },
    });
    expect((await decideOn(olivia, asked.fields, 'approve')).fields.status).toBe('carried_out');
    const again = await withdraw(tariq, 25_000, key, { description: 'Monthly sweep' });
    expect(again).toMatchObject({ status: 201, fields: { amount: 25_000 } });
    expect([again.headers.get('idempotent-replayed'), again.headers.get('money-moved')]).toEqual(['true', 'yes']);
    expect(await funding()).toBe(balance - 25_000);
  });

  test('is refused at once if it would fail now, and leaves no approval', async () => {
    const count = async () => (await olivia.ask(OPERATIONS.list_approvals.path)).fields.data;
    const before = await count();
    expect((await withdraw(tariq, 900_000_000_000)).fields.Code).toBe('insufficient_funds');
    expect(await count()).toEqual(before);
  });

  test('becomes one approval, however many identical requests arrive at the same time', async () => {
    const description = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => withdraw(tariq, 20_000, randomUUID(), { description })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array(9).fill(409)]);
    const asked = answers.find(({ status }) => status === 202)?.fields ?? {};
    expect((await decideOn(tariq, asked, 'withdraw')).fields.status).toBe('withdrawn');
  });
});

/** Ways to end an approval, by the status that it has afterwards. */
const ENDS: Readonly<Record<Exclude<ApprovalStatus, 'pending' | 'approved'>, (asked: Fields) => Promise<unknown>>> = {
  carried_out: (asked) => decideOn(olivia, asked, 'approve'),
  rejected: (asked) => decideOn(olivia, asked, 'reject'),
  withdrawn: (asked) => decideOn(tariq, asked, 'withdraw'),
  expired: async (asked) => {
    await setTime(asked, 'expires_at', 0);
    expect(await statusOf(asked)).toBe('expired');
    expect((await decideOn(olivia, asked, 'approve')).fields.Code).toBe('invalid_approval_status');
    await settle();
  },
  failed: async (asked) => {
    // Someone else has withdrawn nearly all the money in the meantime.
    await withRules();
    expect((await withdraw(ada, (await funding()) - 5_000)).status).toBe(201);
    await withRules(RULE);
    const { fields } = await decideOn(olivia, asked, 'approve');
    expect(fields).toMatchObject({ error: { Code: 'insufficient_funds' }, result: null });
    const deposit = WITHDRAWAL.replace('/withdrawal', '/deposit');
    const paid = await ada.ask(deposit, 'POST', { amount: 50_000_000 }, [`Idempotency-Key: ${randomUUID()}`]);
    expect(paid.status).toBe(201);
  },
};

/** Changes a time of an approval to this many seconds from now. */
const setTime = async (asked: Fields, column: 'expires_at' | 'decided_at', seconds: number): Promise<void> => {
  const text = `update approval set ${column} = now() + make_interval(secs => $2) where approval_id = $1`;
  await owner.query(text, [fromWireId('apr', String(asked.approval_id)), seconds]);
};

describe('a move-in', () => {
  const usd = { currency: 'USD', cards: 1, balance: 10_000, holds: 0, held: 0 };
  const create = (totals: readonly object[] | undefined, sha256 = randomBytes(32).toString('hex')) =>
    tariq.ask(OPERATIONS.create_move_in.path, 'POST', {
      ...{ program_id: DEMO_PROGRAM, name: 'cards.csv', sha256, as_of: '2026-01-31T09:30:00.000Z', line_count: 1 },
      ...(totals && { totals }),
    });

  test.each<[string, number, readonly object[] | undefined]>([
    ['that states the amount', 201, [usd]],
    ['that states no money', 201, [{ ...usd, balance: 0 }]],
    ['that states one cent more', 202, [{ ...usd, balance: 10_001 }]],
    ['that states the largest sum', 202, [{ ...usd, balance: Number.MAX_SAFE_INTEGER }]],
    ['in another currency', 202, [{ ...usd, currency: 'EUR' }]],
    ['in several currencies', 202, [usd, { ...usd, currency: 'EUR' }]],
    ['without stated sums', 202, undefined],
  ])('%s gets %i under a rule about an amount', async (_, expected, totals) => {
    await withRules({ operation: 'create_move_in', over: 10_000, currency: 'USD' });
    const { status, fields } = await create(totals);
    expect(status).toBe(expected);
    // A pending approval would show on the pages of the card program.
    if (status === 202) expect((await decideOn(tariq, fields, 'withdraw')).fields.status).toBe('withdrawn');
  });

  test('that was approved is returned without another approval', async () => {
    await withRules({ operation: 'create_move_in' });
    const sha256 = randomBytes(32).toString('hex');
    const asked = await create([usd], sha256);
    expect(asked).toMatchObject({
      status: 202,
      fields: { summary: 'move cards with 100.00 USD into Demo program from another ledger' },
    });
    const { fields: approved } = await decideOn(olivia, asked.fields, 'approve');
    expect(approved).toMatchObject({ status: 'carried_out', result: { status: 'receiving' } });
    const again = await create([usd], sha256);
    expect(again).toMatchObject({ status: 200, fields: { status: 'receiving' } });
    expect((approved.result as Fields).move_in_id).toBe(again.fields.move_in_id);
  });
});

describe('an approval ends', () => {
  test.each(Object.entries(ENDS))(
    'as %s, with its event, its entries in the audit log and no body',
    async (status, end) => {
      const asked = await waiting();
      await end(asked);
      expect(await statusOf(asked)).toBe(status);
      expect((await olivia.ask(about(asked))).fields.body).toBeNull();
      for (const by of [tariq, olivia] as const) {
        const later = await decideOn(by, asked, 'reject');
        const isAgain = status === 'rejected' && by === olivia;
        expect(later.status).toBe(isAgain ? 200 : 409);
      }
      const { rows: events } = await owner.query('select type, payload from event where subject_id = $1 order by 1', [
        asked.approval_id,
      ]);
      const decided = status === 'carried_out' ? [] : [`approval.${status}`];
      const approved = status === 'carried_out' || status === 'failed' ? ['approval.approved'] : [];
      expect(events.map(({ type }) => type).sort()).toEqual([...decided, ...approved, 'approval.requested'].sort());
      for (const { payload, type } of events) {
        expect(problemsOf(type, JSON.parse(payload))).toEqual([]);
        expect(JSON.parse(payload)).toMatchObject({
          requested_by: tariq.id,
          requested_by_name: null,
          decided_by_name: null,
        });
      }
      const { rows: entries } = await owner.query(
        'select action, actor, details from audit_entry where subject_id = $1 order by position',
        [asked.approval_id],
      );
      expect(entries[0]).toMatchObject({ action: 'request_approval', actor: tariq.id });
      expect(entries.length).toBe(status === 'carried_out' || status === 'failed' ? 3 : 2);
    },
  );

  test("once, if two people decide at the same time, and the other person's error names the person who decided", async () => {
    const omar = await person('approver', 'Omar Said');
    const asked = await waiting();
    const answers = await Promise.all([decideOn(olivia, asked, 'approve'), decideOn(omar, asked, 'reject')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    const message = answers.find(({ status }) => status === 409)?.fields.Message;
    expect(message).toMatch(/by (Olivia Park|Omar Said)\.$/);
  });
});

describe('a process that stops between the approval and the change', () => {
  const asIfStopped = async (asked: Fields): Promise<void> => {
    // An approval that has ended no longer has its body.
    const text = `update approval set status = 'approved', decided_by = $2, body = $3 where approval_id = $1`;
    const body = JSON.stringify(asked.body);
    await owner.query(text, [fromWireId('apr', String(asked.approval_id)), olivia.personId, body]);
    await setTime(asked, 'decided_at', -11);
  };

  test('leaves the rest to the job, which executes the withdrawal once', async () => {
    const asked = await waiting();
    const before = await funding();
    await asIfStopped(asked);
    expect(await Promise.all([settle(), settle(), decideOn(olivia, asked, 'approve').then(() => 0)])).toEqual([
      0, 0, 0,
    ]);
    expect(await statusOf(asked)).toBe('carried_out');
    expect(await funding()).toBe(before - 20_000);
  });

  test('never repeats a change without an idempotency key after a later change', async () => {
    await withRules({ operation: 'update_program', fields: ['name'] });
    const program = OPERATIONS.update_program.path.replace('{program_id}', DEMO_PROGRAM);
    const { fields: asked, status } = await ada.ask(program, 'PATCH', { name: 'Asked' });
    expect(status).toBe(202);
    await asIfStopped(asked);
    await settle();
    await withRules();
    expect((await ada.ask(program, 'PATCH', { name: 'Demo program' })).status).toBe(200);
    // Simulates that the process stopped before it stored how the approval ended.
    await asIfStopped(asked);
    await settle();
    expect(await statusOf(asked)).toBe('carried_out');
    expect((await ada.ask(program)).fields.name).toBe('Demo program');
  });

  // The requester is blocked after the process stops. So the job must refuse the request unless it was executed.
  test.each([
    ['is executed, if that process had moved the money', true, 'carried_out'],
    ['has failed, if that process had not moved the money, and its key can never move money', false, 'failed'],
  ])('records that a load %s', async (_name, hasMoved, status) => {
    const [lena, omar] = [await person('administrator', 'Lena Roth'), await person('approver', 'Omar Said')];
    await withRules({ operation: 'create_transfer' });
    const headers = [`Program-Id: ${DEMO_PROGRAM}`, `Idempotency-Key: ${randomUUID()}`];
    const load = { amount: 1000, card_id: 'card_active' };
    const { fields: asked } = await lena.ask(OPERATIONS.create_transfer.path, 'POST', load, headers);
    if (hasMoved) expect((await decideOn(omar, asked, 'approve')).fields.status).toBe('carried_out');
    const before = await funding();
    await asIfStopped(asked);
    await ada.ask(OPERATIONS.block_person.path.replace('{person_id}', lena.id), 'POST');
    await settle();
    const ended = (await omar.ask(about(asked))).fields;
    expect(ended).toMatchObject({ status, result: hasMoved ? { amount: 1000 } : null });
    await withRules();
    const again = await ada.ask(OPERATIONS.create_transfer.path, 'POST', load, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.fields).toMatchObject(hasMoved ? { amount: 1000 } : { Code: 'forbidden' });
    expect(await funding()).toBe(before);
  });
});

test('an approval stays pending while transfers are disabled', async () => {
  const asked = await waiting();
  await ledger.call('change_switch', { disabled: true, reason: 'a test' }, { programId: '' });
  const refused = await decideOn(olivia, asked, 'approve');
  await ledger.call('change_switch', { disabled: false }, { programId: '' });
  // Withdrawals are possible while transfers are disabled.
  expect(refused.fields.status).toBe('carried_out');
  await withRules({ operation: 'create_transfer' });
  const transfer = { amount: 1000, card_id: 'card_active' };
  const headers = [`Program-Id: ${DEMO_PROGRAM}`, `Idempotency-Key: ${randomUUID()}`];
  const load = await ada.ask(OPERATIONS.create_transfer.path, 'POST', transfer, headers);
  expect(load.status).toBe(202);
  await ledger.call('change_switch', { disabled: true, reason: 'a test' }, { programId: '' });
  expect((await decideOn(ada, load.fields, 'approve')).fields.Code).toBe('own_approval');
  const grace = await person('administrator', 'Grace Lin');
  expect((await decideOn(grace, load.fields, 'approve')).fields.Code).toBe('service_disabled');
  expect(await statusOf(load.fields)).toBe('pending');
  await ledger.call('change_switch', { disabled: false }, { programId: '' });
  expect((await decideOn(grace, load.fields, 'approve')).fields.status).toBe('carried_out');
});

describe('every operation that can need an approval', () => {
  const sendAs = async (by: Pick<Person, 'ask'>, id: OperationId, parts: CallParts) => {
    const { method, path = '', headers, body } = toRaw(id, parts);
    const lines = Object.entries({ 'Program-Id': DEMO_PROGRAM, ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    return by.ask(
      path,
      method ?? 'GET',
      body as object | undefined,
      OPERATIONS[id].reach === 'program' ? lines : lines.slice(1),
    );
  };
  const things = newThings(
    async (id, parts) => {
      const { status, fields } = await sendAs(ada, id, parts);
      if (status >= 300) throw new Error(`${id} returned ${JSON.stringify(fields)}`);
      return fields;
    },
    {
      ...{ program: async () => DEMO_PROGRAM, connector: async () => 'simulator' },
      ...{ attempt: () => unknownAttempt(ledger), break: () => newBreak(ledger) },
      ...{ event: fail, error: fail, session: fail, approval: fail },
    },
  );

  /** Reads the card program, transfer or card that a request is about. */
  const readSubject = async (by: Person, { params, body }: CallParts): Promise<Fields> => {
    const { card_id } = (body ?? {}) as Fields;
    const ids: Fields = { ...params, ...(card_id === undefined ? {} : { card_id }) };
    const read = async (one: OperationId): Promise<Fields> =>
      (await sendAs(by, one, { params: ids as Record<string, string>, query: '', body: undefined })).fields;
    if (ids.transfer_id !== undefined) {
      const [{ transfer }, alone] = [await read('get_transfer_timeline'), await read('get_transfer')];
      expect(transfer).toEqual(alone);
      return alone;
    }
    if (ids.card_id !== undefined) return read('get_card');
    return ids.program_id === undefined ? {} : read('get_program');
  };

  test.each(APPROVABLE)('%s waits without an effect, and then has the effect that it describes', async (id) => {
    await withRules();
    const parts =
      id === 'erase_person'
        ? { params: { person_id: (await person('support', 'Sofia Lind')).id }, query: '', body: undefined }
        : await partsOf(id, things);
    await withRules({ operation: id });
    const before = await countRows();
    const asked = await sendAs(ada, id, parts);
    expect(asked).toMatchObject({ status: 202, fields: { operation: id } });
    expect(asked.fields.summary).not.toMatch(/^call |null|undefined/);
    expect(await countRows()).toEqual(before);
    const subject = await readSubject(ada, parts);
    const isShown = ['program_id', 'card_id', 'transfer_id'].some((name) => name in subject);
    expect(subject.pending_approval_id).toBe(isShown ? asked.fields.approval_id : undefined);
    const grace = await person('administrator', 'Grace Lin');
    const approved = await decideOn(grace, asked.fields, 'approve');
    expect(approved.fields).toMatchObject({ status: 'carried_out', error: null });
    expect(JSON.stringify(approved.fields)).not.toMatch(/"(ts_[0-9a-f]{16}_[0-9a-f]+|whsec_[^"]+)"/);
    expect(await countRows()).not.toEqual(before);
    expect(await readSubject(ada, parts)).not.toHaveProperty('pending_approval_id');
    const { rows } = await owner.query(
      'select actor, details from audit_entry where action = $1 order by position desc limit 1',
      [id],
    );
    expect(rows).toMatchObject([{ actor: ada.id }]);
    expect(JSON.parse(rows[0].details)).toMatchObject({ approval_id: asked.fields.approval_id });
    // A repetition changes nothing, so it needs no approval.
    if (id === 'cut_over') expect(await sendAs(ada, id, parts)).toMatchObject({ status: 200, fields: { status: id } });
  });

  /** Counts the rows that the operations change, and hashes their values. */
  const countRows = async (): Promise<unknown> => {
    const { rows } = await owner.query(`select (select count(*) from funding_movement) as movements,
      (select count(*) from move_in) as move_ins, (select count(*) from comparison where status = 'cut_over') as cut_overs,
      (select count(*) from transfer) as transfers, (select count(*) from reversal) as reversals,
      (select count(*) from api_key) as keys, (select count(*) from webhook) as webhooks,
      (select count(*) from card_erasure) as erasures, (select count(*) from idempotency) as responses,
      (select count(*) from person where erased_at is not null) as erased,
      (select string_agg(status, ' ' order by attempt_id) from processor_attempt) as attempts,
      (select count(*) from processor_break where closed_at is null) as breaks,
      (select json_agg(program order by program_id)::text from program) as programs,
      (select rules::text || changed_at from approval_policy) as policy`);
    return rows;
  };
});

function fail(): never {
  throw new Error('no approvable operation needs a record of this kind');
}

describe('the policy', () => {
  test('applies to its own changes as soon as it has a rule', async () => {
    const change = { rules: [] };
    const asked = await ada.ask(OPERATIONS.change_approval_policy.path, 'POST', change);
    expect(asked.status).toBe(202);
    const grace = await person('administrator', 'Grace Lin');
    expect((await decideOn(grace, asked.fields, 'approve')).fields.status).toBe('carried_out');
    expect((await ada.ask(OPERATIONS.get_approval_policy.path)).fields).toMatchObject({
      rules: [],
      changed_by: ada.id,
    });
    const next = { rules: [RULE, { operation: 'create_key', scopes: ['operator'] }], expires_after_hours: 2 };
    const set = await ada.ask(OPERATIONS.change_approval_policy.path, 'POST', next);
    expect(set).toMatchObject({ status: 200, fields: next });
    expect((await ada.ask(OPERATIONS.get_approval_policy.path)).fields).toEqual(set.fields);
  });

  test.each([
    ['an amount without a currency', { operation: 'create_withdrawal', over: 1 }, '/rules/0/currency'],
    ['a currency without an amount', { operation: 'create_withdrawal', currency: 'USD' }, '/rules/0/over'],
    ['an unknown currency', { operation: 'create_withdrawal', over: 1, currency: 'ABC' }, '/currency'],
    ['an amount for an operation without one', { operation: 'create_key', over: 1, currency: 'USD' }, '/rules/0/over'],
    ['scopes for a different operation', { operation: 'create_deposit', scopes: ['operator'] }, '/rules/0/scopes'],
    ['fields for a different operation', { operation: 'create_deposit', fields: ['name'] }, '/rules/0/fields'],
    ['an unknown scope', { operation: 'create_key', scopes: ['all'] }, '/rules/0/scopes/0'],
    ['an unknown field', { operation: 'update_program', fields: ['currency'] }, '/rules/0/fields/0'],
    ['an amount as text', { operation: 'create_deposit', over: '1', currency: 'USD' }, '/rules/0/over'],
    ['a misspelled field', { operation: 'create_deposit', above: 1 }, '/rules/0/above'],
    ['an operation that cannot have a rule', { operation: 'revoke_key' }, '/rules/0/operation'],
  ])('cannot have a rule with %s', async (_, rule, field) => {
    await withRules();
    const refused = await ada.ask(OPERATIONS.change_approval_policy.path, 'POST', { rules: [rule] });
    expect([refused.fields.Code, refused.headers.get('error-field')]).toEqual(['change_approval_policy_schema', field]);
  });

  test('also applies to batches by operators, which are refused', async () => {
    await withRules({ operation: 'create_transfer' });
    const transfers = [{ amount: 1000, card_id: 'card_active', idempotency_key: randomUUID() }];
    const batch = () =>
      ada.ask(OPERATIONS.create_transfer_batch.path, 'POST', { transfers }, [`Program-Id: ${DEMO_PROGRAM}`]);
    expect((await batch()).fields.Code).toBe('forbidden');
    await withRules();
    expect((await batch()).status).toBe(200);
  });

  test('does not affect card programs: their transfers work even if the policy cannot be read', async () => {
    const { key } = await makeKey(ledger, { program_id: DEMO_PROGRAM, scopes: ['transfers:write'] });
    const headers = () => [
      `Host: localhost:${service.port}`,
      `Authorization: Bearer ${key}`,
      `Idempotency-Key: ${randomUUID()}`,
    ];
    const load = () =>
      service.ask('POST', OPERATIONS.create_transfer.path, headers(), { amount: 1000, card_id: 'card_active' });
    await owner.query('revoke select on approval_policy from transfer_service_background');
    try {
      expect((await load()).status).toBe(201);
      await waitFor('an operator notices', async () => (await withdraw(tariq, 1)).status === 500);
    } finally {
      await owner.query('grant select on approval_policy to transfer_service_background');
    }
  });
});

describe('a key', () => {
  const keyOf = async (members: object): Promise<Pick<Person, 'ask' | 'id'>> => {
    const made = await ada.ask(OPERATIONS.create_key.path, 'POST', {
      name: 'A key',
      all_programs: true,
      role: 'treasurer',
      ...members,
    });
    const own = [`Host: localhost:${service.port}`, `Authorization: Bearer ${String(made.fields.key)}`];
    const ask: Person['ask'] = (path, method = 'GET', body = undefined, headers = []) =>
      service.ask(method, path, [...own, ...headers], body);
    return { ask, id: String(made.fields.key_id) };
  };

  test('that belongs to a person acts as that person, until the person is blocked', async () => {
    const lena = await person('treasurer', 'Lena Roth');
    const [ofLena, ofNoOne] = [await keyOf({ person_id: lena.id }), await keyOf({})];
    const asked = await waiting(ofLena);
    expect(asked).toMatchObject({ requested_by: ofLena.id, requested_by_name: 'A key' });
    expect((await decideOn(lena, asked, 'approve')).fields.Code).toBe('own_approval');
    // Ada created both keys, and knows their secrets.
    expect((await decideOn(ofNoOne, asked, 'approve')).fields.Code).toBe('own_approval');
    expect((await decideOn(ada, asked, 'approve')).fields.Code).toBe('own_approval');
    const other = await waiting(tariq);
    expect((await decideOn(ofNoOne, other, 'approve')).fields.Code).toBe('forbidden');
    expect((await decideOn(ofLena, other, 'approve')).fields).toMatchObject({
      status: 'carried_out',
      decided_by: ofLena.id,
    });
    await ada.ask(OPERATIONS.block_person.path.replace('{person_id}', lena.id), 'POST');
    await waitFor('the key to be refused', async () => (await ofLena.ask(about(asked))).status === 401);
    expect((await decideOn(olivia, asked, 'approve')).fields).toMatchObject({
      Code: 'invalid_approval_status',
      Message:
        'The request cannot be approved, because the requester used a key of a person who has been blocked. Reject it.',
    });
    expect((await decideOn(olivia, asked, 'reject')).fields.status).toBe('rejected');
  });

  test('with a scope that a rule names must be approved, and the requester rolls it to get a secret', async () => {
    await withRules({ operation: 'create_key', scopes: ['funding:write'] });
    const body = { name: 'Night job', all_programs: true, role: 'treasurer' };
    const asked = await ada.ask(OPERATIONS.create_key.path, 'POST', body);
    expect(asked.status).toBe(202);
    expect((await ada.ask(OPERATIONS.create_key.path, 'POST', { ...body, role: 'support' })).status).toBe(201);
    const grace = await person('administrator', 'Grace Lin');
    const { result } = (await decideOn(grace, asked.fields, 'approve')).fields as { result: Fields };
    expect(result).toMatchObject({ key: null, created_by: ada.id });
    const rolled = await ada.ask(OPERATIONS.roll_key.path.replace('{key_id}', String(result.key_id)), 'POST', {});
    expect(rolled.fields.key).toMatch(/^ts_/);
  });
});

test('someone without the scope cannot decide, but an approver can', async () => {
  const asked = await waiting();
  const [sofia, omar] = [await person('support', 'Sofia Lind'), await person('approver', 'Omar Said')];
  expect((await decideOn(sofia, asked, 'approve')).fields.Code).toBe('forbidden');
  const forbidden = (await withdraw(omar, 1)).fields;
  expect(forbidden.Code).toBe('forbidden');
  expect(forbidden.Message).toContain('You can decide on such requests from others: see list_approvals.');
  expect((await decideOn(omar, asked, 'approve')).fields.status).toBe('carried_out');
});

test('a request cannot be approved after its sender is blocked', async () => {
  const lena = await person('treasurer', 'Lena Roth');
  const asked = await waiting(lena);
  await ada.ask(OPERATIONS.block_person.path.replace('{person_id}', lena.id), 'POST');
  const refused = await decideOn(olivia, asked, 'approve');
  expect(refused.fields.Message).toContain('the requester has been blocked');
});

test('a request cannot be approved after its sender has lost the role', async () => {
  const lena = await person('treasurer', 'Lena Roth');
  const asked = await waiting(lena);
  await lena.signIn('support');
  const refused = await decideOn(olivia, asked, 'approve');
  expect(refused.fields.Message).toContain("no longer has the scope 'funding:write'");
});
