import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../../contract/error.ts';
import { ERROR_CODES, ERRORS, familyOf } from '../../contract/errors/catalogue.ts';
import { type ErrorCode, OPERATION_IDS, precedenceOf } from '../../contract/operations.ts';
import { waitFor } from '../harness/process.ts';
import type { RawResponse } from '../harness/raw-connection.ts';
import { expectBalancedBooks } from '../harness/service.ts';
import { ask } from './ask.ts';
import { expectAnswer } from './expect-answer.ts';
import { isWell, REAL_CAUSES, VANISHED_LEDGER } from './operation-causes.ts';
import type { Observation } from './real-cause.ts';
import { expectSample, runSample, sampleQuestion } from './sample.ts';
import { startDatabase, startWorld, stopDatabase, type World } from './world.ts';

let world: World;
/** `<operation> <code>` for each answer that was seen. */
const seen = new Set<string>();

beforeAll(async () => {
  world = await startWorld();
});

afterAll(async () => {
  await world.end();
});

async function prove(observations: readonly Observation[]): Promise<void> {
  expect(observations.length).toBeGreaterThan(0);
  for (const { answer, expected, isSample } of observations) {
    expectAnswer(answer, expected);
    if (isSample) expectSample(expected.code, answer);
    seen.add(`${expected.operation} ${expected.code}`);
  }
}

async function proveCauses(code: ErrorCode): Promise<void> {
  const causes = REAL_CAUSES[code];
  if (causes !== undefined) await prove(await causes.observe(world));
}

async function proveSample(code: ErrorCode, answer: RawResponse): Promise<void> {
  const { operation, method } = ERRORS[code].sample.request;
  await prove([{ answer, expected: { code, operation, method }, isSample: true }]);
}

/** Codes whose samples need a condition that requests cannot create; their causes in this folder create it. */
const UNDER_CONDITION = ERROR_CODES.filter((code) => typeof ERRORS[code].sample.given === 'string');
/**
 * The service that shuts down for `service_unavailable` is needed until then, and a request that was begun when the
 * services started takes its time to become a `request_timeout`.
 */
const LAST: readonly ErrorCode[] = ['request_timeout', 'service_unavailable'];
const DATABASE_STOPPED = ERROR_CODES.filter((code) => familyOf(code)?.kind === 'unknown');
const OTHERS = ERROR_CODES.filter((code) => !DATABASE_STOPPED.includes(code) && !LAST.includes(code));

test('requests are enough for every sample but these', () => {
  expect([...UNDER_CONDITION].sort()).toEqual(['rate_limited', 'request_timeout', 'service_unavailable']);
  for (const code of UNDER_CONDITION) expect(REAL_CAUSES).toHaveProperty(code);
});

describe('the sample, and every other cause, gets', () => {
  test.each(OTHERS)('%s', async (code) => {
    if (!UNDER_CONDITION.includes(code)) await proveSample(code, await runSample(world.sandbox.url, code));
    await proveCauses(code);
  });

  test('unknown_start_database, when the server cannot start', async () => {
    await prove(await VANISHED_LEDGER.observe(world));
  });
});

describe('a stopped database causes', () => {
  beforeAll(() => stopDatabase(world.sandbox.url));
  afterAll(() => startDatabase(world.sandbox.url));

  test.each(DATABASE_STOPPED)('%s', async (code) => {
    const { given, after } = ERRORS[code].sample;
    expect([given, after]).toEqual([[call('stop_database')], [call('start_database')]]);
    await proveSample(code, await ask(world.sandbox.url, sampleQuestion(code)));
    await proveCauses(code);
  });
});

describe('finally, its causes get', () => {
  test.each(LAST)('%s', proveCauses);
});

test('every code that an operation lists, beyond faults of HTTP itself, it has really answered with', () => {
  const unseen = OPERATION_IDS.flatMap((id) => {
    const listed = precedenceOf(id);
    return listed.slice(listed.indexOf('unauthenticated')).map((code) => `${id} ${code}`);
  }).filter((pair) => !seen.has(pair));
  expect(unseen).toEqual([]);
});

test('after all that, the service is well and its books balance', async () => {
  // For some seconds after a commit failed, the service says that it is not ready.
  await waitFor('the service to be ready', () => isWell(world));
  await expectBalancedBooks(world.sandbox);
});
