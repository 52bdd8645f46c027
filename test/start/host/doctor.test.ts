import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfiguration } from '../../../server/foundation/configuration/configuration.ts';
import { examineDatabase } from '../../../server/host/commands/doctor.ts';
import { connect } from '../../harness/ledger.ts';
import { ledgerDirectory } from '../../harness/ledger-directory.ts';
import { runCommand, startService } from '../../harness/process.ts';
import { usePostgres } from '../../harness/use-ledger.ts';

const { directory, embedded, urlOf } = await usePostgres();

beforeAll(async () => {
  const client = await connect({ ...embedded.connection, user: 'postgres', database: 'postgres' });
  await client.query('create database examined');
  await client.query('create role nobody_special login');
  await client.end();
});

type Check = {
  readonly name: string;
  readonly outcome: string;
  readonly message: string;
  readonly runbook: string | null;
};

/**
 * Returns the checks of the host that `doctor` prints, by name. Nothing listens at the URL, which is a separate
 * problem.
 */
async function examine(settings: Readonly<Record<string, string>>, url = 'http://127.0.0.1:1024') {
  const { exitCode, output } = await runCommand(['doctor', '--host', '--json', '--url', url], settings);
  const { sections, problems } = JSON.parse(output) as {
    sections: { name: string; checks: Check[] }[];
    problems: number;
  };
  const host = sections.find(({ name }) => name.startsWith("The service's host"))?.checks ?? [];
  const all = sections.flatMap(({ checks }) => checks);
  return { exitCode, problems, all, found: new Map(host.map((check) => [check.name, check])) };
}

const live = (settings: Readonly<Record<string, string>> = {}) => ({
  MODE: 'live',
  PORT: '0',
  SUPPORT_CONTACT: 'help@bank.test',
  DATA_DIR: `${directory}/live`,
  DATABASE_URL: urlOf('postgres', 'examined'),
  ...settings,
});

test('doctor finds no problem in a running sandbox, and names its database, schema, port and directory', async () => {
  const { path, remove } = await ledgerDirectory();
  try {
    const service = await startService({ DATA_DIR: path });
    const { port } = new URL(service.url);
    const { exitCode, all, found } = await examine({ DATA_DIR: path, PORT: port }, service.url);
    expect(all.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
    expect(exitCode).toBe(0);
    expect(found.get('port')?.message).toContain(`process ${service.child.pid}`);
    expect(found.get('database')?.message).toMatch(/^the embedded PostgreSQL \d/);
    expect(found.get('schema')?.message).toContain('current');
    // Runs doctor in another data directory on the same machine. The service at the URL uses the port.
    const elsewhere = await examine({ DATA_DIR: join(path, 'other'), PORT: port }, service.url);
    expect(elsewhere.exitCode).toBe(0);
    expect(elsewhere.found.get('database')?.message).toBe('there is no ledger yet: the first start creates it');
    await service.stop();
    const stopped = await examine({ DATA_DIR: path, PORT: port });
    expect(stopped.found.get('port')).toMatchObject({ outcome: 'ok', message: `${port} is free` });
    expect(stopped.found.get('schema')).toMatchObject({ outcome: 'ok' });
  } finally {
    await remove();
  }
});

test('while a live service is being set up, doctor finds no schema, then no operator key, then only hints', async () => {
  const first = await examine(live());
  expect(first.found.get('schema')).toMatchObject({ outcome: 'problem', runbook: 'docs/runbook/ledger-missing.md' });
  await runCommand(['migrate'], live());
  const second = await examine(live());
  expect(second.found.get('schema')).toMatchObject({ outcome: 'ok' });
  expect(second.found.get('operator key')).toMatchObject({
    outcome: 'problem',
    runbook: 'docs/runbook/operator-key-missing.md',
  });
  await runCommand(['operator-key', 'create', '--name', 'first'], live());
  const { found } = await examine(live({ HOST: '0.0.0.0' }));
  expect(found.get('standby')).toEqual({
    name: 'standby',
    outcome: 'warning',
    message:
      'Acknowledged transfers can be lost with the primary. No synchronous standby is set: synchronous_standby_names is empty.',
    runbook: 'docs/runbook/standby-missing.md',
  });
  const required = await examine(live({ DATABASE_STANDBY: 'required' }));
  expect(required.found.get('standby')).toMatchObject({ outcome: 'problem' });
  expect(found.get('operator key')).toMatchObject({ outcome: 'ok' });
  expect(found.get('TLS')).toMatchObject({
    outcome: 'warning',
    message: expect.stringContaining('put a proxy with TLS'),
  });
  expect((await examine(live())).found.get('TLS')?.message).toContain('TRUSTED_PROXIES is 0');
  expect((await examine(live({ TRUSTED_PROXIES: '1' }))).found.get('TLS')).toMatchObject({ outcome: 'ok' });
});

test('doctor warns if requests need an approval but no one can approve them', async () => {
  const client = await connect({ ...embedded.connection, user: 'postgres', database: 'examined' });
  const settings = live();
  await runCommand(['migrate'], settings);
  await runCommand(['operator-key', 'create', '--name', 'of a person'], settings);
  // Runs in this process, because ten more processes would take half a minute.
  const approvals = async (more: Readonly<Record<string, string>> = {}) => {
    const checks = await examineDatabase(readConfiguration(live(more)), true);
    return checks.find(({ name }) => name === 'approvals');
  };
  expect(await approvals()).toBeUndefined();
  await client.query(
    `insert into approval_policy (rules, expires_after_hours, changed_at, changed_by)
      values ('[{"operation": "create_withdrawal"}]', 24, now(), 'host')`,
  );
  const noOne = {
    name: 'approvals',
    outcome: 'warning',
    message: expect.stringMatching(
      /^Requests need an approval \(the approval policy has a rule\), but there is no one who can approve them: .* remove$/,
    ),
    runbook: 'docs/runbook/approval-waiting.md',
  };
  // The operator key belongs to no person.
  expect(await approvals()).toEqual(noOne);
  const oidc = {
    ...{ PUBLIC_URL: 'https://cards.bank.test', OIDC_ISSUER: 'https://id.bank.test', OIDC_ROLES: 'ops=operator' },
    ...{ OIDC_CLIENT_ID: 'cards', OIDC_CLIENT_SECRET: 'secret' },
  };
  expect(await approvals(oidc)).toMatchObject({ outcome: 'ok', message: expect.stringContaining('can sign in') });
  await client.query(
    `with ada as (
        insert into person (person_id, issuer, subject, roles, first_seen_at, last_seen_at)
        values ('0196f5c2-d9a1-8b40-a5d2-c08e6f1b3a97', 'https://id.bank.test', 'ada', '{}', now(), now()) returning person_id
      ) update api_key set owner_id = person_id from ada where name = 'of a person'`,
  );
  expect(await approvals()).toMatchObject({ outcome: 'ok', message: expect.stringContaining('a person has a key') });
  for (const change of [
    `update person set blocked_at = now()`,
    `update person set blocked_at = null; update api_key set scopes = '{approvals:write,keys:write}'`,
    `update api_key set scopes = '{operator}', expires_at = now()`,
    `update api_key set expires_at = null, revoked_at = now()`,
  ]) {
    await client.query(change);
    expect(await approvals(), change).toEqual(noOne);
  }
  await client.query('update api_key set revoked_at = null; delete from approval_policy');
  await client.end();
});

describe('doctor reports, with the runbook page:', () => {
  test.each<[string, () => Record<string, string>, string, string, RegExp]>([
    ['an invalid setting', () => live({ PORT: 'http' }), 'settings', 'invalid-setting', /PORT/],
    [
      'a database that is not there',
      () => live({ DATABASE_URL: 'postgres://me@127.0.0.1:1/none' }),
      'database',
      'database-unreachable',
      /cannot be used/,
    ],
    [
      'a database that belongs to a different user',
      () => live({ DATABASE_URL: urlOf('nobody_special', 'examined') }),
      'ledger|schema|database',
      '',
      /./,
    ],
    [
      'a data directory that is a file',
      () => {
        writeFileSync(join(directory, 'file'), '');
        return live({ DATA_DIR: join(directory, 'file') });
      },
      'data directory',
      'data-directory-unusable',
      /cannot write/,
    ],
    [
      'backups that cannot be written',
      () => ({ DATA_DIR: `${directory}/none`, BACKUP_DIR: `${directory}/missing` }),
      'backups',
      'backup-directory-unusable',
      /BACKUP_DIR/,
    ],
  ])('%s', async (_, settings, name, page, message) => {
    const { exitCode, found } = await examine(settings());
    const [problem] = [...found.values()].filter(
      (check) => new RegExp(`^(${name})$`).test(check.name) && check.outcome === 'problem',
    );
    expect(problem?.message).toMatch(message);
    expect(problem?.runbook).toContain(`docs/runbook/${page}`);
    expect(exitCode).toBe(1);
  });

  test('a different application on the port, with its process but without its arguments, which could be secret', async () => {
    const code =
      "require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
    const child = spawn(process.execPath, ['-e', code, '--', '--key', 'ts_secret'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(child.stdout, 'data');
    const port = String(line).trim();
    const { found } = await examine({ DATA_DIR: `${directory}/none`, PORT: port });
    child.kill();
    expect(found.get('port')).toMatchObject({
      outcome: 'problem',
      message: expect.stringMatching(`^Port ${port} is used by process ${child.pid}: \\S+ Stop that process`),
      runbook: 'docs/runbook/port-unavailable.md',
    });
  });
});
