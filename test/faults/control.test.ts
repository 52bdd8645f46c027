import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RawResponse } from '../harness/raw-request.ts';
import { type Attempt, type Heard, newAttempts, prepare, send } from './attempt.ts';
import { openStage, type Stage } from './stage.ts';
import { judge } from './verdict.ts';

// Tests the verdict that the other tests rely on. It must detect every false response in this file.

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.end());

function forged(status: number, moneyMoved: string | undefined, more: Record<string, string> = {}): Heard {
  const headers = { ...(moneyMoved === undefined ? {} : { 'money-moved': moneyMoved }), ...more };
  const response: RawResponse = { status, headers, text: '', fields: {} };
  return { response, milliseconds: 1 };
}

const judged = (attempt: Attempt, heard: Heard) => judge(stage, 'a lie', attempt, heard);

async function attemptOf(kind: number): Promise<Attempt> {
  const attempt = newAttempts()[kind];
  if (attempt === undefined) throw new Error('there is no such request');
  await prepare(stage, attempt);
  return attempt;
}

const KINDS = newAttempts().map(({ operation, key }, kind) => [operation, key === null ? 'no' : 'a', kind] as const);

describe.each(KINDS)('the verdict on %s with %s key', (_operation, _key, kind) => {
  test('detects "Money-Moved: no" if money moved', async () => {
    const attempt = await attemptOf(kind);
    expect((await send(stage, attempt)).response?.status).toBeLessThan(300);
    await expect(judged(attempt, forged(500, 'no', { 'should-retry': 'true' }))).rejects.toThrow(/a lie/);
  });

  test('detects a 201 if no money moved', async () => {
    await expect(judged(await attemptOf(kind), forged(201, undefined))).rejects.toThrow(/a lie/);
  });

  test('detects a failure without Money-Moved', async () => {
    await expect(judged(await attemptOf(kind), forged(500, undefined))).rejects.toThrow();
  });
});

/** create_transfer with a key, and without one. */
const [KEYED, KEYLESS] = [0, 2];

test('detects advice to retry a request without a key after an unknown outcome', async () => {
  const lie = forged(500, 'unknown', { 'should-retry': 'true' });
  await expect(judged(await attemptOf(KEYLESS), lie)).rejects.toThrow(/a lie/);
});

test('detects that money moved twice', async () => {
  const keyless = await attemptOf(KEYLESS);
  await send(stage, keyless);
  await expect(judged(keyless, await send(stage, keyless))).rejects.toThrow(/a lie/);
});

test('detects a look-up that contradicts the books', async () => {
  const keyed = await attemptOf(KEYED);
  const never = { 'should-retry': 'true', 'transfer-id': `tr_${'0'.repeat(12)}7${'0'.repeat(3)}8${'0'.repeat(15)}` };
  await send(stage, keyed);
  await expect(judged(keyed, forged(500, 'unknown', never))).rejects.toThrow(/look-up/);
});
