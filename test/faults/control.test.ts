import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RawResponse } from '../harness/raw-request.ts';
import { type Attempt, type Heard, newAttempts, prepare, send } from './attempt.ts';
import { openStage, type Stage } from './stage.ts';
import { judge } from './verdict.ts';

// Shows that the checks of the other tests can fail: they must detect each false response here.

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});

afterAll(async () => {
  await stage.end();
});

function forged(status: number, moneyMoved: string | undefined, more: Record<string, string> = {}): Heard {
  const headers = { ...(moneyMoved === undefined ? {} : { 'money-moved': moneyMoved }), ...more };
  const response: RawResponse = { status, headers, text: '', fields: {} };
  return { response, milliseconds: 1 };
}

const judged = (attempt: Attempt, heard: Heard) => judge(stage, { step: 'control', fault: 'a lie' }, attempt, heard);

describe.each(newAttempts().map(({ operation, key }, at) => [operation, key === null ? 'no' : 'a', at] as const))(
  'of %s with %s key',
  (_operation, _key, at) => {
    const attemptOf = async (): Promise<Attempt> => {
      const attempt = newAttempts()[at];
      if (attempt === undefined) throw new Error('there is no such request');
      await prepare(stage, attempt);
      return attempt;
    };

    test('detects "no" for a request that moved money', async () => {
      const attempt = await attemptOf();
      expect((await send(stage, attempt)).response?.status).toBeLessThan(300);
      await expect(judged(attempt, forged(500, 'no', { 'should-retry': 'true' }))).rejects.toThrow(/a lie/);
    });

    test('detects 201 for a request that moved no money', async () => {
      await expect(judged(await attemptOf(), forged(201, undefined))).rejects.toThrow(/a lie/);
    });

    test('detects a failure without Money-Moved', async () => {
      await expect(judged(await attemptOf(), forged(500, undefined))).rejects.toThrow();
    });

    test('accepts correct responses', async () => {
      const attempt = await attemptOf();
      await judged(attempt, await send(stage, attempt));
    });
  },
);

test('detects advice to retry a request without a key after an unknown outcome', async () => {
  const keyless = newAttempts().find(({ operation, key }) => operation === 'create_transfer' && key === null);
  if (keyless === undefined) throw new Error('there is no request without a key');
  await expect(judged(keyless, forged(500, 'unknown', { 'should-retry': 'true' }))).rejects.toThrow(/a lie/);
});

test('detects money that moved twice', async () => {
  const keyless = newAttempts().find(({ operation, key }) => operation === 'create_transfer' && key === null);
  if (keyless === undefined) throw new Error('there is no request without a key');
  await send(stage, keyless);
  await expect(judged(keyless, await send(stage, keyless))).rejects.toThrow(/a lie/);
});

test('detects a look-up that contradicts the books', async () => {
  const [keyed] = newAttempts();
  if (keyed === undefined) throw new Error('there is no request with a key');
  const never = { 'should-retry': 'true', 'transfer-id': `tr_${'0'.repeat(12)}7${'0'.repeat(3)}8${'0'.repeat(15)}` };
  await send(stage, keyed);
  await expect(judged(keyed, forged(500, 'unknown', never))).rejects.toThrow(/look-up/);
});
