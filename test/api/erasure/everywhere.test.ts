import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { AwaitsApproval, type StatementPage, TransferService, type WithResponse } from '../../../sdk/client.ts';
import { openDatabases } from '../../../server/store/connection/databases.ts';
import { TEXT_COLUMNS } from '../../../server/store/text-columns.ts';
import { verifyAudit } from '../../../server/subjects/audit/verify-audit.ts';
import { operatorKey } from '../../harness/keys.ts';
import { UNHURRIED } from '../../harness/ledger.ts';
import { requireOwnPostgres } from '../../harness/postgres/stock-postgres.ts';
import { embeddedServerOf, waitFor } from '../../harness/process.ts';
import { expectBalancedBooks, refusalOf, useOwnService } from '../../harness/service.ts';
import { untilRelayed } from '../events/event-reader.ts';

/** A marker that occurs in every text about the holder and nowhere else. */
const MARKER = `holder${randomUUID().replaceAll('-', '')}`;
const CARD = 'card-of-the-holder';
const OTHER = 'card-of-another';
const METADATA = { [`${MARKER.slice(0, 30)}`]: MARKER };
const SOON = new Date(Date.now() + 3 * 86_400_000).toISOString();

const service = useOwnService('It searches every table and file for erased texts.');
let database: pg.Client;
let databaseUrl: string;
const receiver = createServer((request, response) => void echo(request).then((body) => response.end(body)));

beforeAll(async () => {
  ({ databaseUrl } = await embeddedServerOf(service().directory));
  database = await connect();
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await database.end();
  receiver.closeAllConnections();
  receiver.close();
});

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(databaseUrl);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Reads the body of a request, which the receiver sends back in its response. */
async function echo(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const part of request) body += String(part);
  return body;
}

/** Returns every row of the database that contains the text, as `table: row`. */
async function rowsWith(text: string): Promise<readonly string[]> {
  const { rows: tables } = await database.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class
      where relkind = 'r' and relnamespace = current_schema()::regnamespace order by 1`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const { rows } = await database.query<{ row: string }>(
      `select stored::text as row from ${name} as stored where strpos(stored::text, $1) > 0 or strpos(stored::text, $2) > 0`,
      [text, Buffer.from(text).toString('hex')],
    );
    found.push(...rows.map(({ row }) => `${name}: ${row}`));
  }
  return found;
}

/** Returns the columns that contain the text, as `table.column`. */
async function columnsWith(text: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const column of Object.keys(TEXT_COLUMNS)) {
    const [table, name] = column.split('.');
    const { rows } = await database.query(`select from ${table} where strpos(${name}::text, $1) > 0 limit 1`, [text]);
    if (rows.length > 0) found.push(column);
  }
  return found;
}

/** The columns that an erasure clears, except `last_four`, which has only four digits and cannot contain the marker. */
const ERASED_COLUMNS = Object.entries(TEXT_COLUMNS)
  .filter(([, { erasedBy }]) => erasedBy !== null && erasedBy !== 'erase_person')
  .map(([column]) => column)
  .filter((column) => column !== 'card.last_four')
  .sort();

/** Returns every file in the data directory that contains the text, except PostgreSQL's tables and log. */
async function filesWith(text: string): Promise<readonly string[]> {
  const entries = await readdir(service().directory, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || /\/(base|global|pg_wal)\//.test(path)) continue;
    if ((await readFile(path)).includes(text)) found.push(path);
  }
  return found;
}

type Made = { readonly key: string; readonly send: (client: TransferService) => Promise<WithResponse<object>> };

/**
 * Stores the marker in every text that a request can store about a card. Returns the requests that have keys, and the
 * first responses to them.
 */
async function plant(): Promise<{ readonly keyed: readonly Made[]; readonly first: readonly object[] }> {
  const { client } = service();
  const keyed: Made[] = [];
  const first: object[] = [];
  const once = async <Found extends WithResponse<object>>(
    send: (client: TransferService, idempotencyKey: string) => Promise<Found>,
  ): Promise<Found> => {
    const key = randomUUID();
    keyed.push({ key, send: (other) => send(other, key) });
    const made = await send(client, key);
    first.push(made);
    return made;
  };
  const texts = { description: MARKER, metadata: METADATA };
  const noCard = { holder_reference: MARKER, expires_on: '2026-02-30' };
  await refusalOf(client.cards.create(noCard));
  await once((to, idempotencyKey) =>
    to.cards.create(
      { card_id: CARD, holder_reference: MARKER, last_four: '7391', metadata: METADATA },
      { idempotencyKey },
    ),
  );
  await client.cards.create({ card_id: OTHER });
  await client.cards.update(CARD, { holder_reference: `${MARKER} again`, metadata: { again: MARKER } });
  const load = (cardId: string, more: object = {}) => ({ amount: 1000, card_id: cardId, ...texts, ...more });
  const loaded = await once((to, idempotencyKey) => to.transfers.create(load(CARD), { idempotencyKey }));
  await client.transfers.create({ amount: 1000, card_id: OTHER, description: 'stays', metadata: { of: 'another' } });
  for (const [from, to] of [
    [CARD, OTHER],
    [OTHER, CARD],
  ] as const) {
    const between = { type: 'card_to_card' as const, destination_card_id: to, amount: 10 };
    await once((client_, idempotencyKey) => client_.transfers.create(load(from, between), { idempotencyKey }));
  }
  const held = await once((to, idempotencyKey) =>
    to.transfers.create(load(CARD, { type: 'unload', capture: 'manual', amount: 100 }), { idempotencyKey }),
  );
  await once((to, idempotencyKey) =>
    to.transfers.capture(String(Reflect.get(held, 'transfer_id')), {}, { idempotencyKey }),
  );
  const dropped = await client.transfers.create(load(CARD, { capture: 'manual' }));
  await once((to, idempotencyKey) => to.transfers.cancel(dropped.transfer_id, { idempotencyKey }));
  await client.transfers.create(load(CARD, { scheduled_for: SOON }));
  const transferId = String(Reflect.get(loaded, 'transfer_id'));
  const part = { amount: 5, description: MARKER };
  await once((to, idempotencyKey) => to.transfers.reverse(transferId, part, { idempotencyKey }));
  await client.transfers.update(transferId, { metadata: { second: MARKER } });
  const rows = [load(CARD), { amount: 1, card_id: OTHER }, load(CARD, { amount: 0 })];
  await client.transfers.createBatch(rows.map((row) => ({ ...row, idempotency_key: randomUUID() })));
  await plantErrors(client, transferId);
  await plantCases(client, transferId);
  await plantByOperator(client);
  return { keyed, first };
}

/** Sends requests with the marker that the service refuses. Some of them do not name the card in a field. */
async function plantErrors(client: TransferService, transferId: string): Promise<void> {
  const texts = { description: MARKER, metadata: METADATA };
  await refusalOf(client.transfers.create({ amount: 99_999_999, card_id: CARD, type: 'unload', ...texts }));
  await refusalOf(client.transfers.create({ amount: 1, cardId: CARD, ...texts } as never));
  await refusalOf(
    client.transfers.create({ amount: 1, card_id: 'none', destination_card_id: CARD, ...texts } as never),
  );
  await refusalOf(client.transfers.update(transferId, { metadata: { [MARKER]: 'x'.repeat(600) } }));
  await refusalOf(client.transfers.reverse(transferId, { amount: 0, description: MARKER }));
  await refusalOf(client.transfers.list({ metadata_name: 'second', metadata_value: MARKER, cursor: 'x' }));
  await refusalOf(client.cards.list({ holder_reference: MARKER, cursor: 'x' }));
  await refusalOf(client.search.find({ q: MARKER, program_id: 'x' }));
  await refusalOf(client.cards.create({ card_id: CARD, holder_reference: MARKER }));
  await refusalOf(client.cards.update(CARD, { holder_reference: MARKER, expires_on: '2026-02-30' }));
  await plantMoveInErrors(client);
}

/** Sends lines of a move-in with the marker that the service refuses: the card exists, and a field is wrong. */
async function plantMoveInErrors(client: TransferService): Promise<void> {
  const { move_in_id: moveInId } = await client.moveIns.create({
    ...{ program_id: DEMO_PROGRAM, name: 'cards.ndjson', sha256: createHash('sha256').update(CARD).digest('hex') },
    ...{ as_of: '2026-01-31T09:30:00.000Z', line_count: 1 },
  });
  const line = { kind: 'card' as const, card_id: CARD, balance: 1, holder_reference: MARKER, metadata: METADATA };
  for (const more of [{}, { expires_on: '2026-02-30' }]) {
    await refusalOf(client.moveIns.addLines(moveInId, { first_line: 1, lines: [{ ...line, ...more }] }));
  }
}

/**
 * Opens cases about requests that name the card, only its transfer, or only its holder. Also opens a case that names
 * the card in its text.
 */
async function plantCases(client: TransferService, transferId: string): Promise<void> {
  const refusals = [
    await refusalOf(client.transfers.reverse(transferId, { amount: 99_999_999, description: MARKER })),
    await refusalOf(client.transfers.update(transferId, { metadata: { [MARKER]: 'x'.repeat(600) } })),
    await refusalOf(
      client.transfers.create({ amount: 99_999_999, card_id: CARD, type: 'unload', description: MARKER }),
    ),
  ];
  const cases = [];
  for (const { requestId } of refusals) {
    cases.push(await client.cases.create({ request_id: requestId, text: `${MARKER} waits.`, contact: MARKER }));
  }
  cases.push(await client.cases.create({ transfer_id: transferId, text: MARKER }));
  cases.push(await client.cases.create({ text: `${MARKER} has ${CARD}.` }));
  // Only the holder reference connects this case to the card. The erasure could not find other text in the case, so the case has
  // none.
  const noConnector = { holder_reference: MARKER, connector_id: 'none', processor_token: 'none' };
  const { requestId } = await refusalOf(client.cards.create(noConnector));
  const { case_id: ofHolder } = await client.cases.create({ request_id: requestId });
  expect((await client.cases.get(ofHolder)).snapshot?.error?.request).toMatchObject({ holder_reference: MARKER });
  for (const { case_id } of cases) {
    await client.cases.reply(case_id, { text: MARKER, external_author: MARKER });
    await client.sandbox.answerCase(case_id, { text: MARKER, outcome: 'nothing' });
  }
}

/**
 * Inserts with SQL the text that no request can store: text from a processor, from an operator in an incident, and from an
 * earlier version.
 */
async function plantBySql(transferId: string): Promise<void> {
  const ids = [fromWireId('tr', transferId), MARKER];
  await database.query(
    `insert into processor_attempt (program_id, attempt_id, transfer_id, card_id, connector_id, kind, amount, currency, status,
        created_at, updated_at, detail, resolved_by)
      select program_id, gen_random_uuid(), transfer_id, card_id, 'simulator', 'push', amount, currency, 'approved', now(), now(),
        $2, 'sandbox'
      from transfer where transfer_id = $1`,
    ids,
  );
  await database.query(
    `insert into processor_break (break_id, kind, connector_id, program_id, attempt_id, transfer_id, amount, currency, expected,
        found, created_at, closed_at, closed_by, resolution)
      select gen_random_uuid(), 'late_approval', connector_id, program_id, attempt_id, transfer_id, amount, currency, 'failed',
        'approved', now(), now(), 'sandbox', $2
      from processor_attempt where transfer_id = $1`,
    ids,
  );
  await database.query('update card set processor_token = $2 where name = $1', [CARD, MARKER]);
  await database.query('update case_message set author = $1 where text = $1', [MARKER]);
  await database.query(
    `update idempotency set body = $1, batch_id = null, event_index = null
      where operation = 'create_transfer' and subject_id in (select transfer_id from transfer where status = 'canceled')`,
    [MARKER],
  );
  const json = JSON.stringify({ said: MARKER });
  await database.query('update error set checks = $2::json, causes = $2::json, field = $3 where card_name = $1', [
    CARD,
    json,
    MARKER,
  ]);
}

/** Acts as an operator, which adds entries to the audit log. Nothing ever changes these entries. */
async function plantByOperator(client: TransferService): Promise<void> {
  const { key } = await client.keys.create(operatorKey('operator'));
  const operator = new TransferService({
    baseUrl: service().url,
    key: key ?? '',
    programId: DEMO_PROGRAM,
    timeoutMilliseconds: 120_000,
  });
  // Adds an approval rule for one request only, and then removes it, so that no other request waits for an approval.
  await client.approvals.changePolicy({ rules: [{ operation: 'create_transfer' }] });
  const waits = { amount: 1, card_id: CARD, description: MARKER, metadata: METADATA };
  await expect(operator.transfers.create(waits)).rejects.toThrow(AwaitsApproval);
  await client.approvals.changePolicy({ rules: [] });
  await operator.cards.update(CARD, { holder_reference: MARKER, metadata: { fourth: MARKER } });
  const made = await operator.transfers.create({ amount: 1, card_id: CARD, description: MARKER, metadata: METADATA });
  await operator.transfers.update(made.transfer_id, { metadata: { third: MARKER } });
  await operator.transfers.reverse(made.transfer_id, { amount: 1, description: MARKER });
}

async function erasure(): Promise<Record<string, unknown>> {
  return (await database.query('select * from card_erasure where card_name = $1', [CARD])).rows[0];
}

/** Waits until all errors, events and deliveries are stored. The erasure would miss any that are stored later. */
async function untilAllIsStored(client: TransferService, webhookId: string): Promise<void> {
  // Errors are stored in order, so all earlier errors are stored too.
  const { requestId } = await refusalOf(client.cards.get('card-of-no-one'));
  await waitFor('the errors to be stored', () => client.errors.inspect(requestId).then(Boolean, () => false));
  await waitFor('the attempts to be stored', async () =>
    (await rowsWith(MARKER)).some((row) => row.startsWith('webhook_attempt')),
  );
  // A delivery that ends after the last round of the erasure would store the receiver's response, which has the marker.
  await untilRelayed(database);
  await waitFor('everything to be sent', async () => (await client.webhooks.get(webhookId)).backlog === 0);
}

test('erases everything that identifies the holder of a card, and leaves everything else unchanged', async (context) => {
  requireOwnPostgres(context);
  const { client } = service();
  const { port } = receiver.address() as AddressInfo;
  const webhook = await client.webhooks.create({ url: `http://127.0.0.1:${port}/` });
  const { keyed, first } = await plant();
  await client.cards.update(CARD, { status: 'closed', balance_to: 'funding' });
  await untilAllIsStored(client, webhook.webhook_id);
  await plantBySql(String(Reflect.get(first[1] ?? {}, 'transfer_id')));
  // A metadata name has at most 40 characters, so it contains only the start of the marker.
  expect((await columnsWith(MARKER.slice(0, 30))).toSorted()).toEqual(ERASED_COLUMNS);
  const caseCount = (await client.cases.list({ limit: 100 })).data.length;
  const statement = await client.cards.postings(CARD, { limit: 100 });
  const balances = (await client.trialBalance.get()).currencies;

  expect(await client.cards.erase(CARD)).toMatchObject({ card_id: CARD, status: 'running', completed_at: null });
  // While the database is stopped, an error about the card waits in a file. The erasure must also remove this error.
  await waitFor('the first round to end', async () => (await erasure()).round === 2);
  await client.sandbox.stopDatabase();
  await client.transfers
    .create({ amount: 1, card_id: CARD, description: MARKER }, { idempotencyKey: randomUUID() })
    .catch(() => undefined);
  await waitFor('the error to be in a file', async () => (await filesWith(MARKER)).length > 0);
  await client.sandbox.startDatabase();
  await database.end();
  database = await connect();
  await waitFor('the file to be loaded', async () => (await filesWith(MARKER)).length === 0);
  await database.query('update card_erasure set next_at = clock_timestamp()');
  await waitFor('the erasure to be complete', async () => (await erasure()).completed_at !== null);

  expect(await rowsWith(MARKER)).toEqual([]);
  expect(await filesWith(MARKER)).toEqual([]);
  expect((await rowsWith('"last_four":"7391"')).concat(await rowsWith(',7391,'))).toEqual([]);
  expect(await rowsWith(MARKER.slice(0, 30))).toEqual([]);
  await expectBalancedBooks(service());
  expect((await client.trialBalance.get()).currencies).toEqual(balances);
  expect(await client.cards.postings(CARD, { limit: 100 })).toEqual(withoutTexts(statement));

  const again = await client.cards.erase(CARD);
  expect(again).toMatchObject({ status: 'completed' });
  expect(again.transfers).toBeGreaterThan(7);
  expect(again.events).toBeGreaterThan(10);
  expect(again.errors).toBeGreaterThan(5);
  for (const [at, { send }] of keyed.entries()) {
    const replayed = await send(client);
    expect(replayed.response.replayed).toBe(true);
    const { description, metadata, holder_reference, last_four, ...rest } = first[at] as Record<string, unknown>;
    expect(replayed).toMatchObject({ ...rest, response: expect.anything() });
    expect(JSON.stringify(replayed)).not.toContain(MARKER.slice(0, 30));
  }
  expect((await client.trialBalance.get()).currencies).toEqual(balances);
  await expectEventsInOrder(client);
  expect(await client.events.list({ type: 'card.erased' })).toMatchObject({
    data: [{ subject_id: CARD, data: { card_id: CARD, holder_reference: null, last_four: null, metadata: {} } }],
  });
  const of = await client.transfers.list({ card_id: OTHER, limit: 100 });
  expect(of.data.filter(({ description }) => description === 'stays')).toHaveLength(1);
  expect(of.data.filter(({ destination_card_id: to }) => to === CARD)).toMatchObject([
    { description: null, metadata: {} },
  ]);
  let lines = '';
  for await (const part of await client.transfers.export({})) lines += part;
  expect(lines.split('\r\n').length).toBeGreaterThan(10);
  expect((await client.cases.list({ limit: 100 })).data).toHaveLength(caseCount);
  await client.webhooks.delete(webhook.webhook_id);
  const databases = openDatabases({ connectionString: databaseUrl }, undefined, UNHURRIED);
  expect((await verifyAudit(databases.background, undefined)).problems).toEqual([]);
  await databases.close();
});

function withoutTexts({ data, ...rest }: StatementPage): StatementPage {
  return { ...rest, data: data.map((line) => ({ ...line, description: null })) };
}

/** Checks that positions have no gaps and that each event can be read. */
async function expectEventsInOrder(client: TransferService): Promise<void> {
  const positions: number[] = [];
  for (let after = 0; ; ) {
    const { data } = await client.events.list({ after, limit: 100 });
    positions.push(...data.map(({ position }) => position));
    if (data.length === 0) break;
    after = positions.at(-1) ?? 0;
  }
  expect(positions).toEqual(positions.map((_, at) => at + 1));
}
