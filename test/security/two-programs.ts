import { randomUUIDv7 } from 'node:crypto';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import type { Database } from '../../server/store/connection/database.ts';
import { ledgerGateway, startHttpServer } from '../harness/http-server.ts';
import { programKey } from '../harness/keys.ts';
import {
  connect,
  type Ledger,
  openLedger,
  type TestServer as Postgres,
  startServer as startPostgres,
} from '../harness/ledger.ts';
import { type RawRequest, type RawResponse, sendRaw } from '../harness/raw-request.ts';
import { relayOnce } from '../store/events/relayed.ts';

/** The ids of everything that a card program has, by their names in the API. */
export type ProgramData = {
  readonly program: string;
  readonly card: string;
  /** A card with an id that the program chose. */
  readonly namedCard: string;
  readonly transfer: string;
  readonly hold: string;
  readonly scheduled: string;
  readonly reversal: string;
  readonly error: string;
  /** The requests that created the transfer, the reversal, and the card with a chosen id. */
  readonly transferRequest: string;
  readonly reversalRequest: string;
  readonly cardRequest: string;
  readonly event: string;
  readonly key: string;
  readonly webhook: string;
  readonly session: string;
  readonly case: string;
  readonly incident: string;
  readonly reference: string;
  /** The idempotency key of every request that takes one. */
  readonly idempotencyKey: string;
  /** The cursor of the second page of each list. */
  readonly cursors: Readonly<Record<Cursor, string>>;
};

/** The lists whose cursors contain ids. Statements are left out, because their cursors contain only line numbers. */
type Cursor = 'transfers' | 'cards' | 'reversals' | 'errors';

export type Tenant = { readonly secret: string; readonly owns: ProgramData; readonly ask: Ask };

export type Ask = (request: RawRequest) => Promise<RawResponse>;

/** A service in this process with two card programs, and the statements that it sends. */
export type TwoPrograms = {
  readonly first: Tenant;
  readonly second: Tenant;
  /**
   * Returns the names of the statements sent since the last call. The key's look-up is left out, because it is cached.
   */
  readonly takeStatements: () => readonly string[];
  /**
   * Returns the programs whose transfers are visible to a statement that names no program. The statement runs in a
   * request of the program that owns the given records.
   */
  readonly findProgramsSeen: (owns: ProgramData) => Promise<readonly string[]>;
  readonly stop: () => Promise<void>;
};

/** A URL without a receiver. */
export const WEBHOOK_URL = 'https://shop.example/webhooks';

/** A word in every record that a program stores. No other program may see it. */
export const MARK = 'confidential';

/**
 * Whether row-level security is on. If it is off, only the statements' conditions separate the programs, so a missing
 * condition has a visible effect.
 */
export type RowSecurity = 'on' | 'off';

export async function startTwoPrograms(rowSecurity: RowSecurity = 'on'): Promise<TwoPrograms> {
  const postgres = await startPostgres();
  if (rowSecurity === 'off') await dropRowSecurity(postgres);
  const ledger = openLedger(postgres.connection);
  const { forProgram } = ledger.databases.application;
  const takeStatements = watchStatements(ledger);
  const http = await startHttpServer(ledgerGateway(ledger, { mode: 'live', keyless: false }));
  const url = `http://127.0.0.1:${http.port}`;
  const settleBoth = async () => [await settle(ledger, url, 'first'), await settle(ledger, url, 'second')] as const;
  const [first, second] = await settleBoth().catch(async (error: unknown) => {
    await stop(http, ledger, postgres);
    throw error;
  });
  return {
    first,
    second,
    takeStatements,
    findProgramsSeen: async ({ program }) => {
      const text = 'select distinct program_id from transfer';
      const database = forProgram.call(ledger.databases.application, fromWireId('prog', program) ?? '');
      const rows = await database.read({ name: 'find_programs_seen', text, values: [] });
      return rows.map((row) => toWireId('prog', row.program_id as string));
    },
    stop: () => stop(http, ledger, postgres),
  };
}

/** Replaces every policy for requests with a policy that allows all rows. */
async function dropRowSecurity({ connection }: Postgres): Promise<void> {
  const superuser = await connect({ ...connection, user: 'postgres' });
  try {
    const { rows: policies } = await superuser.query<{ replacement: string }>(
      `select format('drop policy %1$I on %2$I; create policy %1$I on %2$I to transfer_service_application using (true)',
          policyname, tablename) as replacement
        from pg_policies where 'transfer_service_application' = any (roles)`,
    );
    if (policies.length === 0) throw new Error('no policy of row-level security was found');
    for (const { replacement } of policies) await superuser.query(replacement);
  } finally {
    await superuser.end();
  }
}

async function stop(
  http: Awaited<ReturnType<typeof startHttpServer>>,
  ledger: Ledger,
  postgres: Postgres,
): Promise<void> {
  await http.server.close();
  await ledger.close();
  await postgres.stop();
}

/**
 * Records the names of the statements that a ledger sends. The returned function returns the names since its last call.
 */
export function watchStatements({ databases }: Ledger): () => readonly string[] {
  let statements: string[] = [];
  const tell = (name: string): void => void statements.push(name);
  watch(databases.background, tell);
  watch(databases.authentication, tell);
  const { application } = databases;
  const forProgram = application.forProgram.bind(application);
  application.forProgram = (...programIds) => {
    const database = forProgram(...programIds);
    watch(database, tell);
    return database;
  };
  return () => {
    const taken = statements.filter((name) => name !== 'find_keys');
    statements = [];
    return taken;
  };
}

/** Reports every statement that is sent to the database, in order. */
function watch(database: Database, tell: (name: string) => void): void {
  const [read, transact] = [database.read.bind(database), database.transact.bind(database)];
  database.read = (statement) => {
    tell(statement.name);
    return read(statement);
  };
  database.transact = (work) => {
    for (const [name, statement] of Object.entries(work.load)) tell(statement === null ? `no ${name}` : name);
    return transact({
      ...work,
      decide: (loaded, batchId) => {
        const decision = work.decide(loaded, batchId);
        for (const { name } of decision.writes) tell(name);
        return decision;
      },
    });
  };
}

/** Creates a program with one record of every kind. */
async function settle(ledger: Ledger, url: string, name: string): Promise<Tenant> {
  const operate = async (operation: OperationId, members: object, more: object = {}) =>
    JSON.parse((await ledger.call(operation, members, more)).body) as Record<string, string>;
  const { program_id: program = '' } = await operate('create_program', { name: `${MARK} ${name}`, currency: 'USD' });
  const params = { program_id: program };
  await operate('create_deposit', { amount: 1_000_000 }, { params, idempotencyKey: 'deposit' });
  const { key: secret = '', key_id: key = '' } = await operate('create_key', programKey(MARK, program));
  const ask: Ask = (request) =>
    sendRaw(url, { ...request, headers: { Authorization: `Bearer ${secret}`, ...request.headers } });
  const idempotencyKey = `key-of-${name}`;
  const make = async (operation: OperationId, members: object, path = OPERATIONS[operation].path) => {
    const response = await ask({ path, headers: headersFor(operation, idempotencyKey), body: members });
    if (response.status >= 300) throw new Error(response.text);
    const { 'request-id': madeBy } = response.headers;
    return { ...response.fields, madeBy } as Readonly<Record<string, string>>;
  };
  const namedCard = `card-of-${name}`;
  const { madeBy: cardRequest = '' } = await make('create_card', { card_id: namedCard, holder_reference: MARK });
  const unnamed = await ask({ path: OPERATIONS.create_card.path, body: { holder_reference: MARK } });
  const card = String(unnamed.fields.card_id);
  const own = { metadata: { note: MARK }, description: MARK };
  const reference = `reference-of-${name}`;
  const { transfer_id: transfer = '', madeBy: transferRequest = '' } = await make('create_transfer', {
    amount: 500,
    card_id: card,
    reference,
    ...own,
  });
  // These requests have no idempotency key.
  const unkeyed = async (members: object) => {
    const response = await ask({ body: { amount: 500, card_id: card, ...own, ...members } });
    return String(response.fields.transfer_id);
  };
  const hold = await unkeyed({ capture: 'manual' });
  const scheduled = await unkeyed({ scheduled_for: new Date(Date.now() + 86_400_000).toISOString() });
  const toBeEnded = { captured: await unkeyed({ capture: 'manual' }), canceled: await unkeyed({ capture: 'manual' }) };
  await make('capture_transfer', { amount: 100 }, pathOf('capture_transfer', toBeEnded.captured));
  await make('cancel_transfer', {}, pathOf('cancel_transfer', toBeEnded.canceled));
  const { reversal_id: reversal = '', madeBy: reversalRequest = '' } = await make(
    'reverse_transfer',
    { amount: 100, description: MARK },
    pathOf('reverse_transfer', transfer),
  );
  await ask({ path: pathOf('reverse_transfer', transfer), body: { amount: 50 } });
  const errors = [await logError(ledger, program), await logError(ledger, program)];
  const cursors = await cursorsOf(ask, transfer);
  const error = errors[0] ?? '';
  await relayOnce(ledger.database);
  const { fields: events } = await ask({
    method: 'GET',
    path: `${OPERATIONS.list_events.path}?subject_id=${transfer}`,
  });
  const [{ event_id: event }] = events.data as [{ event_id: string }];
  const { webhook_id: webhook = '' } = await make('create_webhook', { url: `${WEBHOOK_URL}/${MARK}` });
  await ask({ path: pathOf('resend_event', webhook), body: { event_id: event } });
  const support = await contactSupport(make, (operation, members) => operate(operation, members), program, error);
  const made = { program, card, namedCard, transfer, hold, scheduled, reversal, error, event, key, webhook, reference };
  const requests = { transferRequest, reversalRequest, cardRequest };
  return {
    secret,
    ask,
    owns: { ...made, ...support, ...requests, session: await newSession(ask), idempotencyKey, cursors },
  };
}

/** Returns the cursor of the second page of each list. */
async function cursorsOf(ask: Ask, transfer: string): Promise<ProgramData['cursors']> {
  const next = async (path: string) => {
    const { fields } = await ask({ method: 'GET', path: `${path}?limit=1` });
    if (typeof fields.next_cursor !== 'string') throw new Error(`${path} has no second page`);
    return fields.next_cursor;
  };
  return {
    transfers: await next(OPERATIONS.list_transfers.path),
    cards: await next(OPERATIONS.list_cards.path),
    reversals: await next(pathOf('list_reversals', transfer)),
    errors: await next(OPERATIONS.list_errors.path),
  };
}

type Make = (operation: OperationId, members: object, path?: string) => Promise<Readonly<Record<string, string>>>;

/** Opens a case of the program about an error, and an incident of the program. */
async function contactSupport(make: Make, operate: Make, program: string, error: string) {
  const opened = await make('create_case', { request_id: error, text: MARK, contact: MARK });
  const { case_id: ownCase = '' } = opened;
  await make('reply_to_case', { text: MARK, external_id: '17' }, pathOf('reply_to_case', ownCase));
  const outage = { title: MARK, public_text: MARK, scope: 'program', program_id: program };
  const { incident_id: incident = '' } = await operate('create_incident', outage);
  return { case: ownCase, incident };
}

async function newSession(ask: Ask): Promise<string> {
  const { fields } = await ask({ path: OPERATIONS.create_session.path });
  return String(fields.session_id);
}

/** Returns the path of an operation for an id. */
export function pathOf(operation: OperationId, id: string): string {
  return OPERATIONS[operation].path.replace(/\{[a-z_]+\}/, id);
}

/** Returns the headers that a request of the operation can have in addition to its credentials. */
export function headersFor(operation: OperationId, idempotencyKey: string): Readonly<Record<string, string>> {
  return OPERATIONS[operation].idempotency === 'none' ? {} : { 'Idempotency-Key': idempotencyKey };
}

async function logError({ database }: Ledger, program: string): Promise<string> {
  const requestId = randomUUIDv7();
  const hex = program.slice('prog_'.length);
  await database.writeUnguarded({
    name: 'log_an_error',
    text: `insert into error (request_id, created_at, program_id, code, status, type, message, causes)
      values ($1, uuid_extract_timestamp($1::uuid), $2::uuid, 'card_not_found', 404, 'Request Error', '${MARK}', '[]')`,
    values: [requestId, hex],
  });
  return toWireId('req', requestId);
}

/** The operations that act within a card program. */
export const PROGRAM_OPERATIONS = OPERATION_IDS.filter((id) => OPERATIONS[id].reach === 'program');

export const OPERATOR_OPERATIONS = OPERATION_IDS.filter((id) => OPERATIONS[id].reach === 'operator');

/** Returns the same data with unused ids, which differ in the last digit. */
export function neverMade(owns: ProgramData): ProgramData {
  const { cursors, ...ids } = owns;
  return {
    ...(Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, otherDigit(id)])) as Omit<
      ProgramData,
      'cursors'
    >),
    cursors: Object.fromEntries(
      Object.entries(cursors).map(([name, cursor]) => [name, otherDigit(cursor)]),
    ) as ProgramData['cursors'],
  };
}

function otherDigit(id: string): string {
  return `${id.slice(0, -1)}${id.endsWith('3') ? '5' : '3'}`;
}
