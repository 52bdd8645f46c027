import { crc32 } from 'node:zlib';
import pg from 'pg';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { takesIfMatch } from '../../contract/reading/versions.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { isClosed } from '../../contract/schema-parts.ts';
import type { KeyScope } from '../../contract/scope.ts';
import type { SharedCode } from '../../domain/error-codes.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { partsOf, toRaw } from '../fixtures/operations.ts';
import { thingsOf } from '../fixtures/service-things.ts';
import { withSecret } from '../harness/keys.ts';
import { embeddedServerOf, startService, temporaryDirectory, waitFor } from '../harness/process.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { APPROVAL_CAUSES, DISABLED_APPROVAL } from './approval-causes.ts';
import {
  type Attempt,
  aboutNone,
  byRequests,
  eachOperation,
  hasBody,
  KEYED_IDS,
  NO_ID,
  pathOf,
  type RealCause,
  type Result,
  runAll,
  runRefused,
  together,
  withHeader,
  withMembers,
  withQuery,
} from './real-cause.ts';
import { sampleRequest } from './sample.ts';
import { bytesOf, type RequestSpec, send, toRequest } from './send.ts';
import { CASE_ABOUT_NO_REQUEST, SUPPORT_CAUSES } from './support-causes.ts';
import { runSwitch, TRANSFER_CAUSES } from './transfer-causes.ts';
import { RESENT_WITHOUT_EVENT, WEBHOOK_CAUSES } from './webhook-causes.ts';
import { startDatabase, stopDatabase, type World } from './world.ts';

const TRANSFER = OPERATIONS.create_transfer.path;
const CARD_NUMBER = '4111111111111111';
const NO_PROGRAM = 'prog_00000000000070008000000000000001';

const get = (operation: OperationId, path: string): Attempt => ({ operation, request: { method: 'GET', path } });
const bearer = (key: string): readonly [string, string] => ['Authorization', `Bearer ${key}`];
const isMoneyOfOperators = (id: OperationId): boolean => OPERATIONS[id].idempotency === 'required';
const ignoresMembers = (id: OperationId): boolean => {
  const { body, redactsCardNumbers } = OPERATIONS[id];
  return body !== undefined && !isClosed(body) && !redactsCardNumbers;
};
const takesKey = (id: OperationId): boolean => OPERATIONS[id].idempotency !== 'none';

/** Causes of the shared codes, in addition to their samples. */
export const SHARED_CAUSES: Readonly<Partial<Record<SharedCode, RealCause>>> = {
  service_disabled: together({ run: runSwitch }, DISABLED_APPROVAL),
  unauthenticated: { run: runCredentials },
  forbidden: { run: runForbidden },
  rate_limited: { run: runRates },
  card_number_refused: byRequests('card_number_refused', [
    ...eachOperation((request) => ({ ...request, path: `${request.path}?unknown=4111%201111%201111%201111` })),
    ...eachOperation(
      (request, id) => ({ ...request, path: pathOf(id, CARD_NUMBER) }),
      (id) => OPERATIONS[id].path.includes('{'),
    ),
    ...eachOperation((request) => ({ ...request, headers: [['Idempotency-Key', CARD_NUMBER]] })),
    ...KEYED_IDS.filter(ignoresMembers).map((id) => withMembers(id, { unknown: { deep: [CARD_NUMBER] } })),
    ...KEYED_IDS.filter(ignoresMembers).map((id) => withMembers(id, { [CARD_NUMBER]: true })),
  ]),
  route_not_found: byRequests('route_not_found', [
    { request: { method: 'POST', path: '/api/v9/core/transfer', body: '{"amount":1,"card_id":"card_active"}' } },
    { request: { method: 'GET', path: '/errors/nothing' } },
    { request: { method: 'HEAD', path: '/nothing' } },
    { request: { method: 'POST', path: pathOf('create_deposit', '') } },
  ]),
  method_not_allowed: byRequests('method_not_allowed', [
    ...OPERATION_IDS.map((id) => ({ request: { method: 'PUT', path: pathOf(id, 'x') } })),
    { request: { method: 'POST', path: '/errors' } },
  ]),
  malformed_request: byRequests('malformed_request', [
    ...eachOperation((request) => withHeader(withHeader(request, 'Origin', 'http://localhost'), 'Origin', 'null')),
    { request: { method: 'GET', path: '/%zz' } },
    { request: { method: 'get', path: '/' } },
  ]),
  unsupported_media_type: byRequests('unsupported_media_type', [
    ...eachOperation((request) => withHeader(request, 'Content-Type', 'text/xml'), hasBody),
    ...eachOperation((request) => withHeader(request, 'Content-Encoding', 'gzip'), hasBody),
  ]),
  payload_too_large: byRequests('payload_too_large', [
    ...eachOperation((request, id) => {
      const most = OPERATIONS[id].maxBodyBytes ?? 0;
      return { ...request, body: ' '.repeat(most + 1) };
    }, hasBody),
  ]),
  uri_too_long: byRequests(
    'uri_too_long',
    OPERATION_IDS.filter((id) => OPERATIONS[id].path.includes('{')).map((operation) => ({
      operation,
      request: { method: OPERATIONS[operation].method, path: pathOf(operation, 'x'.repeat(256)) },
    })),
  ),
  headers_too_large: byRequests('headers_too_large', [
    ...eachOperation((request) => ({
      ...request,
      headers: [...(request.headers ?? []), ...Array.from({ length: 100 }, (_, at) => [`x-${at}`, 'x'] as const)],
    })),
  ]),
  request_timeout: { run: runSlowness },
  expectation_failed: byRequests(
    'expectation_failed',
    eachOperation((request) => withHeader(request, 'Expect', 'wonders')),
  ),
  service_unavailable: { run: runClosing },
  unknown_request: {
    run: ({ damaged }) =>
      runAll(damaged.url, 'unknown_request', [
        { request: { method: 'GET', path: '/openapi.json' } },
        { request: { method: 'HEAD', path: '/openapi.json' } },
      ]),
  },
  ...TRANSFER_CAUSES,
  ...WEBHOOK_CAUSES,
  ...SUPPORT_CAUSES,
  ...APPROVAL_CAUSES,
  program_not_found: { run: runNoProgram },
  connector_not_found: { run: runNoConnector },
  key_not_found: aboutNone('key_not_found', 'key_id', `key_${NO_ID}`, 'key_missing'),
  session_not_found: together(
    aboutNone('session_not_found', 'session_id', `ses_${NO_ID}`),
    byRequests('session_not_found', [
      { operation: 'delete_session', request: { method: 'DELETE', path: OPERATIONS.delete_session.path } },
    ]),
  ),
  break_not_found: aboutNone('break_not_found', 'break_id', `brk_${NO_ID}`, 'brk_missing'),
  move_in_not_found: aboutNone('move_in_not_found', 'move_in_id', `mvi_${NO_ID}`, 'mvi_missing'),
  comparison_not_found: aboutNone('comparison_not_found', 'comparison_id', `cmp_${NO_ID}`, 'cmp_missing'),
  settlement_file_not_found: aboutNone('settlement_file_not_found', 'file_id', `stl_${NO_ID}`, 'stl_missing'),
  person_not_found: together(
    aboutNone('person_not_found', 'person_id', `per_${NO_ID}`, 'per_missing'),
    byRequests('person_not_found', [withMembers('create_key', { person_id: `per_${NO_ID}` })]),
  ),
  error_not_found: aboutNone('error_not_found', 'request_id', `req_${NO_ID}`, 'req_missing'),
  request_not_found: together(
    aboutNone('request_not_found', 'request_id', `req_${NO_ID}`, 'req_missing'),
    CASE_ABOUT_NO_REQUEST,
  ),
  event_not_found: together(
    aboutNone('event_not_found', 'event_id', `evt_${NO_ID}`, 'evt_missing'),
    RESENT_WITHOUT_EVENT,
  ),
  events_expired: { run: runExpired },
  precondition_failed: { run: runOldVersions },
  invalid_idempotency_key: byRequests('invalid_idempotency_key', [
    ...eachOperation((request) => ({ ...request, headers: [['Idempotency-Key', '']] }), takesKey),
    ...eachOperation((request) => ({ ...request, headers: [['Idempotency-Key', 'k'.repeat(256)]] }), takesKey),
    ...eachOperation((request) => withHeader(request, 'Idempotency-Key', 'another'), takesKey),
    ...eachOperation((request) => ({ ...request, headers: [] }), isMoneyOfOperators),
  ]),
};

/** Sends changes with an outdated version of the record. */
async function runOldVersions(world: World): Promise<readonly Result[]> {
  const { client } = world.sandbox;
  const attempts: Attempt[] = [];
  for (const operation of OPERATION_IDS.filter(takesIfMatch)) {
    const { method = '', path = '', body } = toRaw(operation, await partsOf(operation, thingsOf(client)));
    const headers = { 'If-Match': '"an-older-version"' };
    const request = toRequest({ method, path, headers, ...(body && { body: JSON.stringify(body) }) });
    attempts.push({ operation, request });
  }
  try {
    return await runRefused(world, 'precondition_failed', attempts);
  } finally {
    for await (const { webhook_id } of client.operatorWebhooks.listAll())
      await client.operatorWebhooks.delete(webhook_id);
  }
}

/**
 * Calls every operation of a live service without a key and with an invalid key. Calls the operations of a sandbox with
 * an invalid key.
 */
async function runCredentials({ sandbox, live }: World): Promise<readonly Result[]> {
  const isSandboxOnly = (id: OperationId): boolean => OPERATIONS[id].reach === 'sandbox';
  const bad = (request: RequestSpec): RequestSpec => ({ ...request, headers: [bearer('nonsense')] });
  const unknown = (request: RequestSpec): RequestSpec => ({ ...request, headers: [bearer(unknownKey())] });
  const isLive = (id: OperationId): boolean => !isSandboxOnly(id);
  return [
    ...(await runAll(
      live.url,
      'unauthenticated',
      eachOperation((request) => request, isLive),
    )),
    ...(await runAll(live.url, 'unauthenticated', eachOperation(unknown, isLive))),
    ...(await runAll(sandbox.url, 'unauthenticated', eachOperation(bad))),
  ];
}

/** Returns a well-formed key that was never created. Its checksum is valid. */
export function unknownKey(): string {
  const parts = `${'0'.repeat(16)}_${'0'.repeat(64)}`;
  return `ts_${parts}${crc32(parts).toString(16).padStart(8, '0')}`;
}

/**
 * Calls a sandbox without keys from a page on a different site. Also uses a program's key for operators' operations and for
 * another program.
 */
async function runForbidden({ sandbox, live, programKey }: World): Promise<readonly Result[]> {
  const foreign = (request: RequestSpec): RequestSpec => withHeader(request, 'Origin', 'https://example.com');
  const asProgram = (request: RequestSpec): RequestSpec => ({ ...request, headers: [bearer(programKey)] });
  const elsewhere = (request: RequestSpec): RequestSpec => ({
    ...request,
    headers: [bearer(programKey), ['Program-Id', NO_PROGRAM]],
  });
  const isOperators = (id: OperationId): boolean => OPERATIONS[id].reach === 'operator';
  const hasScope = (id: OperationId): boolean => isOperators(id) || OPERATIONS[id].reach === 'program';
  const keyWith = async (scope: KeyScope): Promise<string> =>
    (await withSecret(sandbox.client.keys.create({ name: 'idle', scopes: [scope], all_programs: true }))).key;
  const keys = { errors: await keyWith('errors:read'), webhooks: await keyWith('webhooks:read') };
  const withoutScope = (request: RequestSpec, id: OperationId): RequestSpec => ({
    ...request,
    headers: [bearer(OPERATIONS[id].scope === 'errors:read' ? keys.webhooks : keys.errors)],
  });
  return [
    ...(await runAll(sandbox.url, 'forbidden', eachOperation(foreign))),
    ...(await runAll(live.url, 'forbidden', eachOperation(withoutScope, hasScope))),
    ...(await runAll(live.url, 'forbidden', eachOperation(asProgram, isOperators))),
    ...(await runAll(
      live.url,
      'forbidden',
      eachOperation(elsewhere, (id) => OPERATIONS[id].reach === 'program'),
    )),
  ];
}

/** Starts a service that allows one request per second. It refuses every request after the first ten. */
async function runRates({ sandbox, dataDirectory }: World): Promise<readonly Result[]> {
  const { databaseUrl } = await embeddedServerOf(dataDirectory);
  const directory = await temporaryDirectory();
  const limited = await startService({
    DATABASE_URL: databaseUrl,
    DATA_DIR: directory.path,
    RATE_LIMIT_PER_ADDRESS: '1',
  });
  try {
    const results = [await runRateSample(limited.url)];
    for (const { request, operation } of eachOperation((one) => ({ ...one, headers: [bearer('nonsense')] }))) {
      // An invalid key uses up the address's allowance, so the next request is refused.
      let response = await send(limited.url, request);
      for (let tries = 0; response.status === 401 && tries < 20; tries += 1)
        response = await send(limited.url, request);
      results.push({ response, expected: { code: 'rate_limited', operation, method: request.method } });
    }
    // The limit does not affect pages or other services.
    await expectOk(limited.url, '/health/ready');
    await expectOk(sandbox.url, TRANSFER);
    return results;
  } finally {
    await limited.stop();
    await directory.remove();
  }
}

/** Requests events from a sandbox that treats the demo program's first three events as expired. */
async function runExpired({ sandbox, dataDirectory }: World): Promise<readonly Result[]> {
  const code = 'events_expired';
  const client = new pg.Client((await embeddedServerOf(dataDirectory)).databaseUrl);
  await client.connect();
  const deleteUpTo = (number: string) => client.query(`update event_deletion set up_to_number = ${number}`);
  try {
    await waitFor('a fourth event', async () => (await sandbox.client.events.list()).data.length > 3);
    await deleteUpTo(`(select number + 3 - position from event_position
      where program_id = '${fromWireId('prog', DEMO_PROGRAM)}' and position <= 3 order by position desc limit 1)`);
    const [sample] = await runAll(sandbox.url, code, [{ operation: 'list_events', request: sampleRequest(code) }]);
    const stream = {
      method: 'GET',
      headers: [
        ['Accept', 'text/event-stream'],
        ['Last-Event-ID', '1'],
      ],
    } as const;
    const others = await runAll(sandbox.url, code, [
      get('search_events', `${OPERATIONS.search_events.path}?after=0`),
      get('list_events', `${OPERATIONS.list_events.path}?after=2&type=card.*`),
      { operation: 'list_events', request: { ...stream, path: OPERATIONS.list_events.path } },
      withMembers('create_webhook', { after: 1 }),
      withMembers('create_operator_webhook', { after: 1 }),
    ]);
    return [...(sample === undefined ? [] : [{ ...sample, isSample: true }]), ...others];
  } finally {
    await deleteUpTo('0');
    await client.end();
  }
}

/** Repeats the request of the sample until the address has reached its limit. */
async function runRateSample(url: string): Promise<Result> {
  const code = 'rate_limited';
  let response = await send(url, sampleRequest(code));
  for (let tries = 0; response.status === 200 && tries < 20; tries += 1)
    response = await send(url, sampleRequest(code));
  return { response, expected: { code, operation: 'list_transfers' }, isSample: true };
}

async function expectOk(url: string, path: string): Promise<void> {
  const { status } = await send(url, { method: 'GET', path });
  if (status !== 200) throw new Error(`GET ${path} was answered with ${status}`);
}

/** Names an unknown program in the Program-Id header, in the path and in the body. */
async function runNoProgram({ sandbox, live, operatorKey }: World): Promise<readonly Result[]> {
  const named = (request: RequestSpec): RequestSpec => withHeader(request, 'Program-Id', NO_PROGRAM);
  const asOperator = (request: RequestSpec): RequestSpec => withHeader(named(request), ...bearer(operatorKey));
  const inProgram = (id: OperationId): boolean => OPERATIONS[id].reach === 'program';
  const inPath = (id: OperationId): boolean => OPERATIONS[id].path.includes('{program_id}');
  const missing = (request: RequestSpec, id: OperationId): RequestSpec => ({
    ...request,
    path: pathOf(id, NO_PROGRAM),
  });
  return [
    ...(await runAll(sandbox.url, 'program_not_found', eachOperation(named, inProgram))),
    ...(await runAll(live.url, 'program_not_found', eachOperation(asOperator, inProgram))),
    ...(await runAll(sandbox.url, 'program_not_found', eachOperation(missing, inPath))),
    ...(await runAll(sandbox.url, 'program_not_found', [
      withMembers('change_switch', { program_id: NO_PROGRAM }),
      withQuery('preview_switch', `program_id=${NO_PROGRAM}`),
      withMembers('create_key', { program_id: NO_PROGRAM }),
      withMembers('create_operator_webhook', { program_id: NO_PROGRAM }),
      withMembers('create_incident', { scope: 'program', program_id: NO_PROGRAM }),
      withMembers('create_move_in', { program_id: NO_PROGRAM }),
      withMembers('create_comparison', { program_id: NO_PROGRAM }),
    ])),
  ];
}

/** Names a connector that is not in the settings. */
async function runNoConnector({ sandbox }: World): Promise<readonly Result[]> {
  return runAll(sandbox.url, 'connector_not_found', [
    withMembers('change_switch', { connector_id: 'missing' }),
    withMembers('create_settlement_file', { connector_id: 'missing' }),
    withQuery('preview_switch', 'connector_id=missing'),
  ]);
}

/** Reads the responses to the two requests that were begun when the services started and never finished. */
async function runSlowness({ slow }: World): Promise<readonly Result[]> {
  const code = 'request_timeout';
  const expected = { code, method: 'POST' } as const;
  return [
    { response: await slow.head.next(), expected: { ...expected, operation: undefined } },
    { response: await slow.body.next(), expected: { ...expected, operation: 'create_transfer' }, isSample: true },
  ];
}

/**
 * Calls a service that is shutting down but still waits for a transfer. It refuses new requests to all operations. Also
 * reads the readiness of a sandbox whose database is stopped.
 */
async function runClosing(world: World): Promise<readonly Result[]> {
  const { damaged, sandbox, dataDirectory } = world;
  const port = Number(new URL(damaged.url).port);
  const code = 'service_unavailable';
  const attempts = eachOperation((request, id) => (id === 'create_transfer' ? sampleRequest(code) : request));
  const holder = new pg.Client((await embeddedServerOf(dataDirectory)).databaseUrl);
  await holder.connect();
  await holder.query('begin; select from account for update');
  const half = await RawConnection.open(port);
  half.send('GET / HTTP/1.1\r\nHost: loc');
  const open = await Promise.all(attempts.map(() => RawConnection.open(port)));
  // This transfer keeps the service running until all other requests have their responses.
  const begun = await RawConnection.open(port);
  begun.send(bytesOf({ method: 'POST', path: TRANSFER, body: '{"amount": 1, "card_id": "card_active"}' }));
  // Once a later connection has its response, the service has accepted all earlier ones.
  const last = await RawConnection.open(port);
  last.send(bytesOf({ method: 'GET', path: '/health/live' }));
  await last.next();
  last.close();
  damaged.child.kill('SIGTERM');
  await waitFor('the port to refuse', async () => !(await isOpen(port)));
  const results: Result[] = [];
  for (const [at, { request }] of attempts.entries()) open[at]?.send(bytesOf(request));
  for (const [at, { request, operation }] of attempts.entries()) {
    const response = await open[at]?.next(request.method);
    const isSample = operation === 'create_transfer';
    if (response !== undefined) {
      results.push({ response, expected: { code, operation, method: request.method }, isSample });
    }
  }
  await holder.end();
  const { status, body } = await begun.next();
  if (status !== 201) throw new Error(`the transfer in progress was not finished: ${body}`);
  results.push({ response: await half.next(), expected: { code, operation: undefined } });
  await stopDatabase(sandbox.url);
  try {
    const ready: Attempt = { request: { method: 'GET', path: '/health/ready' } };
    results.push(...(await runAll(sandbox.url, code, [ready])));
  } finally {
    await startDatabase(sandbox.url);
  }
  return results;
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
