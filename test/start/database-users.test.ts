import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../../server/store/embedded.ts';
import { sendRaw } from '../api/raw-request.ts';
import { connect } from '../harness/ledger.ts';
import { runCommand, startInVain, startService, temporaryDirectory } from '../harness/process.ts';

// A PostgreSQL of the operator's own: who may make the schema, and who may only work with it.

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let embedded: Awaited<ReturnType<typeof startEmbeddedPostgres>>;
let superuser: pg.Client;

beforeAll(async () => {
  directory = await temporaryDirectory();
  embedded = await startEmbeddedPostgres({ dataDirectory: directory.path });
  superuser = await connect({ ...embedded.connection, user: 'postgres', database: 'postgres' });
  for (const user of ['maker', 'clerk', 'stranger']) await superuser.query(`create role ${user} login`);
});
afterAll(async () => {
  await superuser.end();
  await embedded.stop();
  await directory.remove();
});

function settingsOf(user: string, database: string) {
  const { host, port } = embedded.connection;
  const DATABASE_URL = `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
  return { DATABASE_URL, DATA_DIR: `${directory.path}/${user}` };
}

const ROLES = 'transfer_service_application, transfer_service_background, transfer_service_authentication';

describe('a database of which the service is not the owner', () => {
  test('roles that its user may not make are asked for, with the statements that make them', async () => {
    await superuser.query('create database ledger owner maker');
    const ending = await runCommand(['migrate'], settingsOf('maker', 'ledger'));
    expect(ending).toMatchObject({ exitCode: 1, output: '' });
    expect(ending.errors).toMatch(/^The schema cannot be brought up to date: the user maker [^\n]+\n$/);
    const [statements = ''] = /CREATE ROLE .*;/.exec(ending.errors) ?? [];
    expect(statements).toContain(`GRANT ${ROLES} TO maker;`);
    await superuser.query(statements);
    expect(await runCommand(['migrate'], settingsOf('maker', 'ledger'))).toMatchObject({ exitCode: 0 });
  });

  test('a user that is no member of the roles gets one sentence that says what to grant', async () => {
    const ending = await startInVain(settingsOf('stranger', 'ledger'));
    expect(ending.exitCode).toBe(1);
    expect(ending.errors).toMatch(/^\nThe service does not start: The user of DATABASE_URL may not act [^\n]+\n$/);
    expect(ending.errors).toContain(`GRANT ${ROLES} TO`);
  });

  test('a user that is a member of them, and owns nothing, is enough to do all the work', async () => {
    await superuser.query(`grant ${ROLES} to clerk`);
    const service = await startService(settingsOf('clerk', 'ledger'));
    try {
      const headers = { 'Idempotency-Key': randomUUID() };
      const { status } = await sendRaw(service.url, { body: { amount: 5, card_id: 'card_active' }, headers });
      expect(status).toBe(201);
      expect((await service.client.cards.get('card_active')).balance).toBe(25_005);
      expect(await service.client.trialBalance.get()).toMatchObject({ balanced: true });
    } finally {
      expect(await service.stop()).toBe(0);
    }
    expect(service.errors()).not.toMatch(/"level":[45]0/);
  });

  test('a user that owns nothing cannot bring the schema up to date, and is told so', async () => {
    await superuser.query('create database behind owner maker');
    const ending = await runCommand(['migrate'], settingsOf('clerk', 'behind'));
    expect(ending.exitCode).toBe(1);
    expect(ending.errors).toContain('permission denied');
    expect(ending.errors).not.toMatch(/\n\s+at /);
  });
});
