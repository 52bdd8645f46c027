import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { fromWireId } from '../../domain/identifier.ts';
import { OperationFailure } from '../../server/calls/call.ts';
import { readAuditChain, toAuditEntry } from '../../server/store/audit.ts';
import { openRefusedCredentials } from '../../server/subjects/audit/audit.ts';
import { verifyAudit } from '../../server/subjects/audit/verify-audit.ts';
import { openAuthentication, openKeyUses } from '../../server/subjects/keys/authenticate.ts';
import { operatorKey } from '../harness/keys.ts';
import { openLedger } from '../harness/ledger.ts';
import { useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer({ apart: 'It stops PostgreSQL.' });
const ledger = useLedger(server.connection);

const wait = (time_ms: number) => new Promise((done) => setTimeout(done, time_ms));
const newKey = async () =>
  JSON.parse((await ledger.call('create_key', operatorKey('of the test'))).body) as { key: string; key_id: string };
const revoke = (key_id: string) => ledger.call('revoke_key', {}, { params: { key_id } });

test('a late database response lets no request in more than a second after the revocation', async () => {
  const { key, key_id } = await newKey();
  const slow = openLedger(server.connection);
  const read = slow.database.read.bind(slow.database);
  const found = Promise.withResolvers<void>();
  slow.database.read = async (statement) => {
    const rows = await read(statement);
    found.resolve();
    await wait(1500);
    return rows;
  };
  const authenticate = openAuthentication(slow.database);
  const early = authenticate(key);
  const sharing = authenticate(key);
  // The database has read the key before the revocation, but its response has not arrived yet.
  await found.promise;
  await revoke(key_id);
  await wait(1000);
  const late = authenticate(key);
  // Only requests from before the revocation may succeed.
  await expect(early).resolves.toMatchObject({ kind: 'operator_key' });
  await expect(sharing).resolves.toMatchObject({ kind: 'operator_key' });
  await expect(late).rejects.toMatchObject({ code: 'unauthenticated', message: expect.stringContaining('revoked') });
  await expect(authenticate(key)).rejects.toMatchObject({ code: 'unauthenticated' });
  await slow.close();
});

test('keys that are sent together are looked up with one statement, and each gets a separate result', async () => {
  const [first, second] = [await newKey(), await newKey()];
  const [prefix, publicPart, rest = ''] = second.key.split('_');
  const guessed = `${publicPart}_${rest.slice(0, 63)}${rest[63] === '0' ? '1' : '0'}`;
  const guess = `${prefix}_${guessed}${crc32(guessed).toString(16).padStart(8, '0')}`;
  const counting = openLedger(server.connection);
  const read = counting.database.read.bind(counting.database);
  const names: (string | undefined)[] = [];
  counting.database.read = (statement) => {
    names.push(statement.name);
    return read(statement);
  };
  const authenticate = openAuthentication(counting.database);
  const results = [first.key, guess, second.key, first.key].map((key) => authenticate(key));
  const [found, refused, foundToo, foundAgain] = await Promise.allSettled(results);
  const withId = (key_id: string) => ({ value: { keyId: fromWireId('key', key_id) } });
  expect([found, foundToo, foundAgain]).toMatchObject([
    withId(first.key_id),
    withId(second.key_id),
    withId(first.key_id),
  ]);
  expect(refused).toMatchObject({ reason: { code: 'unauthenticated', message: expect.stringContaining('unknown') } });
  expect(names).toEqual(['find_keys']);
  // Without a database, each request fails, and no look-up keeps waiting.
  const others = [await newKey(), await newKey()];
  await counting.close();
  const failed = await Promise.allSettled(others.map(({ key }) => authenticate(key)));
  expect(failed).toMatchObject(others.map(() => ({ reason: expect.any(OperationFailure) })));
});

describe('refused credentials', () => {
  const written = async (after: number) =>
    (await ledger.database.read(readAuditChain(BigInt(after + 1), 1000))).map(toAuditEntry);
  const chainLength = async () => (await verifyAudit(ledger.database)).entries;
  const refusalsOf = () => openRefusedCredentials(ledger.database, () => new Date());

  test('make only a few rows for a hundred thousand addresses, and each refusal counts', async () => {
    const before = await chainLength();
    const refusals = refusalsOf();
    for (let at = 0; at < 100_000; at += 1) {
      refusals.note({ address: `10.0.${at >> 8}.${at & 255}`, sent: `Bearer guess ${at}`, reason: 'mistyped' });
    }
    await refusals.write();
    const rows = await written(before);
    expect(rows.length).toBe(21);
    const sums = rows.map(({ details }) => JSON.parse(details) as { address: string | null; count: number });
    expect(sums.reduce((sum, { count }) => sum + count, 0)).toBe(100_000);
    expect(sums.filter(({ address }) => address === null)).toEqual([expect.objectContaining({ count: 99_980 })]);
    expect(JSON.stringify(sums)).not.toContain('guess');
    await refusals.write();
    expect((await written(before)).length).toBe(21);
    expect((await verifyAudit(ledger.database)).problems).toEqual([]);
  });

  test('are all written after a database outage', async () => {
    const before = await chainLength();
    const refusals = refusalsOf();
    const note = (count: number) => {
      for (let at = 0; at < count; at += 1) refusals.note({ address: '10.0.0.1', sent: 'x', reason: 'unknown' });
    };
    note(3);
    await server.embedded.pause();
    await expect(refusals.write()).rejects.toThrow();
    note(2);
    await server.embedded.resume();
    await refusals.write();
    const rows = await written(before);
    expect(rows.map(({ details }) => JSON.parse(details).count)).toEqual([5]);
  });
});

test('the last use of a key is written after a database outage, and at most once a minute', async () => {
  const { key_id } = await newKey();
  const keyId = key_id.slice('key_'.length).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const lastUse = async () => {
    const { data } = JSON.parse((await ledger.call('list_keys', { limit: 100 })).body);
    return data.find((key: { key_id: string }) => key.key_id === key_id).last_used_at as string | null;
  };
  const [uses, others] = [openKeyUses(ledger.database), openKeyUses(ledger.database)];
  uses.note(keyId);
  await server.embedded.pause();
  await expect(uses.write()).rejects.toThrow();
  await server.embedded.resume();
  await uses.write();
  const noted = await lastUse();
  expect(noted).not.toBeNull();
  for (const process of [uses, others]) {
    process.note(keyId);
    await process.write();
  }
  expect(await lastUse()).toBe(noted);
});
