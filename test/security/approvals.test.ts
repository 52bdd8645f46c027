import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ApprovalRule } from '../../contract/approvals.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { ROLES, type Role } from '../../contract/scope.ts';
import { parseStrictJson } from '../../server/calls/strict-json.ts';
import { signInPerson } from '../../server/subjects/sessions/sign-in-person.ts';
import { UNLIMITED } from '../harness/ledger.ts';
import { useLedger, useServer } from '../harness/use-ledger.ts';
import { ownPage, startSessionService } from './session-world.ts';

const server = await useServer();
const ledger = useLedger(server.connection, undefined, undefined, UNLIMITED);
const service = await startSessionService(ledger);

type Fields = Readonly<Record<string, unknown>>;
let subjects = 0;

/** Signs a new person in, and returns a function that sends requests as this person. */
async function person(role: Role, name: string) {
  subjects += 1;
  const { token, personId } = await signInPerson(ledger.database, performance.now() + 20_000, {
    ...{ issuer: 'https://id.example.com', subject: `person ${subjects}`, name, email: null },
    ...{ roles: [{ role, programId: null }], programId: null, scopes: ROLES[role] },
    ...{ signedInAt: new Date(), providerSession: null },
  });
  const ask = (path: string, method = 'GET', body?: object, headers: readonly string[] = []) =>
    service.ask(method, path, [...ownPage(service.port), `Cookie: console-${service.port}=${token}`, ...headers], body);
  return { ask, personId, id: `per_${personId.replaceAll('-', '')}` };
}

const WITHDRAWAL = OPERATIONS.create_withdrawal.path.replace('{program_id}', DEMO_PROGRAM);

const about = (approval: Fields, what = ''): string =>
  `${OPERATIONS.list_approvals.path}/${String(approval.approval_id)}${what}`;

const withRules = async (...rules: readonly ApprovalRule[]): Promise<void> => {
  const body = parseStrictJson(Buffer.from(JSON.stringify({ rules }))) as Fields;
  await ledger.call('change_approval_policy', {}, { programId: '', idempotencyKey: randomUUID(), body });
};

type Person = Awaited<ReturnType<typeof person>>;

const withdraw = (by: Person, amount: number, key: string = randomUUID(), more: object = {}) =>
  by.ask(WITHDRAWAL, 'POST', { amount, ...more }, [`Idempotency-Key: ${key}`]);

const funding = async (): Promise<number> => {
  const { body } = await ledger.call('get_program', {}, { params: { program_id: DEMO_PROGRAM } });
  const { funding: accounts } = JSON.parse(body) as { funding: { currency: string; balance: number }[] };
  return accounts.find(({ currency }) => currency === 'USD')?.balance ?? 0;
};

const tariq = await person('treasurer', 'Tariq Haddad');
const olivia = await person('treasurer', 'Olivia Park');

describe('a withdrawal above the amount of a rule', () => {
  test('waits, is approved by someone else, and is carried out once under its key', async () => {
    await withRules({ operation: 'create_withdrawal', over: 10_000, currency: 'USD' });
    const before = await funding();
    const small = await withdraw(tariq, 10_000);
    expect(small.status).toBe(201);
    const key = randomUUID();
    const asked = await withdraw(tariq, 25_000, key, { description: 'Monthly sweep' });
    expect(asked).toMatchObject({ status: 202, fields: { status: 'pending', operation: 'create_withdrawal' } });
    expect([asked.headers.get('money-moved'), asked.headers.get('location')]).toEqual(['no', about(asked.fields)]);
    expect(asked.fields).toMatchObject({
      summary: 'withdraw 250.00 USD from the funding of Demo program',
      body: { amount: 25_000, description: 'Monthly sweep' },
      requested_by: tariq.id,
      values_then: {
        funding: expect.arrayContaining([{ currency: 'USD', balance: before - 10_000, available: before - 10_000 }]),
      },
    });
    expect((await withdraw(tariq, 25_000, key, { description: 'Monthly sweep' })).fields).toEqual(asked.fields);
    expect((await withdraw(tariq, 26_000, key)).fields).toMatchObject({ Code: 'idempotency_key_exists' });
    expect((await withdraw(olivia, 25_000, undefined, { description: 'Monthly sweep' })).fields).toMatchObject({
      Code: 'approval_pending',
    });
    expect(await funding()).toBe(before - 10_000);
    expect((await tariq.ask(about(asked.fields, '/approve'), 'POST', {})).fields).toMatchObject({
      Code: 'own_approval',
    });
    expect((await olivia.ask(about(asked.fields))).fields).toMatchObject({
      requested_by_name: 'Tariq Haddad',
      values_now: asked.fields.values_then,
    });
    const approved = await olivia.ask(about(asked.fields, '/approve'), 'POST', { reason: 'as agreed' });
    expect([approved.status, approved.headers.get('money-moved')]).toEqual([200, 'yes']);
    expect(approved.fields).toMatchObject({
      status: 'carried_out',
      decided_by: olivia.id,
      decided_by_name: 'Olivia Park',
      body: null,
      result: { kind: 'withdrawal', amount: 25_000 },
    });
    expect(await funding()).toBe(before - 35_000);
    expect((await olivia.ask(about(asked.fields, '/approve'), 'POST', {})).fields).toMatchObject({
      status: 'carried_out',
    });
    const again = await withdraw(tariq, 25_000, key, { description: 'Monthly sweep' });
    expect(again).toMatchObject({ status: 201, fields: { amount: 25_000 } });
    expect([again.headers.get('idempotent-replayed'), again.headers.get('money-moved')]).toEqual(['true', 'yes']);
    expect(await funding()).toBe(before - 35_000);
  });
});

describe('a policy is refused if a rule of it', () => {
  test.each([
    ['has an unknown operation', { operation: 'create_card' }, '/rules/0/operation'],
    ['has a misspelt field', { operation: 'create_withdrawal', ovre: 1, currency: 'USD' }, '/rules/0/ovre'],
    [
      'has an amount that is no integer',
      { operation: 'create_withdrawal', over: '1', currency: 'USD' },
      '/rules/0/over',
    ],
    ['has an unknown scope', { operation: 'create_key', scopes: ['operator', 'admin'] }, '/rules/0/scopes/1'],
    ['has an unknown field of a program', { operation: 'update_program', fields: ['limit'] }, '/rules/0/fields/0'],
    ['is no object', 'create_withdrawal', '/rules/0'],
  ])('%s', async (_, rule, field) => {
    const administrator = await person('administrator', 'Ines Ferreira');
    const { fields } = await administrator.ask(OPERATIONS.change_approval_policy.path, 'POST', { rules: [rule] });
    expect(fields).toMatchObject({ Code: 'change_approval_policy_schema' });
    expect(fields.Message).toContain(field.split('/')[3] ?? 'object');
  });
});
