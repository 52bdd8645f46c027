import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSigningKey, signMessage } from '../../server/foundation/signature.ts';
import { fetchPatiently, patientClient } from '../harness/client/patience.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { type ServiceProcess, startService, waitFor } from '../harness/process.ts';
import { Random } from '../harness/random.ts';
import { expectBalancedBooks } from '../harness/service.ts';
import { Document, readDocument, type Schema } from './document.ts';
import { generateValue } from './values.ts';

// Checks that the service accepts every answer and notice that the adapters' document allows. The attempt and the
// transfer must end in a state that the service's own document lists. Money must move if and only if the order was
// approved. No request or job may fail.

const SEED = Number(process.env.CONTRACT_SEED ?? 20_261_128);
/**
 * The number of orders. Each order has its own connector, so that it cannot open another order's breaker. A service has
 * at most 50 connectors.
 */
const ORDERS = 45;
const LANES = 5;

type Answer = Readonly<Record<string, unknown>> & { readonly status: string };

const secret = `whsec_${randomBytes(32).toString('base64')}`;
let adapters: Document;
let service: ServiceProcess;
/** The first answer to each order, by the card's token. A repeated question gets a new answer. */
const answered = new Map<string, Answer>();

/**
 * A source of random numbers for each order, so that a seed repeats a failure even though several orders run at the
 * same time.
 */
const randomOfAnswers = new Map(Array.from({ length: ORDERS }, (_, at) => [`token-${at}`, new Random(SEED, 3, at)]));

/** Generates a random answer or notice that the document allows for an order. */
function generateAbout(schema: Schema | undefined, order: Readonly<Record<string, unknown>>, random: Random): Answer {
  const said = generateValue(schema ?? {}, 'answer', random, () => undefined) as Answer;
  const { attempt_id, amount, currency } = order;
  // The document requires these three fields to repeat the order's values.
  return { ...said, attempt_id, amount, currency };
}

beforeAll(async () => {
  adapters = new Document(JSON.parse(await readFile('contract/processors/adapter-openapi.json', 'utf8')));
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = `/${request.url?.split('/').at(-1)}`;
      const operation = [...adapters.operations.values()].find((one) => one.path === path);
      const schema = operation?.responses.get(200)?.content?.['application/json']?.schema;
      const order = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString());
      const random = randomOfAnswers.get(order.processor_token) as Random;
      const answer = path === '/health' ? { status: 'ok' } : generateAbout(schema, order, random);
      if (path === '/send' && !answered.has(order.processor_token)) answered.set(order.processor_token, answer);
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const directory = await ledgerDirectory();
  const file = join(directory.path, 'connectors.json');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const connectors = Array.from({ length: ORDERS }, (_, at) => ({
    connector_id: `generated_${at}`,
    url,
    secret_variable: 'ADAPTER_SECRET',
  }));
  await writeFile(file, JSON.stringify({ connectors }));
  service = await startService({ DATA_DIR: directory.path, CONNECTORS: file, ADAPTER_SECRET: secret });
  return async () => {
    await service.stop();
    server.close();
    server.closeAllConnections();
    await directory.remove();
  };
});
afterAll(() => expectBalancedBooks(service));

/** Sends a notice and returns the response status. */
async function notify(connectorId: string, said: object, random: Random): Promise<number> {
  const body = JSON.stringify(said);
  const signature = signMessage({ id: `msg_${random.digits(20)}`, sentAt: new Date(), body }, [readSigningKey(secret)]);
  const headers = { 'Content-Type': 'application/json', ...signature };
  const url = `${service.url}/api/v0.1/connector/${connectorId}/notice`;
  return (await fetchPatiently(url, { method: 'POST', headers, body })).status;
}

/**
 * Returns whether a log line reports a fault. On a slow machine, a job can stop waiting for a connection and try again,
 * and the database can seem silent. Neither is a fault.
 */
const isFault = (line: string): boolean =>
  /"level":(50|60)/.test(line) && !/no connection became free in time|"event":"readiness"/.test(line);

test(`${ORDERS} orders end as documented with any answers and notices of adapters, from seed ${SEED}`, async () => {
  const document = await readDocument(service.url);
  const client = patientClient(service.url);
  const { program_id: programId } = await client.programs.create({ name: 'Adapters', currency: 'USD' });
  await client.deposits.create(programId, { amount: 10_000_000 });
  const schemaOf = (operation: string): Schema =>
    document.operations.get(operation)?.responses.get(200)?.content?.['application/json']?.schema ?? {};
  const notices = adapters.bodyOfWebhook('notice');
  const order = async (at: number): Promise<void> => {
    const connector_id = `generated_${at}`;
    const { card_id } = await client.cards.create(
      { card_id: `card-${at}`, connector_id, processor_token: `token-${at}` },
      { programId },
    );
    const made = await client.transfers.create({ amount: 100 + at, card_id }, { programId }).catch((error) => error);
    const { data } = await client.transfers.list({ card_id }, { programId });
    const [transfer] = data;
    // If there is no transfer, the request itself has failed, so the test must fail too.
    if (transfer === undefined) throw made;
    const { transfer_id } = transfer;
    const look = async () => {
      const [shown, attempts] = await Promise.all([
        client.transfers.get(transfer_id, { programId }),
        client.transfers.attempts(transfer_id, { programId }),
      ]);
      const [attempt] = attempts.data;
      expect(document.problemOf(schemaOf('get_transfer'), shown)).toBeUndefined();
      expect(document.problemOf(schemaOf('list_attempts'), attempts)).toBeUndefined();
      if (attempt === undefined) throw new Error(`${transfer_id} has no attempt`);
      return { shown, attempt };
    };
    const first = answered.get(`token-${at}`);
    const before = await look();
    const end = new Map([
      ['approved', 'completed'],
      ['declined', 'failed'],
    ]).get(first?.status ?? '');
    // On a busy machine, the response can arrive before the transfer ends.
    if (end !== undefined) {
      const isEnded = async () => (await look()).shown.status === end;
      await waitFor(`${end}, as answered: ${JSON.stringify(first)}`, isEnded);
    }
    const { attempt_id } = before.attempt;
    const random = new Random(SEED, 4, at);
    const notice = generateAbout(notices, { attempt_id, amount: 100 + at, currency: 'USD' }, random);
    expect(await notify(connector_id, notice, random), JSON.stringify(notice)).toBe(200);
    // The document says that repeating a notice has no further effect.
    expect(await notify(connector_id, notice, random), JSON.stringify(notice)).toBe(200);
    await waitFor(`the end of ${transfer_id}`, async () => {
      const { shown, attempt } = await look();
      const isEnded = ['approved', 'declined', 'failed', 'reversed'].includes(attempt.status);
      return !isEnded || (attempt.status === 'approved') === (shown.status === 'completed');
    });
  };
  // Sends a few at a time, because a busy machine refuses some of many simultaneous requests.
  const orders = Array.from({ length: ORDERS }, (_, at) => at).values();
  const work = async (): Promise<void> => {
    for (const at of orders) await order(at);
  };
  await Promise.all(Array.from({ length: LANES }, work));
  const { data: faults } = await client.errors.search({ type: 'Server Error' });
  expect(faults.filter(({ code }) => !/^(unknown_create_transfer|service_unavailable)$/.test(code))).toEqual([]);
  expect(service.errors().split('\n').filter(isFault)).toEqual([]);
});
