import { type ChildProcess, spawn } from 'node:child_process';
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { OPERATIONS } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import { operatorKey as operatorKeyBody, programKey as programKeyBody, withSecret } from '../harness/keys.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import {
  embeddedServerOf,
  type ServiceProcess,
  startService,
  temporaryDirectory,
  waitFor,
} from '../harness/process.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { sampleRequest } from './sample.ts';
import { bytesOf, send } from './send.ts';

const PROJECT = new URL('../../', import.meta.url).pathname;

/**
 * The services that cause the codes: a sandbox, a live service on the same ledger, and a service with a missing file.
 */
export type World = {
  readonly sandbox: ServiceProcess;
  readonly dataDirectory: string;
  readonly ledger: LedgerReader;
  readonly live: ServiceProcess;
  readonly operatorKey: string;
  readonly programKey: string;
  /** A third process on the same ledger, whose copy of the files lacks `/openapi.json`. One test stops it. */
  readonly damaged: { readonly url: string; readonly child: ChildProcess; readonly output: () => string };
  /**
   * Two connections that were opened when the services started and have sent half a request. One lacks the body, and
   * the other lacks the end of the head.
   */
  readonly slow: { readonly body: RawConnection; readonly head: RawConnection };
  readonly end: () => Promise<void>;
};

/**
 * Reads and changes the ledger directly. Keeps one connection, and opens another if the database server was stopped in
 * the meantime.
 */
class LedgerReader {
  readonly #databaseUrl: string;
  #client: pg.Client | undefined;

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  /** Returns the number and the sum of all postings, which change if and only if money moves. */
  async postings(): Promise<unknown> {
    const client = this.#client ?? (await this.#connect());
    const { rows } = await client.query('select count(*), sum(amount) from posting');
    return rows;
  }

  /** Inserts a break of an attempt. Its processor reports that it has moved `stated` minor units. */
  async insertBreak(attemptId: string, stated: bigint): Promise<string> {
    const client = this.#client ?? (await this.#connect());
    const { rows } = await client.query(
      `insert into processor_break (break_id, kind, connector_id, program_id, attempt_id, transfer_id, amount, currency,
          expected, found, created_at, stated_amount)
        select gen_random_uuid(), 'contradiction', connector_id, program_id, attempt_id, transfer_id, amount, currency, 'approved',
          'approved of more', now(), $2 from processor_attempt where attempt_id = $1
        returning break_id`,
      [fromWireId('pat', attemptId), stated],
    );
    return toWireId('brk', rows[0].break_id);
  }

  /** Sets the incoming amount of an attempt's card in minor units, as open holds would. */
  async setIncoming(attemptId: string, incoming: bigint): Promise<void> {
    const client = this.#client ?? (await this.#connect());
    await client.query(
      `update account set incoming = $2 from processor_attempt join card using (program_id, card_id)
        where attempt_id = $1 and account.account_id = card.account_id`,
      [fromWireId('pat', attemptId), incoming],
    );
  }

  /**
   * Assigns a card to a processor that is not in the settings. This can happen because an operator can remove a
   * processor while its cards are unused.
   */
  async removeConnectorOf(card: string): Promise<void> {
    const client = this.#client ?? (await this.#connect());
    await client.query("update card set connector_id = 'removed' where name = $1", [card]);
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client(this.#databaseUrl);
    client.on('error', () => {
      this.#client = undefined;
    });
    await client.connect();
    this.#client = client;
    return client;
  }

  async close(): Promise<void> {
    await this.#client?.end();
  }
}

export async function startWorld(): Promise<World> {
  const directories = await Promise.all([ledgerDirectory(), temporaryDirectory(), temporaryDirectory()]);
  /** Functions that stop the started parts, in reverse order. They also run if the start fails. */
  const ends = directories.map(({ remove }): (() => Promise<unknown>) => remove);
  const end = async (): Promise<void> => {
    for (const endOne of ends) await endOne();
  };
  try {
    return { ...(await startAll(directories, (endOne) => void ends.unshift(endOne))), end };
  } catch (error) {
    await end();
    throw error;
  }
}

type Directory = Awaited<ReturnType<typeof temporaryDirectory>>;

async function startAll(
  [own, other, copy]: readonly [Directory, Directory, Directory],
  toEnd: (end: () => Promise<unknown>) => void,
): Promise<Omit<World, 'end'>> {
  // Only the cause of `operator_limit_exceeded` withdraws and reverses in this currency as an operator.
  const sandbox = await startService({ DATA_DIR: own.path, OPERATOR_DAILY_LIMITS: 'JPY 500' });
  toEnd(sandbox.stop);
  const { databaseUrl } = await embeddedServerOf(own.path);
  const ledger = new LedgerReader(databaseUrl);
  toEnd(() => ledger.close());
  const { key: operatorKey } = await withSecret(sandbox.client.keys.create(operatorKeyBody('operator of the test')));
  const { key: programKey } = await withSecret(sandbox.client.keys.create(programKeyBody('shop', DEMO_PROGRAM)));
  const shared = { DATABASE_URL: databaseUrl, DATA_DIR: other.path };
  const damaged = await startDamaged(copy.path, { ...shared, DATA_DIR: copy.path });
  toEnd(async () => damaged.child.kill('SIGKILL'));
  // A live service refuses a sandbox's ledger. Changing the ledger's mode keeps the sandbox's programs and keys.
  await passOffAs(databaseUrl, 'live');
  const live = await startService({ ...shared, MODE: 'live', SUPPORT_CONTACT: 'support@example.com' });
  toEnd(live.stop);
  await passOffAs(databaseUrl, 'sandbox');
  return {
    sandbox,
    dataDirectory: own.path,
    ledger,
    live,
    operatorKey,
    programKey,
    damaged,
    slow: await beginSlowly(live.url, programKey),
  };
}

/** Changes the mode of a ledger for services that start later. Running services are not affected. */
async function passOffAs(databaseUrl: string, mode: 'sandbox' | 'live'): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query('update ledger_mode set mode = $1', [mode]);
  await client.end();
}

/** Begins requests and never finishes them, so that the service must report them. */
async function beginSlowly(url: string, key: string): Promise<World['slow']> {
  const port = Number(new URL(url).port);
  const [body, head] = await Promise.all([RawConnection.open(port), RawConnection.open(port)]);
  const path = OPERATIONS.create_transfer.path;
  body.send(bytesOf(sampleRequest('request_timeout', { Authorization: `Bearer ${key}` })));
  head.send(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n`);
  return { body, head };
}

/** Longer time limits for the damaged service, because a slow machine needs more time. */
const UNHURRIED = [
  ['operationTimeoutMilliseconds: 5_000', 'operationTimeoutMilliseconds: 300_000'],
  ['maxDrainMilliseconds: 8_000', 'maxDrainMilliseconds: 300_000'],
] as const;

/** Starts a service from a copy of its files, with one file missing and with different time limits. */
async function startDamaged(
  directory: string,
  environment: Readonly<Record<string, string>>,
): Promise<World['damaged']> {
  for (const part of ['server', 'contract', 'domain', 'installation.mjs', 'package.json']) {
    await cp(join(PROJECT, part), join(directory, part), { recursive: true });
  }
  await symlink(join(PROJECT, 'node_modules'), join(directory, 'node_modules'));
  await rm(join(directory, 'contract/openapi.json'));
  const settings = join(directory, 'server/http/settings.ts');
  let source = await readFile(settings, 'utf8');
  for (const [limit, other] of UNHURRIED) {
    if (!source.includes(limit)) throw new Error(`${settings} has no ${limit}`);
    source = source.replace(limit, other);
  }
  await writeFile(settings, source);
  const child = spawn(process.execPath, [join(directory, 'server/main.ts')], {
    env: {
      PATH: process.env.PATH ?? '',
      PORT: '0',
      HOST: '127.0.0.1',
      // As in all tests, this service must not refuse requests because the machine is busy.
      OVERLOAD_DELAY_MILLISECONDS: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const address = (): string | undefined => /Ready at http:\/\/localhost(:\d+)/.exec(output)?.[1];
  await waitFor(`the damaged service\n${output}`, async () => address() !== undefined || child.exitCode !== null);
  if (address() === undefined) throw new Error(`the damaged service did not start:\n${output}`);
  return { url: `http://127.0.0.1${address()}`, child, output: () => output };
}

export async function stopDatabase(url: string): Promise<void> {
  const { status, body } = await send(url, { method: 'POST', path: OPERATIONS.stop_database.path });
  if (status !== 200) throw new Error(`the database was not stopped: ${body}`);
}

/** Starts the database server of a sandbox again. */
export async function startDatabase(url: string): Promise<void> {
  const { status, body } = await send(url, { method: 'POST', path: OPERATIONS.start_database.path });
  if (status !== 200) throw new Error(`the database was not started: ${body}`);
}
