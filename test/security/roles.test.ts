import { afterAll, describe, expect, test } from 'vitest';
import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import {
  includesScope,
  isOfOperators,
  KEY_SCOPES,
  type KeyScope,
  OPERATOR_SCOPES,
  ROLE_NAMES,
  ROLES,
  roleOf,
} from '../../contract/scope.ts';
import { RequestError, TransferService } from '../../sdk/client.ts';
import { ledgerGateway, startHttpServer } from '../harness/http-server.ts';
import { withSecret } from '../harness/keys.ts';
import { useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const http = await startHttpServer(ledgerGateway(ledger, { mode: 'live', keyless: false }));
afterAll(() => http.server.close());

const url = `http://127.0.0.1:${http.port}`;
const as = (key: string) => new TransferService({ baseUrl: url, key, maxRetries: 0, timeoutMilliseconds: 120_000 });
/** The first key of a service, as the service's host creates it. */
const first = JSON.parse(
  (await ledger.call('create_key', { name: 'first', all_programs: true, scopes: [...KEY_SCOPES] })).body,
) as { key: string };
const administrator = as(first.key);
const { program_id } = await administrator.programs.create({ name: 'Shop', currency: 'USD' });

const keyWith = (scopes: readonly KeyScope[]) =>
  withSecret(administrator.keys.create({ name: `${scopes.length} scopes`, scopes: [...scopes], all_programs: true }));
const refusal = (attempt: Promise<unknown>): Promise<RequestError> =>
  attempt.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: unknown) => (error instanceof RequestError ? error : Promise.reject(error)),
  );

describe('a role', () => {
  test.each(ROLE_NAMES)('%s has its scopes, and is shown in lists', async (role) => {
    const made = await administrator.keys.create({ name: role, role, all_programs: true });
    expect(made).toMatchObject({
      role,
      scopes: KEY_SCOPES.filter((scope) => ROLES[role].some((one) => one === scope)),
    });
    const listed = (await administrator.keys.list({ limit: 1 })).data[0];
    expect(listed).toMatchObject({ key_id: made.key_id, role });
  });

  test('has no scope to change anything if it is viewer or support, and support can read everything', () => {
    const writes = OPERATION_IDS.filter((id) => /:(write|erase)$|^operator$/.test(OPERATIONS[id].scope ?? ''));
    const reads = OPERATION_IDS.filter((id) => /:read$/.test(OPERATIONS[id].scope ?? ''));
    for (const id of writes) {
      // explain_transfer moves nothing, but needs the scope of create_transfer.
      for (const role of ['viewer', 'support'] as const)
        expect(includesScope(ROLES[role], OPERATIONS[id].scope ?? 'operator'), `${role} ${id}`).toBe(false);
    }
    for (const id of reads) expect(includesScope(ROLES.support, OPERATIONS[id].scope ?? 'operator'), id).toBe(true);
  });

  test('is recognized by its scopes in any order', () => {
    expect(roleOf([...ROLES.viewer].reverse())).toBe('viewer');
    expect(roleOf(KEY_SCOPES.filter((scope) => scope === 'operator' || !isOfOperators(scope)))).toBe('administrator');
    expect(roleOf([...ROLES.support, 'cards:write'])).toBeNull();
    expect(roleOf(['operator'])).toBeNull();
    expect(roleOf([])).toBeNull();
  });

  test('needs a key for all programs if it has operator scopes, while viewer works for any key', async () => {
    expect(await administrator.keys.create({ name: 'x', role: 'viewer', program_id })).toMatchObject({
      role: 'viewer',
    });
    const refused = await refusal(administrator.keys.create({ name: 'x', role: 'support', program_id }));
    expect(refused).toMatchObject({ Code: 'create_key_schema', field: '/role' });
    expect(refused.Message).toContain("The role 'support' contains 'operator:read'");
  });

  test('can be sent instead of scopes, and one of the two is required', async () => {
    const both = refusal(
      administrator.keys.create({ name: 'x', role: 'viewer', scopes: ['cards:read'], all_programs: true }),
    );
    expect(await both).toMatchObject({ Code: 'create_key_schema', field: '/role' });
    const neither = await refusal(administrator.keys.create({ name: 'x', all_programs: true }));
    expect(neither).toMatchObject({ Code: 'create_key_schema', field: '/scopes' });
    expect(neither.Message).toBe(
      "The required field 'scopes' is missing. Send it, or 'role' for the scopes of a role.",
    );
  });
});

describe('a key that creates keys', () => {
  test.each(OPERATOR_SCOPES)('cannot give %s without having it, or roll a key that has it', async (scope) => {
    const rest: KeyScope[] = ['keys:write', ...OPERATOR_SCOPES.filter((one) => one !== scope && one !== 'operator')];
    // A key with keys:write can give keys:write. `operator` is left out of `rest` because it includes the others.
    if (scope === 'keys:write') return;
    const own = await keyWith(rest);
    const victim = await keyWith([scope, 'transfers:read']);
    const before = (await administrator.keys.list({ limit: 5 })).data;
    const made = await refusal(as(own.key).keys.create({ name: 'x', scopes: [scope], all_programs: true }));
    expect(made).toMatchObject({ Code: 'forbidden', Status: 403 });
    expect(made.Message).toContain(`This key cannot create a key with '${scope}'`);
    const rolled = await refusal(as(own.key).keys.roll(victim.key_id));
    expect(rolled).toMatchObject({ Code: 'forbidden', Status: 403 });
    expect(rolled.Message).toContain(`This key cannot roll a key with '${scope}'`);
    // No key was created, and the victim's key was not rolled.
    expect((await administrator.keys.list({ limit: 5 })).data.map(({ key_id }) => key_id)).toEqual(
      before.map(({ key_id }) => key_id),
    );
    expect(before.find(({ key_id }) => key_id === victim.key_id)).toMatchObject({ replaced_by: null });
  });

  test('can give keys to card programs, but no operator role, if it has only keys:write', async () => {
    const own = as((await keyWith(['keys:write'])).key);
    expect(await own.keys.create({ name: 'shop', scopes: ['transfers:write'], program_id })).toMatchObject({
      program_id,
    });
    for (const role of ROLE_NAMES.filter((name) => name !== 'viewer'))
      expect(await refusal(own.keys.create({ name: 'x', role, all_programs: true }))).toMatchObject({
        Code: 'forbidden',
      });
  });

  test("does not get the secret of an administrator's key by rolling that key, even with a used idempotency key", async () => {
    const own = as((await keyWith(['keys:write', 'operator:read'])).key);
    const victim = await withSecret(
      administrator.keys.create({ name: 'boss', role: 'administrator', all_programs: true }),
    );
    const options = { idempotencyKey: 'roll-boss' };
    const rolled = await withSecret(administrator.keys.roll(victim.key_id, {}, options));
    // The response is either a replay without the secret or a refusal.
    const again = await own.keys.roll(victim.key_id, {}, options).catch((error: unknown) => error);
    expect(JSON.stringify(again)).not.toContain(rolled.key);
    expect(again instanceof RequestError || (again as { key: unknown }).key === null).toBe(true);
  });

  test('has every scope that its operator scope includes', async () => {
    const own = as((await keyWith(['operator'])).key);
    expect(
      await own.keys.create({ name: 'x', scopes: ['funding:write', 'operator'], all_programs: true }),
    ).toMatchObject({
      scopes: ['funding:write', 'operator'],
    });
  });
});
