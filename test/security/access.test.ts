import { afterAll, describe, expect, test } from 'vitest';
import { KEY_SCOPES, type KeyScope, ROLES, scopesOf } from '../../contract/scope.ts';
import { fromWireId } from '../../domain/identifier.ts';
import type { Access } from '../../domain/people/access.ts';
import { signInPerson } from '../../server/subjects/sessions/sign-in-person.ts';
import { patientClient } from '../harness/client/patience.ts';
import { ledgerGateway, startHttpServer } from '../harness/http-server.ts';
import { withSecret } from '../harness/keys.ts';
import { useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const http = await startHttpServer(ledgerGateway(ledger, { mode: 'live', keyless: false }));
afterAll(() => http.server.close());

const url = `http://127.0.0.1:${http.port}`;
const { body } = await ledger.call('create_key', { name: 'first', all_programs: true, scopes: [...KEY_SCOPES] });
const first = JSON.parse(body) as { readonly key: string; readonly key_id: string };
const administrator = patientClient(url, first.key);
const { program_id: programId } = await administrator.programs.create({ name: 'Shop', currency: 'USD' });

const newKey = (...scopes: readonly KeyScope[]) =>
  withSecret(administrator.keys.create({ name: scopes.join(' '), scopes: [...scopes], all_programs: true }));
let people = 0;

async function newPerson(name: string, ...roles: readonly Access[]): Promise<string> {
  people += 1;
  await signInPerson(ledger.database, performance.now() + 20_000, {
    ...{ issuer: 'https://id.example.com', subject: `person ${people}`, name, email: null, roles },
    ...{ programId: null, scopes: scopesOf(roles), signedInAt: new Date(), providerSession: null },
  });
  return String((await administrator.people.list({ limit: 1 })).data[0]?.person_id);
}

const namesOf = async (query: NonNullable<Parameters<typeof administrator.access.list>[0]>) =>
  (await administrator.access.list({ limit: 100, ...query })).data.map(({ name }) => name);

describe('the list of who can do what', () => {
  test('shows a key and a person with their scopes, what they can do, and where', async () => {
    const { key_id } = await administrator.keys.create({
      name: 'shop',
      scopes: ['cards:write'],
      program_id: programId,
    });
    const person = await newPerson('Ada', { role: 'treasurer', programId: fromWireId('prog', programId) ?? '' });
    const [ada, shop] = (await administrator.access.list({ limit: 2 })).data;
    expect(ada).toEqual({
      holder_id: person,
      kind: 'person',
      person_id: person,
      name: 'Ada',
      program_id: programId,
      // A treasurer of one card program has no operator scope.
      roles: [`treasurer@${programId}`],
      scopes: ROLES.viewer,
      moves_money: false,
      abilities: ['read'],
      last_used_at: expect.any(String),
      expires_at: null,
    });
    expect(shop).toMatchObject({
      ...{ holder_id: key_id, kind: 'key', person_id: null, program_id: programId, roles: [], scopes: ['cards:write'] },
      // Closing a card can move its balance.
      ...{ moves_money: true, abilities: ['move_money', 'change_other'], last_used_at: null },
    });
  });

  test('filters by money and by scope, and operator includes the other scopes', async () => {
    await newKey('funding:write');
    await newKey('operator');
    await newKey('operator:read');
    await newPerson('Treasurer', { role: 'treasurer', programId: null });
    await newPerson('Viewer', { role: 'viewer', programId: null });
    expect(await namesOf({ scope: 'funding:write' })).toEqual(['Treasurer', 'operator', 'funding:write', 'first']);
    expect(await namesOf({ moves_money: true })).toEqual(['Treasurer', 'operator', 'funding:write', 'shop', 'first']);
    expect(await namesOf({ moves_money: false })).toEqual(['Viewer', 'operator:read', 'Ada']);
    expect(await namesOf({ moves_money: true, scope: 'cards:write' })).toEqual(['shop', 'first']);
    const keys = (await administrator.keys.list({ scope: 'funding:write' })).data.map(({ name }) => name);
    expect(keys).toEqual(['operator', 'funding:write', 'first']);
  });

  test('omits keys that no longer work and people who may not sign in', async () => {
    const { key_id } = await newKey('transfers:write');
    const person = await newPerson('Mallory', { role: 'operator', programId: null });
    const owned = { name: 'of Mallory', scopes: ['transfers:write' as const], all_programs: true, person_id: person };
    const { key_id: ownedId } = await administrator.keys.create(owned);
    expect((await administrator.access.list({ limit: 1 })).data).toMatchObject([
      { holder_id: ownedId, person_id: person },
    ]);
    const names = ['of Mallory', 'Mallory', 'transfers:write', 'first'];
    expect(await namesOf({ scope: 'transfers:write' })).toEqual(names);
    await administrator.keys.revoke(key_id);
    await administrator.people.block(person);
    expect(await namesOf({ scope: 'transfers:write' })).toEqual(['first']);
  });

  test('returns the same holders on pages of one and in the export', async () => {
    const all = (await administrator.access.list({ limit: 100, moves_money: true })).data;
    const paged: unknown[] = [];
    for await (const one of administrator.access.listAll({ limit: 1, moves_money: true })) paged.push(one);
    expect(paged).toEqual(all);
    let text = '';
    for await (const piece of await administrator.access.export({ moves_money: true })) text += piece;
    const [head = '', ...lines] = text.trimEnd().split('\r\n');
    expect(head.split(',')).toEqual(Object.keys(all[0] ?? {}));
    expect(lines.map((line) => line.split(',')[0])).toEqual(all.map(({ holder_id }) => holder_id));
  });
});
