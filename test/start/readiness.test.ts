import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { READINESS, READINESS_REASONS } from '../../domain/service-status.ts';
import { patiently } from '../harness/client/patience.ts';
import { connect } from '../harness/ledger.ts';
import { embeddedServerOf, waitFor } from '../harness/process.ts';
import { useOwnService } from '../harness/service.ts';
import { readinessOf, untilReadinessIs } from './readiness-response.ts';

// Tests the readiness states of a service with its embedded server, each with a real cause. test/faults tests states
// with other databases: a standby, and too few connections.

const service = useOwnService("It kills the service's PostgreSQL.");
const files = (): string => join(service().directory, 'postgresql');
const isLive = async (): Promise<boolean> => (await fetch(`${service().url}/health/live`)).status === 200;

async function killServer(): Promise<void> {
  const { processId } = await embeddedServerOf(service().directory);
  process.kill(processId, 'SIGKILL');
}

/** Returns the readiness changes that the log contains so far. */
function changes(): readonly Record<string, unknown>[] {
  const lines = service().output().split('\n');
  return lines.filter((line) => line.includes('"event":"readiness"')).map((line) => JSON.parse(line));
}

/** Leaves out changes to and from `database_silent`: on a slow machine, the database may not respond for a moment. */
function withoutSilence(all: readonly Record<string, unknown>[]): readonly Record<string, unknown>[] {
  const kept: Record<string, unknown>[] = [];
  let last: unknown = 'ready';
  for (const change of all) {
    if (change.reason === 'database_silent') continue;
    const before = change.before === 'database_silent' ? last : change.before;
    if (change.before === 'database_silent' && change.reason === last) continue;
    kept.push({ ...change, before });
    last = change.reason;
  }
  return kept;
}

test('every state has a sentence, and every state except ready says when to ask again', () => {
  for (const reason of READINESS_REASONS) {
    const { isReady, sentence, retryAfterSeconds } = READINESS[reason];
    expect(sentence).toMatch(/^The |^Every /);
    expect(sentence.endsWith('.')).toBe(true);
    expect(retryAfterSeconds > 0).toBe(!isReady);
  }
});

test('the service is ready if it can commit', async () => {
  expect(await untilReadinessIs(service().url, 'ready')).toEqual({
    status: 200,
    reason: 'ready',
    runbook: null,
    retryAfter: null,
    body: { status: 'ready' },
  });
});

test('a stopped database is reported, and the service is ready again once the database starts', async () => {
  await service().client.sandbox.stopDatabase();
  expect(await untilReadinessIs(service().url, 'database_stopped')).toEqual({
    status: 503,
    reason: 'database_stopped',
    runbook: 'docs/runbook/database-stopped.md',
    retryAfter: '10',
    body: {
      Message: expect.stringMatching(/^The database of the sandbox was stopped with stop_database\. /),
      Status: 503,
      Code: 'service_unavailable',
      Type: 'Server Error',
    },
  });
  expect(await isLive()).toBe(true);
  await service().client.sandbox.startDatabase();
  await untilReadinessIs(service().url, 'ready');
});

test('each change is logged once with its page, even if many callers ask', async () => {
  // Changes from previous tests may not be logged yet.
  await waitFor('earlier changes', async () => (changes().at(-1)?.reason ?? 'ready') === 'ready');
  const before = changes().length;
  const found = () => withoutSilence(changes().slice(before));
  await service().client.sandbox.stopDatabase();
  await untilReadinessIs(service().url, 'database_stopped');
  await Promise.all(Array.from({ length: 20 }, () => readinessOf(service().url)));
  await service().client.sandbox.startDatabase();
  await untilReadinessIs(service().url, 'ready');
  await waitFor('the changes', async () => found().at(-1)?.reason === 'ready');
  const all = found();
  expect(all.filter(({ reason }) => reason === 'database_stopped')).toMatchObject([
    { level: 50, runbook: 'docs/runbook/database-stopped.md', msg: READINESS.database_stopped.sentence },
  ]);
  expect(all.filter(({ reason }) => reason === 'ready')).toMatchObject([{ level: 30 }]);
  for (const [index, { reason, before: last }] of all.entries()) {
    expect(reason).not.toBe(last);
    if (index > 0) expect(last).toBe(all[index - 1]?.reason);
  }
});

test('a hanging database is reported as silent, while the service stays alive', async () => {
  const { processId } = await embeddedServerOf(service().directory);
  // Nothing accepts a new connection, and no open connection responds. The main process stops first and continues last,
  // so that no new child starts and no child's id is reused.
  process.kill(processId, 'SIGSTOP');
  const status = () => readFile(`/proc/${processId}/stat`, 'utf8');
  await waitFor('the main process to be stopped', async () => / T /.test(await status()));
  const read = await readFile(`/proc/${processId}/task/${processId}/children`, 'utf8');
  const children = read.trim().split(' ').filter(Boolean).map(Number);
  for (const child of children) process.kill(child, 'SIGSTOP');
  try {
    const silent = await untilReadinessIs(service().url, 'database_silent');
    expect(silent).toMatchObject({ status: 503, retryAfter: '1', runbook: 'docs/runbook/database-silent.md' });
    expect(await isLive()).toBe(true);
  } finally {
    for (const one of [...children, processId]) process.kill(one, 'SIGCONT');
  }
  await untilReadinessIs(service().url, 'ready');
});

test('a recovering database is reported as starting', async () => {
  const hold = join(files(), 'hold');
  await writeFile(hold, '');
  await writeFile(join(files(), 'recovery.signal'), '');
  const superuser = await connect({ ...(await addressOf()), user: 'postgres' });
  await superuser.query(`alter system set restore_command = 'while test -e hold; do sleep 0.05; done; false'`);
  await superuser.end();
  await killServer();
  try {
    const starting = await untilReadinessIs(service().url, 'database_starting');
    expect(starting).toMatchObject({ status: 503, retryAfter: '1', runbook: 'docs/runbook/database-starting.md' });
  } finally {
    await rm(hold);
  }
  await untilReadinessIs(service().url, 'ready');
});

test('a database that cannot be started is reported as failed', async () => {
  const control = join(files(), 'global', 'pg_control');
  await rename(control, `${control}.away`);
  await killServer();
  const failed = await untilReadinessIs(service().url, 'database_failed');
  expect(failed).toMatchObject({ status: 503, retryAfter: '10', runbook: 'docs/runbook/embedded-postgres-failed.md' });
  await rename(`${control}.away`, control);
  await untilReadinessIs(service().url, 'ready');
});

test('a full disk is reported until a commit succeeds', async () => {
  const superuser = await connect({ ...(await addressOf()), user: 'postgres' });
  try {
    await superuser.query(`create function refuse() returns trigger language plpgsql as $$ begin
      raise exception 'could not extend file "base/1/2": No space left on device' using errcode = 'disk_full'; end $$`);
    // The trigger refuses every commit, including the commit of the event about this error. The first successful commit
    // ends the state.
    await superuser.query('create trigger full_disk before insert on write_batch execute function refuse()');
    // The service remembers a failed commit for a few seconds. A slow machine may need longer to ask for readiness.
    let found = await readinessOf(service().url);
    await waitFor('readiness disk_full', async () => {
      const create = patiently(() => service().client.cards.create({}));
      expect(await create.catch(({ Status }) => Status)).toBe(500);
      found = await readinessOf(service().url);
      return found.reason === 'disk_full';
    });
    expect(found).toMatchObject({
      status: 503,
      reason: 'disk_full',
      runbook: 'docs/runbook/disk-full.md',
    });
    await superuser.query('drop trigger full_disk on write_batch');
  } finally {
    await superuser.end();
  }
  await patiently(() => service().client.cards.create({}));
  await untilReadinessIs(service().url, 'ready');
});

describe('the schema', () => {
  /** Changes the recorded migrations, runs `inForce`, and undoes the change. */
  const withHistory = async (change: string, undo: string, inForce: () => Promise<void>): Promise<void> => {
    const superuser = await connect({ ...(await addressOf()), user: 'postgres' });
    try {
      await superuser.query(change);
      await inForce().finally(() => superuser.query(undo));
    } finally {
      await superuser.end();
    }
    await untilReadinessIs(service().url, 'ready');
  };
  const insert = (needs: string): string =>
    `insert into schema_migration (name, checksum, needs) values ('9001_next.sql', 'x', '${needs}')`;
  const remove = `delete from schema_migration where name = '9001_next.sql'`;

  test('of an older version makes the service not ready', async () => {
    const last = `name = '0018_webhooks.sql'`;
    const keep = `create table kept as select * from schema_migration where ${last}`;
    await withHistory(
      `${keep}; delete from schema_migration where ${last}`,
      'insert into schema_migration select * from kept; drop table kept',
      async () => {
        const runbook = 'docs/runbook/schema-behind.md';
        expect(await untilReadinessIs(service().url, 'schema_older')).toMatchObject({ status: 503, runbook });
      },
    );
  });

  test('that is newer but usable by this version leaves the service ready, and the response reports it', async () => {
    await withHistory(insert('0018'), remove, async () => {
      expect(await untilReadinessIs(service().url, 'schema_newer')).toMatchObject({
        status: 200,
        runbook: 'docs/runbook/schema-newer.md',
        body: { status: 'ready', degraded: 'schema_newer' },
      });
    });
  });

  test('that is newer and not usable by this version makes the service not ready', async () => {
    await withHistory(insert('9000'), remove, async () => {
      const runbook = 'docs/runbook/schema-too-new.md';
      expect(await untilReadinessIs(service().url, 'schema_too_new')).toMatchObject({ status: 503, runbook });
    });
  });
});

async function addressOf(): Promise<{ host: string; port: number; user: string; database: string }> {
  const { databaseUrl } = await embeddedServerOf(service().directory);
  const { searchParams, pathname, username } = new URL(databaseUrl.replace('@/', '@localhost/'));
  return {
    host: searchParams.get('host') ?? '',
    port: Number(searchParams.get('port')),
    user: username,
    database: pathname.slice(1),
  };
}
