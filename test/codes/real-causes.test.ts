import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../contract/catalogue.ts';
import { OPERATION_IDS, precedenceOf } from '../../contract/operations.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { waitFor } from '../harness/process.ts';
import { expectBalancedBooks } from '../harness/service.ts';
import { expectAnswer } from './expect-answer.ts';
import { isWell, REAL_CAUSES, VANISHED_LEDGER } from './operation-causes.ts';
import type { RealCause } from './real-cause.ts';
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

async function prove({ observe }: RealCause): Promise<void> {
  const observations = await observe(world);
  expect(observations.length).toBeGreaterThan(0);
  for (const { answer, expected } of observations) {
    expectAnswer(answer, expected);
    seen.add(`${expected.operation} ${expected.code}`);
  }
}

/**
 * The service that is closed to see `service_unavailable` is needed until then, and a request that began with the test
 * takes its time to become a `request_timeout`.
 */
const LAST: readonly ErrorCode[] = ['request_timeout', 'service_unavailable'];
const ofStopped = ERROR_CODES.filter((code) => REAL_CAUSES[code].given === 'the database is stopped');
const others = ERROR_CODES.filter((code) => !ofStopped.includes(code) && !LAST.includes(code));

test('the table of causes and the catalogue have the same codes', () => {
  expect(Object.keys(REAL_CAUSES).sort()).toEqual([...ERROR_CODES].sort());
});

describe('its real cause brings about', () => {
  test.each(others)('%s', async (code) => {
    await prove(REAL_CAUSES[code]);
  });

  test('unknown_start_database, when the server cannot start', async () => {
    await prove(VANISHED_LEDGER);
  });
});

describe('a database that is really stopped brings about', () => {
  beforeAll(() => stopDatabase(world.sandbox.url));
  afterAll(() => startDatabase(world.sandbox.url));

  test.each(ofStopped)('%s', async (code) => {
    await prove(REAL_CAUSES[code]);
  });
});

describe('at last its real cause brings about', () => {
  test.each(LAST)('%s', async (code) => {
    await prove(REAL_CAUSES[code]);
  });
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
