import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { AuditPortion } from '../../contract/audit.ts';
import { verifyAudit, verifyPortion } from '../../server/subjects/audit/verify-audit.ts';
import { operatorKey } from '../harness/keys.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';
import { operate } from './audited-actions.ts';

// Tests that verify_audit verifies the hash chain in portions through the API. audit.test.ts tests the findings of a
// verification.

const server = await useServer();
const ledger = useLedger(server.connection);
const intruder = await useConnection({ ...server.connection, user: 'postgres' });

beforeAll(async () => {
  for (let index = 0; index < 20; index += 1) await operate(ledger, 'create_key', operatorKey(`key ${index}`));
});

async function portionsOf(count: number): Promise<readonly AuditPortion[]> {
  const portions: AuditPortion[] = [];
  for (let after: number | null = 0; after !== null; after = portions.at(-1)?.next_after ?? null) {
    portions.push(await verifyPortion(ledger.database, after, count));
  }
  return portions;
}

const verify = async (after?: number): Promise<AuditPortion> =>
  JSON.parse((await ledger.call('verify_audit', after === undefined ? {} : { after })).body);

test('verifies each entry of an intact log once, up to the head, in portions of any size', async () => {
  const { entries, position, head } = await verifyAudit(ledger.database);
  for (const count of [1, 2, 7, entries - 1, entries, entries + 1]) {
    const portions = await portionsOf(count);
    expect(portions.every(({ intact }) => intact)).toBe(true);
    expect(portions.reduce((sum, { verified }) => sum + verified, 0)).toBe(entries);
    const last = portions.at(-1);
    expect(last).toMatchObject({
      position: Number(position),
      hash: head,
      head: { position: Number(position), hash: head },
    });
  }
});

test('verifies a short log in one request, and continues after any entry', async () => {
  const whole = await verify();
  expect(whole).toMatchObject({ intact: true, next_after: null, first_broken: null });
  expect(await verify(whole.position)).toEqual({ ...whole, verified: 0 });
  expect(await verify(whole.position - 3)).toEqual({ ...whole, verified: 3 });
});

test('refuses a position after the last entry', async () => {
  const { position } = await verify();
  await expect(verify(position + 1)).rejects.toMatchObject({
    code: 'verify_audit_schema',
    message: `'after' is ${position + 1}, but the last entry of the audit log is entry ${position}.`,
    details: { field: '/after' },
  });
});

describe('a change by a superuser is found at its position, in portions of any size', () => {
  beforeAll(async () => {
    await intruder.query('create table kept_entry as table audit_entry; create table kept_head as table audit_head');
    await intruder.query("set session_replication_role = 'replica'");
  });
  afterEach(async () => {
    await intruder.query(`truncate audit_entry, audit_head; insert into audit_entry table kept_entry;
      insert into audit_head (singleton, position, hash) select singleton, position, hash from kept_head`);
    expect((await verifyAudit(ledger.database)).problems).toEqual([]);
  });

  test.each([
    ['an entry changed', "update audit_entry set actor = 'nobody' where position = 6", 6, /^Entry 6 .* was changed/],
    ['an entry removed', 'delete from audit_entry where position = 6', 6, /^Entry 6 is missing\.$/],
    ['entries removed', 'delete from audit_entry where position between 5 and 9', 5, /^Entries 5 to 9 are missing\.$/],
    ['the first entry removed', 'delete from audit_entry where position = 1', 1, /^Entry 1 is missing\.$/],
    [
      'an entry replaced, with a correct hash',
      `update audit_entry set previous_hash = sha256('x'), hash = sha256(sha256('x') || convert_to(
        audit_member(position::text) || audit_member(entry_id::text)
        || audit_member((extract(epoch from created_at) * 1000000)::bigint::text) || audit_member(actor)
        || audit_member(action) || audit_member(program_id::text) || audit_member(subject_id)
        || audit_member(request_id::text) || audit_member(details), 'UTF8')) where position = 6`,
      6,
      /^Entry 6 .* does not follow the entry before it/,
    ],
    ['the head removed', 'delete from audit_head', undefined, /^The head of the log is missing/],
  ])('%s', async (_name, statement, position, message) => {
    await intruder.query(statement);
    for (const count of [1, 2, 3, 4, 1000]) {
      const broken = (await portionsOf(count)).find(({ intact }) => !intact)?.first_broken;
      // If the change is at the border between two portions, a missing entry is noticed only in the second one. The
      // verification then finds the gap in two steps.
      if (count === 1000) expect(broken?.message).toMatch(message);
      if (position !== undefined) expect(broken?.position).toBe(position);
      expect(broken).toBeDefined();
    }
  });
});
