import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { readHostList } from '../../server/store/connection/hosts/host-list.ts';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { connect } from '../harness/ledger.ts';
import { type CitusCluster, type CitusNode, startCluster } from '../harness/postgres/citus.ts';
import { SERVICE } from '../harness/postgres/postgres-server.ts';
import { CITUS_BINARIES, requireCitus } from '../harness/postgres/stock-postgres.ts';
import {
  runCommand,
  type ServiceProcess,
  type ServiceSettings,
  startInVain,
  startService,
  temporaryDirectory,
} from '../harness/process.ts';
import { expectBalancedBooks } from '../harness/service.ts';
import { usePostgres } from '../harness/use-ledger.ts';

const urlOf = (...nodes: readonly CitusNode[]): string =>
  `postgresql://${SERVICE}@/${SERVICE}?host=${nodes.map(({ connection }) => encodeURIComponent(connection.host)).join()}`;

const nameOf = ({ connection: { host, port } }: CitusNode): string => `${host}:${port}`;

describe('without Citus', async () => {
  const { directory, embedded, urlOf: urlOfEmbedded } = await usePostgres();
  beforeAll(() => migrate(embedded.connection));

  test('a database that has no Citus is refused', async () => {
    const { user, database } = embedded.connection;
    const { exitCode, errors } = await runCommand(['distribute'], { DATABASE_URL: urlOfEmbedded(user, database) });
    expect(exitCode).toBe(1);
    expect(errors).toContain(
      'This database has no Citus: a ledger is distributed from the coordinator of a Citus cluster.',
    );
    expect(errors).toContain('Nothing was changed.');
    expect(errors).toContain('docs/runbook/distribution-refused.md');
  });

  test('an embedded ledger is refused', async () => {
    const { exitCode, errors } = await runCommand(['distribute', '--undo'], { DATA_DIR: directory });
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('The embedded PostgreSQL has no Citus.')]);
  });
});

describe('on a Citus cluster', () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let cluster: CitusCluster;
  let service: ServiceProcess | undefined;
  let place: CitusNode | undefined;
  let settings: ServiceSettings;

  beforeEach(requireCitus);
  beforeAll(async () => {
    directory = await temporaryDirectory();
    if (CITUS_BINARIES === undefined) return;
    cluster = await startCluster(directory.path, CITUS_BINARIES, 2);
    settings = { DATA_DIR: join(directory.path, 'data') };
  });
  afterAll(async () => {
    await service?.stop();
    await cluster?.stop();
    await directory?.remove();
  });

  const distribute = (...words: readonly string[]) =>
    runCommand(['distribute', ...words], { ...settings, DATABASE_URL: urlOf(cluster.coordinator) });

  /** Starts a service on the tables, moves money and compares the books. */
  async function serve(databaseUrl: string): Promise<ServiceProcess> {
    const started = await startService({ ...settings, DATABASE_URL: databaseUrl });
    service = started;
    await moveMoney(started);
    return started;
  }

  async function moveMoney({ client }: ServiceProcess): Promise<void> {
    const card = await client.cards.create({ card_id: `card-${randomUUID()}` });
    await client.transfers.create({ type: 'load', amount: 500, card_id: card.card_id });
    const listed = await client.transfers.list({ card_id: card.card_id });
    expect(listed.data.map(({ amount }) => amount)).toEqual([500]);
  }

  async function stop(): Promise<void> {
    await service?.stop();
    service = undefined;
  }

  test('a filled ledger is distributed with its books and audit log, but only while no service uses it', async () => {
    settings = { ...settings, DATABASE_SCHEMA: 'public' };
    const { client } = await serve(urlOf(cluster.coordinator));
    // Adds a card program's row to the table of the switch, which every role reads.
    const off = { program_id: DEMO_PROGRAM, type: 'card_to_card', disabled: true, reason: 'a test' } as const;
    await client.switch.change(off);
    const early = await distribute();
    expect([early.exitCode, early.errors]).toEqual([
      1,
      expect.stringMatching(/A service has \d+ connections .* stop it/),
    ]);
    await stop();
    const { exitCode, output, errors } = await distribute();
    expect([exitCode, errors]).toEqual([0, '']);
    expect(output).toMatch(/^The tables of the schema transfer_service are on \S+worker-\d\S*:5432\.$/m);
    expect(output).toContain('The books balance, and the audit log is intact');
    const address = /^Start the service with DATABASE_URL='(\S+)' and DATABASE_SCHEMA=transfer_service\.$/m.exec(
      output,
    )?.[1];
    expect(readHostList(address ?? '')).toMatchObject({
      urls: [expect.any(String), expect.any(String)],
      mustWrite: true,
    });
    settings = { ...settings, DATABASE_SCHEMA: 'transfer_service' };
  });

  test('a service whose DATABASE_URL names only the coordinator does not start', async () => {
    const alone = await startInVain({ ...settings, DATABASE_URL: urlOf(cluster.coordinator) });
    expect(alone.errors).toContain('are on another node of the Citus cluster. Name all workers in DATABASE_URL');
  });

  test('new migrations are refused', async () => {
    const client = await connect({ ...cluster.coordinator.connection, options: '-c search_path=transfer_service' });
    try {
      const { rows } = await client.query<{ name: string; checksum: string; needs: string }>(
        'select name, checksum, needs from schema_migration order by name desc limit 1',
      );
      const [{ name, checksum, needs } = { name: '', checksum: '', needs: '' }] = rows;
      await client.query('delete from schema_migration where name = $1', [name]);
      const { exitCode, errors } = await runCommand(['migrate'], {
        ...settings,
        DATABASE_URL: urlOf(...cluster.workers),
      });
      expect([exitCode, errors]).toEqual([1, expect.stringContaining('This version has new migrations, which cannot')]);
      const insert = 'insert into schema_migration (name, checksum, needs) values ($1, $2, $3)';
      await client.query(insert, [name, checksum, needs]);
    } finally {
      await client.end();
    }
  });

  test('a second distribution is refused', async () => {
    const { exitCode, errors } = await distribute();
    expect([exitCode, errors]).toEqual([
      1,
      expect.stringContaining('The schema transfer_service is already distributed.'),
    ]);
  });

  test('a worker is refused as the coordinator', async () => {
    const [worker] = cluster.workers;
    const at = { ...settings, DATABASE_URL: worker === undefined ? '' : urlOf(worker) };
    const { exitCode, errors } = await runCommand(['distribute', '--move', 'worker2:5432'], at);
    expect([exitCode, errors]).toEqual([1, expect.stringContaining('not the coordinator of the Citus cluster')]);
  });

  test('a service uses the workers, and follows the tables when they are moved', async () => {
    // The service also works without the coordinator.
    await cluster.coordinator.server.end('SIGQUIT');
    const started = await serve(urlOf(...cluster.workers));
    await cluster.coordinator.server.start();
    const first = (await started.client.status.get()).database.host;
    const places = cluster.workers.map(nameOf);
    const target = cluster.workers.find((worker) => nameOf(worker) !== first);
    if (target === undefined) throw new Error(`both workers are ${first}`);
    const other = nameOf(target);
    const unknown = await distribute('--move', 'worker9:5432');
    expect([unknown.exitCode, unknown.errors]).toEqual([
      1,
      expect.stringContaining(`no worker worker9:5432. Its workers are ${places.toSorted().join(', ')}.`),
    ]);
    const nonsense = await distribute('--move', 'worker2');
    expect([nonsense.exitCode, nonsense.errors]).toEqual([1, expect.stringContaining('such as worker2:5432')]);
    const { exitCode, output, errors } = await distribute('--move', other);
    expect([exitCode, errors]).toEqual([0, '']);
    expect(output).toContain(`The tables of the schema transfer_service are on ${other}.`);
    await moveMoney(started);
    expect((await started.client.status.get()).database.host).toBe(other);
    await expectBalancedBooks(started);
    await stop();
    place = target;
  });

  test('a card program sees no rows of other programs on a worker', async () => {
    const client = await connect({ ...place?.connection, options: '-c search_path=transfer_service' });
    try {
      const seen = async (programs: string) => {
        await client.query(
          `begin; set local role transfer_service_application; set local service.programs = '${programs}'`,
        );
        const { rows } = await client.query<{ count: number }>('select count(*)::int as count from transfer');
        await client.query('rollback');
        return rows[0]?.count;
      };
      const { rows } = await client.query<{ id: string }>('select program_id as id from program limit 1');
      expect(await seen(`{${randomUUID()}}`)).toBe(0);
      expect(await seen(`{${rows[0]?.id}}`)).toBeGreaterThan(1);
    } finally {
      await client.end();
    }
  });

  test('the tables can be moved back to the coordinator, in the form in which the migrations created them', async () => {
    const undone = await distribute('--undo');
    expect([undone.exitCode, undone.errors]).toEqual([0, '']);
    const started = await serve(urlOf(cluster.coordinator));
    await expectBalancedBooks(started);
    await stop();
    const client = await connect(cluster.coordinator.connection);
    try {
      const { rows } = await client.query<{ qual: string; forced: boolean }>(
        `select distinct qual, relforcerowsecurity as forced from pg_policies join pg_class on relname = tablename
          where schemaname = 'transfer_service' and tablename = 'transfer' and policyname = 'own_programs'
            and relnamespace = 'transfer_service'::regnamespace`,
      );
      expect(rows).toEqual([{ qual: expect.stringContaining('( SELECT'), forced: true }]);
      const functions = "select from pg_proc where proname in ('require_place', 'identify_rows')";
      expect((await client.query(functions)).rowCount).toBe(0);
    } finally {
      await client.end();
    }
  });
});
