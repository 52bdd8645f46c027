import { expect } from 'vitest';
import { OPERATIONS } from '../../contract/operations.ts';
import { LIMITS } from '../../server/store/connection/session-settings.ts';
import { trialBalance } from '../harness/ledger.ts';
import { type Attempt, type Heard, lookUp, movementsOf, send } from './attempt.ts';
import { type Stage, untilAtRest } from './stage.ts';

/** The outcome that a response reports: a success means that the money moved. `silence` means no response. */
export type Outcome = 'made' | 'no' | 'unknown' | 'silence';

/**
 * The longest duration of a response on an idle machine, in milliseconds: five seconds, a second of grace and a margin.
 */
const ANSWERED_WITHIN = 8000;

/** On a busy machine, a response may take longer: up to this multiple of the duration of a request without a fault. */
const SLOWED_MOST = 20;

export function outcomeOf({ response }: Heard): Outcome {
  if (response === undefined) return 'silence';
  if (response.status < 300) return 'made';
  const said = response.headers['money-moved'];
  expect(['no', 'unknown'], `${response.status} ${response.text}`).toContain(said);
  return said === 'no' ? 'no' : 'unknown';
}

/**
 * Compares a response with the books, once the fault is gone and the database is at rest. Then follows the response's
 * advice: looks up the transfer, and sends the request again if a retry is allowed.
 */
export async function judge(stage: Stage, fault: string, attempt: Attempt, heard: Heard): Promise<void> {
  await untilAtRest(stage);
  const { key } = attempt;
  const says = outcomeOf(heard);
  const moved = await movementsOf(stage, attempt);
  const retry = String(heard.response?.headers['should-retry'] ?? '');
  const label = `${fault}: ${heard.response?.text ?? 'silence'}`;
  expect(moved, label).toBeLessThanOrEqual(1);
  if (says === 'made') expect(moved, label).toBe(1);
  if (says === 'no') expect(moved, label).toBe(0);
  if (says === 'unknown') expect(retry, label).toBe(String(key !== null));
  expect(heard.milliseconds).toBeLessThan(ANSWERED_WITHIN + SLOWED_MOST * (await takenWithoutFault(stage)));
  await resolve(stage, attempt, heard, moved);
  await sendAgain(stage, attempt, says, retry);
  const right = { balanced: true, postings_compared: true, differing_holds: 0 };
  expect(await trialBalance(stage.ledger), label).toMatchObject(right);
}

/** The maximum number of tries if the machine is too slow. */
export const MAX_TRIES = 10;

/** Returns the duration of the slowest of three reads without a fault, in milliseconds. */
async function takenWithoutFault(stage: Stage): Promise<number> {
  let slowest = 0;
  for (let count = 0; count < 3; count += 1) {
    const begun = performance.now();
    // A failed read also counts, because it shows how slow the machine is.
    await stage
      .service()
      .client.cards.get('card_active')
      .catch(() => undefined);
    slowest = Math.max(slowest, performance.now() - begun);
  }
  return slowest;
}

/** Checks that every look-up that the caller can make agrees with the books. */
async function resolve(stage: Stage, attempt: Attempt, { response }: Heard, moved: number): Promise<void> {
  const { operation, key, transferId } = attempt;
  if (operation === 'create_deposit') return;
  const named = response?.headers['transfer-id'];
  const id = transferId ?? named;
  if (typeof id === 'string') {
    expect(named ?? id, 'the transfer named in the response').toBe(id);
    expect(await lookUp(stage, attempt, { id }), `look-up of ${id}`).toBe(moved);
  }
  // Only the key of the request that created a transfer finds it. Later changes are visible on the transfer.
  if (key !== null && operation === 'create_transfer') {
    expect(await lookUp(stage, attempt, { key }), `look-up by key`).toBe(moved);
  }
}

/** Sends a request again if it has a key or if the response allows it. The money must then have moved exactly once. */
async function sendAgain(stage: Stage, attempt: Attempt, says: Outcome, retry: string): Promise<void> {
  const mayRepeat = retry === 'true' || attempt.key !== null;
  if (!mayRepeat) {
    expect(says === 'made' || says === 'unknown' || says === 'silence').toBe(true);
    return;
  }
  for (let tries = 1; ; tries += 1) {
    await untilAtRest(stage);
    const before = await movementsOf(stage, attempt);
    const { response, milliseconds } = await send(stage, attempt);
    const { status = 500, text, headers } = response ?? {};
    const saysNo = headers?.['money-moved'] === 'no';
    // After a fault, the service must open connections, and a slow machine may lack the time for that. The response is
    // checked in that case too.
    const isSlow = milliseconds >= LIMITS.lock && tries < MAX_TRIES;
    if (status >= 500 && isSlow && (saysNo || attempt.key !== null)) {
      if (saysNo) expect(await movementsOf(stage, attempt), text).toBe(before);
      continue;
    }
    expect(status, text).toBe(OPERATIONS[attempt.operation].status);
    expect(headers?.['idempotent-replayed']).toBe(before === 1 ? 'true' : undefined);
    expect(await movementsOf(stage, attempt)).toBe(1);
    return;
  }
}
