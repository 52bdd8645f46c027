import { expect } from 'vitest';
import { OPERATIONS } from '../../contract/operations.ts';
import { LIMITS } from '../../server/store/connection/session-settings.ts';
import { trialBalance } from '../harness/ledger.ts';
import { type Attempt, type Heard, lookUp, movementsOf, send } from './attempt.ts';
import { type Stage, untilAtRest } from './stage.ts';

/** What a response says of the money: a success says that it moved, silence says nothing. */
export type Outcome = 'made' | 'no' | 'unknown' | 'silence';

/** A line of the table that is printed at the end. */
export type Line = {
  readonly step: string;
  readonly fault: string;
  readonly request: string;
  readonly response: string;
  readonly says: Outcome;
  readonly retry: string;
  readonly moved: number;
  readonly lookedUp: string;
  readonly sentAgain: string;
  readonly milliseconds: number;
};

/** No response takes longer on a machine that is not busy: five seconds, a second of grace, and some to spare. */
const ANSWERED_WITHIN = 8000;

/** What a busy machine adds: so many times what a request takes there that meets no fault, just before and after. */
const SLOWED_MOST = 20;

export function outcomeOf({ response }: Heard): Outcome {
  if (response === undefined) return 'silence';
  if (response.status < 300) return 'made';
  const said = response.headers['money-moved'];
  expect(['no', 'unknown'], `${response.status} ${response.text}`).toContain(said);
  return said === 'no' ? 'no' : 'unknown';
}

/**
 * Holds what was heard against the books, once the fault has gone and nothing is under way any more; then does what
 * the response advises: looks it up, and sends it again where it may be sent again.
 */
export async function judge(
  stage: Stage,
  { step, fault }: Pick<Line, 'step' | 'fault'>,
  attempt: Attempt,
  heard: Heard,
): Promise<Line> {
  await untilAtRest(stage);
  const { operation, key } = attempt;
  const says = outcomeOf(heard);
  const moved = await movementsOf(stage, attempt);
  const retry = String(heard.response?.headers['should-retry'] ?? '');
  const told = `${fault}: ${heard.response?.text ?? 'silence'}`;
  expect(moved, told).toBeLessThanOrEqual(1);
  if (says === 'made') expect(moved, told).toBe(1);
  if (says === 'no') expect(moved, told).toBe(0);
  if (says === 'unknown') expect(retry, told).toBe(String(key !== null));
  expect(heard.milliseconds).toBeLessThan(ANSWERED_WITHIN + SLOWED_MOST * (await takenWithoutFault(stage)));
  const lookedUp = await resolve(stage, attempt, heard, moved);
  const sentAgain = await sendAgain(stage, attempt, says, retry, moved);
  const right = { balanced: true, postings_compared: true, differing_holds: 0 };
  expect(await trialBalance(stage.ledger), told).toMatchObject(right);
  return {
    step,
    fault,
    request: `${operation}${key === null ? '' : ' + key'}`,
    response:
      heard.response === undefined
        ? '-'
        : `${heard.response.status} ${String(heard.response.fields.Code ?? '')}`.trim(),
    says,
    retry,
    moved,
    lookedUp,
    sentAgain,
    milliseconds: Math.round(heard.milliseconds),
  };
}

/** So often, at most, a request is sent on a machine that is too slow. */
export const MAX_TRIES = 10;

/** The control: the slowest of some requests that the service responses after a look into the database, in milliseconds. */
async function takenWithoutFault(stage: Stage): Promise<number> {
  let slowest = 0;
  for (let count = 0; count < 3; count += 1) {
    const begun = performance.now();
    // One that failed counts, too: it shows how slow the machine is.
    await stage
      .service()
      .client.cards.get('card_active')
      .catch(() => undefined);
    slowest = Math.max(slowest, performance.now() - begun);
  }
  return slowest;
}

/** Every look-up that the caller has must say what the books say. */
async function resolve(stage: Stage, attempt: Attempt, { response }: Heard, moved: number): Promise<string> {
  const { operation, key, transferId } = attempt;
  if (operation === 'create_deposit') return '';
  const named = response?.headers['transfer-id'];
  const id = transferId ?? named;
  const found: string[] = [];
  if (typeof id === 'string') {
    expect(named ?? id, 'the transfer that is named').toBe(id);
    expect(await lookUp(stage, attempt, { id }), `look-up of ${id}`).toBe(moved);
    found.push('id');
  }
  // The key of whoever made a transfer finds it; what is done with it later is seen on the transfer.
  if (key !== null && operation === 'create_transfer') {
    expect(await lookUp(stage, attempt, { key }), `look-up by key`).toBe(moved);
    found.push('key');
  }
  return found.join(' ');
}

/** A request that may be sent again, since it has a key or the response says so, then moves the money exactly once. */
async function sendAgain(stage: Stage, attempt: Attempt, says: Outcome, retry: string, moved: number): Promise<string> {
  const mayRepeat = retry === 'true' || attempt.key !== null;
  if (!mayRepeat) {
    expect(says === 'made' || says === 'unknown' || says === 'silence').toBe(true);
    return '';
  }
  for (let tries = 1; ; tries += 1) {
    await untilAtRest(stage);
    const before = await movementsOf(stage, attempt);
    const { response, milliseconds } = await send(stage, attempt);
    const { status = 500, text, headers } = response ?? {};
    const saysNo = headers?.['money-moved'] === 'no';
    // After a fault it opens connections, for which a slow machine may have no time; what it says then is judged, too.
    const isSlow = milliseconds >= LIMITS.lock && tries < MAX_TRIES;
    if (status >= 500 && isSlow && (saysNo || attempt.key !== null)) {
      if (saysNo) expect(await movementsOf(stage, attempt), text).toBe(before);
      continue;
    }
    expect(status, text).toBe(OPERATIONS[attempt.operation].status);
    expect(headers?.['idempotent-replayed']).toBe(before === 1 ? 'true' : undefined);
    expect(await movementsOf(stage, attempt)).toBe(1);
    return moved === 1 ? 'replayed' : 'made';
  }
}

/** The table, in columns. */
export function tableOf(lines: readonly Line[]): string {
  const names = [
    'step',
    'fault',
    'request',
    'response',
    'says',
    'retry',
    'moved',
    'lookedUp',
    'sentAgain',
    'milliseconds',
  ] as const;
  const rows = [names.map(String), ...lines.map((line) => names.map((name) => String(line[name])))];
  const widths = names.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
