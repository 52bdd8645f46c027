import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../../contract/error.ts';
import { ERROR_CODES, ERRORS, familyOf } from '../../contract/errors/catalogue.ts';
import { type ErrorCode, precedenceOf } from '../../contract/operations.ts';
import { waitFor } from '../harness/process.ts';
import type { RawResponse } from '../harness/raw-connection.ts';
import { expectBalancedBooks } from '../harness/service.ts';
import { expectResponse } from './expect-response.ts';
import { isReady, REAL_CAUSES, VANISHED_LEDGER } from './operation-causes.ts';
import { KEYED_IDS, type Result } from './real-cause.ts';
import { expectOnTransfer, expectSample, runSample, sampleRequest } from './sample.ts';
import { send } from './send.ts';
import { startDatabase, startWorld, stopDatabase, type World } from './world.ts';

let world: World;
/** `<operation> <code>` for each response so far. */
const seen = new Set<string>();

beforeAll(async () => {
  world = await startWorld();
});

afterAll(async () => {
  await world.end();
});

async function expectResults(results: readonly Result[]): Promise<void> {
  expect(results.length).toBeGreaterThan(0);
  for (const { response, expected, isSample } of results) {
    expectResponse(response, expected);
    if (isSample) expectSample(expected.code, response);
    seen.add(`${expected.operation} ${expected.code}`);
  }
}

async function expectCauses(code: ErrorCode): Promise<void> {
  const causes = REAL_CAUSES[code];
  if (causes !== undefined) await expectResults(await causes.run(world));
}

async function expectSampleResult(code: ErrorCode, response: RawResponse): Promise<void> {
  if (ERRORS[code].sample.isOnTransfer === true) return expectOnTransfer(code, response);
  const { operation, method } = ERRORS[code].sample.request;
  await expectResults([{ response, expected: { code, operation, method }, isSample: true }]);
}

/** Codes whose samples need a condition that requests cannot create. The files in this folder create the condition. */
const UNDER_CONDITION = ERROR_CODES.filter(
  (code) => typeof ERRORS[code].sample.given === 'string' && ERRORS[code].sample.given !== 'an OpenID provider',
);
/**
 * Codes to test last. `service_unavailable` stops a service that the other tests need. `request_timeout` needs a
 * request that has been open since the services started.
 */
const LAST: readonly ErrorCode[] = ['request_timeout', 'service_unavailable'];
/** Codes whose samples need a signature. `test/api/processors/notices.test.ts` causes them. */
const SIGNED: readonly ErrorCode[] = ['receive_notice_schema', 'notice_id_reused', 'unknown_receive_notice'];
/** Codes whose samples need an OpenID provider. `test/security/sign-in` causes them. */
const OF_SIGN_IN = ERROR_CODES.filter((code) => ERRORS[code].sample.given === 'an OpenID provider');
const DATABASE_STOPPED = ERROR_CODES.filter((code) => familyOf(code)?.kind === 'unknown' && !SIGNED.includes(code));
const OTHERS = ERROR_CODES.filter((code) => ![...DATABASE_STOPPED, ...LAST, ...SIGNED, ...OF_SIGN_IN].includes(code));

test('only these samples need a condition that requests cannot create', () => {
  expect([...UNDER_CONDITION].sort()).toEqual([
    'approval_pending',
    'case_message_limit',
    'events_expired',
    'invalid_approval_status',
    'operator_limit_exceeded',
    'own_approval',
    'rate_limited',
    'replay_running',
    'request_timeout',
    'service_unavailable',
    'webhook_limit',
  ]);
  for (const code of UNDER_CONDITION) expect(REAL_CAUSES).toHaveProperty(code);
});

describe('the sample and every other cause return', () => {
  test.each(OTHERS)('%s', async (code) => {
    if (!UNDER_CONDITION.includes(code)) await expectSampleResult(code, await runSample(world.sandbox.url, code));
    await expectCauses(code);
  });

  test('unknown_start_database if the server cannot start', async () => {
    await expectResults(await VANISHED_LEDGER.run(world));
  });
});

describe('while the database is stopped, the sample returns', () => {
  beforeAll(() => stopDatabase(world.sandbox.url));
  afterAll(() => startDatabase(world.sandbox.url));

  test.each(DATABASE_STOPPED)('%s', async (code) => {
    const { given, after } = ERRORS[code].sample;
    expect([given, after]).toEqual([[call('stop_database')], [call('start_database')]]);
    const response = await send(world.sandbox.url, sampleRequest(code));
    await expectSampleResult(code, response);
    expect(response.headers.get('retry-after')).toBe('1');
    await expectCauses(code);
  });
});

describe('the last causes return', () => {
  test.each(LAST)('%s', expectCauses);
});

test('every operation has returned each code that it lists, except HTTP faults', () => {
  const unseen = KEYED_IDS.flatMap((id) => {
    const listed = precedenceOf(id);
    const own = listed.slice(listed.indexOf('unauthenticated')).filter((code) => !OF_SIGN_IN.includes(code));
    return own.map((code) => `${id} ${code}`);
  }).filter((pair) => !seen.has(pair));
  expect(unseen).toEqual([]);
});

test('creates transfers and leaves the books balanced', async () => {
  // After a failed commit, the service takes a few seconds to become ready again.
  await waitFor('the service to be ready', () => isReady(world));
  const { transfers } = world.sandbox.client;
  expect((await transfers.create({ amount: 1, card_id: 'card_active' })).status).toBe('completed');
  await expectBalancedBooks(world.sandbox);
});
