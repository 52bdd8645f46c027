import { crc32 } from 'node:zlib';
import pg from 'pg';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { isClosed } from '../../contract/schema-parts.ts';
import type { SharedCode } from '../../domain/error-codes.ts';
import { withSecret } from '../harness/keys.ts';
import { embeddedServerOf, startService, temporaryDirectory, waitFor } from '../harness/process.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { ask, bytesOf, type Question } from './ask.ts';
import {
  type Attempt,
  byRequests,
  eachOperation,
  hasBody,
  type Observation,
  observeAll,
  pathOf,
  type RealCause,
  withHeader,
  withMembers,
} from './real-cause.ts';
import { sampleQuestion } from './sample.ts';
import { NO_ID, observeSwitch, TRANSFER_CAUSES } from './transfer-causes.ts';
import { startDatabase, stopDatabase, type World } from './world.ts';

const TRANSFER = OPERATIONS.create_transfer.path;
const CARD_NUMBER = '4111111111111111';
const NO_PROGRAM = 'prog_00000000000070008000000000000001';

const get = (operation: OperationId, path: string): Attempt => ({ operation, question: { method: 'GET', path } });
const bearer = (key: string): readonly [string, string] => ['Authorization', `Bearer ${key}`];
const isMoneyOfOperators = (id: OperationId): boolean => OPERATIONS[id].idempotency === 'required';
const ignoresMembers = (id: OperationId): boolean => {
  const { body } = OPERATIONS[id];
  return body !== undefined && !isClosed(body);
};
const takesKey = (id: OperationId): boolean => OPERATIONS[id].idempotency !== 'none';

/** Causes of the shared codes besides their samples. */
export const SHARED_CAUSES: Readonly<Partial<Record<SharedCode, RealCause>>> = {
  service_disabled: { observe: observeSwitch },
  unauthenticated: { observe: observeCredentials },
  forbidden: { observe: observeForbidden },
  rate_limited: { observe: observeRates },
  card_number_refused: byRequests('card_number_refused', [
    ...eachOperation((question) => ({ ...question, path: `${question.path}?note=4111%201111%201111%201111` })),
    ...eachOperation(
      (question, id) => ({ ...question, path: pathOf(id, CARD_NUMBER) }),
      (id) => OPERATIONS[id].path.includes('{'),
    ),
    ...eachOperation((question) => ({ ...question, headers: [['Idempotency-Key', CARD_NUMBER]] })),
    ...OPERATION_IDS.filter(ignoresMembers).map((id) => withMembers(id, { unknown: { deep: [CARD_NUMBER] } })),
    ...OPERATION_IDS.filter(ignoresMembers).map((id) => withMembers(id, { [CARD_NUMBER]: true })),
  ]),
  route_not_found: byRequests('route_not_found', [
    { question: { method: 'POST', path: '/api/v9/core/transfer', body: '{"amount":1,"card_id":"card_active"}' } },
    { question: { method: 'GET', path: '/errors/nothing' } },
    { question: { method: 'HEAD', path: '/nothing' } },
    { question: { method: 'POST', path: pathOf('create_deposit', '') } },
  ]),
  method_not_allowed: byRequests('method_not_allowed', [
    ...OPERATION_IDS.map((id) => ({ question: { method: 'DELETE', path: pathOf(id, 'x') } })),
    { question: { method: 'POST', path: '/errors' } },
  ]),
  malformed_request: byRequests('malformed_request', [
    ...eachOperation((question) => withHeader(withHeader(question, 'Origin', 'http://localhost'), 'Origin', 'null')),
    { question: { method: 'GET', path: '/%zz' } },
    { question: { method: 'get', path: '/' } },
  ]),
  unsupported_media_type: byRequests('unsupported_media_type', [
    ...eachOperation((question) => withHeader(question, 'Content-Type', 'text/xml'), hasBody),
    ...eachOperation((question) => withHeader(question, 'Content-Encoding', 'gzip'), hasBody),
  ]),
  payload_too_large: byRequests('payload_too_large', [
    ...eachOperation((question, id) => {
      const most = OPERATIONS[id].maxBodyBytes ?? 16_384;
      return { ...question, body: ' '.repeat(most + 1) };
    }, hasBody),
  ]),
  uri_too_long: byRequests(
    'uri_too_long',
    OPERATION_IDS.filter((id) => OPERATIONS[id].path.includes('{')).map((operation) => ({
      operation,
      question: { method: OPERATIONS[operation].method, path: pathOf(operation, 'x'.repeat(256)) },
    })),
  ),
  headers_too_large: byRequests('headers_too_large', [
    ...eachOperation((question) => ({
      ...question,
      headers: [...(question.headers ?? []), ...Array.from({ length: 100 }, (_, at) => [`x-${at}`, 'x'] as const)],
    })),
  ]),
  request_timeout: { observe: observeSlowness },
  expectation_failed: byRequests(
    'expectation_failed',
    eachOperation((question) => withHeader(question, 'Expect', 'wonders')),
  ),
  service_unavailable: { observe: observeClosing },
  unknown_request: {
    observe: ({ damaged }) =>
      observeAll(damaged.url, 'unknown_request', [
        { question: { method: 'GET', path: '/openapi.json' } },
        { question: { method: 'HEAD', path: '/openapi.json' } },
      ]),
  },
  ...TRANSFER_CAUSES,
  program_not_found: { observe: observeNoProgram },
  key_not_found: byRequests('key_not_found', [
    { operation: 'revoke_key', question: { method: 'POST', path: pathOf('revoke_key', `key_${NO_ID}`) } },
    { operation: 'roll_key', question: { method: 'POST', path: pathOf('roll_key', 'key_missing') } },
  ]),
  error_not_found: byRequests('error_not_found', [
    get('get_error', pathOf('get_error', `req_${NO_ID}`)),
    get('inspect_error', pathOf('inspect_error', 'req_missing')),
  ]),
  invalid_idempotency_key: byRequests('invalid_idempotency_key', [
    ...eachOperation((question) => ({ ...question, headers: [['Idempotency-Key', '']] }), takesKey),
    ...eachOperation((question) => ({ ...question, headers: [['Idempotency-Key', 'k'.repeat(256)]] }), takesKey),
    ...eachOperation((question) => withHeader(question, 'Idempotency-Key', 'another'), takesKey),
    ...eachOperation((question) => ({ ...question, headers: [] }), isMoneyOfOperators),
  ]),
};

/** No key and a bad one, at every operation of a live service, and a bad one at those of the sandbox. */
async function observeCredentials({ sandbox, live }: World): Promise<readonly Observation[]> {
  const isSandboxOnly = (id: OperationId): boolean => OPERATIONS[id].reach === 'sandbox';
  const bad = (question: Question): Question => ({ ...question, headers: [bearer('nonsense')] });
  const unknown = (question: Question): Question => ({ ...question, headers: [bearer(unknownKey())] });
  const isLive = (id: OperationId): boolean => !isSandboxOnly(id);
  return [
    ...(await observeAll(
      live.url,
      'unauthenticated',
      eachOperation((question) => question, isLive),
    )),
    ...(await observeAll(live.url, 'unauthenticated', eachOperation(unknown, isLive))),
    ...(await observeAll(sandbox.url, 'unauthenticated', eachOperation(bad))),
  ];
}

/** A key of the right form, its checksum included, that nobody made. */
export function unknownKey(): string {
  const parts = `${'0'.repeat(16)}_${'0'.repeat(64)}`;
  return `ts_${parts}${crc32(parts).toString(16).padStart(8, '0')}`;
}

/** A page of another site at a keyless sandbox; a program's key where an operator's is needed, or for another program. */
async function observeForbidden({ sandbox, live, programKey }: World): Promise<readonly Observation[]> {
  const foreign = (question: Question): Question => withHeader(question, 'Origin', 'https://example.com');
  const asProgram = (question: Question): Question => ({ ...question, headers: [bearer(programKey)] });
  const elsewhere = (question: Question): Question => ({
    ...question,
    headers: [bearer(programKey), ['Program-Id', NO_PROGRAM]],
  });
  const isOperators = (id: OperationId): boolean => OPERATIONS[id].reach === 'operator';
  const isLive = (id: OperationId): boolean => OPERATIONS[id].reach !== 'sandbox';
  // No operation needs this scope yet, so a key that has no other may do nothing.
  const { key } = await withSecret(
    sandbox.client.keys.create({ name: 'idle', scopes: ['events:read'], all_programs: true }),
  );
  const idly = (question: Question): Question => ({ ...question, headers: [bearer(key)] });
  return [
    ...(await observeAll(sandbox.url, 'forbidden', eachOperation(foreign))),
    ...(await observeAll(live.url, 'forbidden', eachOperation(idly, isLive))),
    ...(await observeAll(live.url, 'forbidden', eachOperation(asProgram, isOperators))),
    ...(await observeAll(
      live.url,
      'forbidden',
      eachOperation(elsewhere, (id) => OPERATIONS[id].reach === 'program'),
    )),
  ];
}

/** A service that takes one request a second: what comes after the first ten is refused, whatever it is. */
async function observeRates({ sandbox, dataDirectory }: World): Promise<readonly Observation[]> {
  const { databaseUrl } = await embeddedServerOf(dataDirectory);
  const directory = await temporaryDirectory();
  const limited = await startService({
    DATABASE_URL: databaseUrl,
    DATA_DIR: directory.path,
    RATE_LIMIT_PER_ADDRESS: '1',
  });
  try {
    const observations = [await observeRateSample(limited.url)];
    for (const { question, operation } of eachOperation((one) => ({ ...one, headers: [bearer('nonsense')] }))) {
      // A wrong key uses up what the address has left, so that the next one finds nothing.
      let answer = await ask(limited.url, question);
      for (let tries = 0; answer.status === 401 && tries < 20; tries += 1) answer = await ask(limited.url, question);
      observations.push({ answer, expected: { code: 'rate_limited', operation, method: question.method } });
    }
    // Neither pages nor the neighbour are limited by it.
    await expectOk(limited.url, '/health/ready');
    await expectOk(sandbox.url, TRANSFER);
    return observations;
  } finally {
    await limited.stop();
    await directory.remove();
  }
}

/** The request of the sample, until the address may send no more of them. */
async function observeRateSample(url: string): Promise<Observation> {
  const code = 'rate_limited';
  let answer = await ask(url, sampleQuestion(code));
  for (let tries = 0; answer.status === 200 && tries < 20; tries += 1) answer = await ask(url, sampleQuestion(code));
  return { answer, expected: { code, operation: 'list_transfers' }, isSample: true };
}

async function expectOk(url: string, path: string): Promise<void> {
  const { status } = await ask(url, { method: 'GET', path });
  if (status !== 200) throw new Error(`GET ${path} was answered with ${status}`);
}

/** A program that nobody made: in the Program-Id header, in the path, in the body. */
async function observeNoProgram({ sandbox, live, operatorKey }: World): Promise<readonly Observation[]> {
  const named = (question: Question): Question => withHeader(question, 'Program-Id', NO_PROGRAM);
  const asOperator = (question: Question): Question => withHeader(named(question), ...bearer(operatorKey));
  const inProgram = (id: OperationId): boolean => OPERATIONS[id].reach === 'program';
  const inPath = (id: OperationId): boolean => OPERATIONS[id].path.includes('{program_id}');
  const missing = (question: Question, id: OperationId): Question => ({ ...question, path: pathOf(id, NO_PROGRAM) });
  return [
    ...(await observeAll(sandbox.url, 'program_not_found', eachOperation(named, inProgram))),
    ...(await observeAll(live.url, 'program_not_found', eachOperation(asOperator, inProgram))),
    ...(await observeAll(sandbox.url, 'program_not_found', eachOperation(missing, inPath))),
    ...(await observeAll(sandbox.url, 'program_not_found', [
      withMembers('change_switch', { program_id: NO_PROGRAM }),
      withMembers('create_key', { program_id: NO_PROGRAM }),
    ])),
  ];
}

/** The requests that were begun when the services started and were never finished. */
async function observeSlowness({ slow }: World): Promise<readonly Observation[]> {
  const code = 'request_timeout';
  const expected = { code, method: 'POST' } as const;
  return [
    { answer: await slow.head.next(), expected: { ...expected, operation: undefined } },
    { answer: await slow.body.next(), expected: { ...expected, operation: 'create_transfer' }, isSample: true },
  ];
}

/**
 * A service that takes nothing more, since it closes, and still waits for a transfer that it has begun: everything that
 * comes, at any operation, is told. And the sandbox's readiness while its database is stopped.
 */
async function observeClosing(world: World): Promise<readonly Observation[]> {
  const { damaged, sandbox, dataDirectory } = world;
  const port = Number(new URL(damaged.url).port);
  const code = 'service_unavailable';
  const attempts = eachOperation((question, id) => (id === 'create_transfer' ? sampleQuestion(code) : question));
  const holder = new pg.Client((await embeddedServerOf(dataDirectory)).databaseUrl);
  await holder.connect();
  await holder.query('begin; select from account for update');
  const begun = await RawConnection.open(port);
  begun.send(bytesOf({ method: 'POST', path: TRANSFER, body: '{"amount": 1, "card_id": "card_active"}' }));
  const half = await RawConnection.open(port);
  half.send('GET / HTTP/1.1\r\nHost: loc');
  const open = await Promise.all(attempts.map(() => RawConnection.open(port)));
  // Each has been taken in by the time that one is answered which came after them.
  const last = await RawConnection.open(port);
  last.send(bytesOf({ method: 'GET', path: '/health/live' }));
  await last.next();
  last.close();
  damaged.child.kill('SIGTERM');
  await waitFor('the port to refuse', async () => !(await isOpen(port)));
  const observations: Observation[] = [];
  // All at once: what was begun is not waited for as long as one likes.
  for (const [at, { question }] of attempts.entries()) open[at]?.send(bytesOf(question));
  for (const [at, { question, operation }] of attempts.entries()) {
    const answer = await open[at]?.next(question.method);
    const isSample = operation === 'create_transfer';
    if (answer !== undefined) {
      observations.push({ answer, expected: { code, operation, method: question.method }, isSample });
    }
  }
  await holder.end();
  const { status, body } = await begun.next();
  if (status !== 201) throw new Error(`what was begun was not finished: ${body}`);
  observations.push({ answer: await half.next(), expected: { code, operation: undefined } });
  await stopDatabase(sandbox.url);
  try {
    const ready: Attempt = { question: { method: 'GET', path: '/health/ready' } };
    observations.push(...(await observeAll(sandbox.url, code, [ready])));
  } finally {
    await startDatabase(sandbox.url);
  }
  return observations;
}

function isOpen(port: number): Promise<boolean> {
  return RawConnection.open(port).then(
    (connection) => {
      connection.close();
      return true;
    },
    () => false,
  );
}
