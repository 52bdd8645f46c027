import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { LIMIT_NAMES, PERIODS, type Period } from '../../domain/ledger/limits.ts';
import type { TransferRecord } from '../../sdk/client.ts';
import { calendarAt, dayIn } from '../harness/local-time.ts';
import { waitFor } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { isThorough } from '../harness/run/ring.ts';
import { expectBalancedBooks, refusalOf, useService } from '../harness/service.ts';
import { type LimitedCard, limitedProgram, midweek, setClock } from './transfers/limited.ts';

const running = useService();
const client = () => running().client;
const moveTo = (moment: number): Promise<void> => setClock(client(), moment);
const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];

afterEach(() => client().sandbox.moveClock({ seconds_ahead: 0 }));
afterAll(() => expectBalancedBooks(running()));

describe('move_clock', () => {
  test('moves the clock of the service forward and back', async () => {
    for (const seconds of [3600, 315_360_000, 5, 0]) {
      const asked = Date.now();
      const moved = await client().sandbox.moveClock({ seconds_ahead: seconds });
      expect(moved.seconds_ahead).toBe(seconds);
      expect((await client().sessions.current()).sandbox_seconds_ahead).toBe(seconds);
      const { created_at } = await client().transfers.create({ amount: 1, card_id: 'card_active' });
      const moments = [asked + seconds * SECOND, moved.now, created_at, Date.now() + seconds * SECOND];
      const times = moments.map((moment) => new Date(moment).getTime());
      // The times must ascend. The 2 ms allow for clocks that are only accurate to the millisecond.
      for (const [at, time] of times.entries()) expect(time).toBeGreaterThanOrEqual((times[at - 1] ?? 0) - 2);
    }
  });

  test('puts the time of a record into its id, so that lists by time find the record even if the clock was moved', async () => {
    const { card_id } = await client().cards.create({});
    const made = new Map<number, TransferRecord>();
    for (const seconds of [0, 86_400, 315_360_000, 5]) {
      await client().sandbox.moveClock({ seconds_ahead: seconds });
      made.set(seconds, await client().transfers.create({ amount: 1, card_id }));
    }
    for (const { transfer_id, created_at } of made.values()) {
      expect(Number.parseInt(transfer_id.slice(3, 15), 16)).toBe(Date.parse(created_at));
      const created_to = new Date(Date.parse(created_at) + 1).toISOString();
      const { data } = await client().transfers.list({ card_id, created_from: created_at, created_to });
      expect(data.map((found) => found.transfer_id)).toEqual([transfer_id]);
    }
    const { data } = await client().transfers.list({ card_id });
    const times = data.map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted().reverse());
    expect(new Set(data.map(({ transfer_id }) => transfer_id)).size).toBe(made.size);
  });

  test.each([
    [{}, '/seconds_ahead'],
    [{ seconds_ahead: -1 }, '/seconds_ahead'],
    [{ seconds_ahead: 315_360_001 }, '/seconds_ahead'],
    [{ seconds_ahead: 1.5 }, '/seconds_ahead'],
    [{ seconds_ahead: '60' }, '/seconds_ahead'],
  ])('refuses %j', async (body, field) => {
    const response = await sendRaw(running().url, { path: '/api/v0.1/sandbox/clock', body });
    expect([response.status, response.fields.Code]).toEqual([400, 'move_clock_schema']);
    expect([response.headers['error-field'], response.headers['money-moved']]).toEqual([field, undefined]);
  });

  test('responds with unknown_move_clock while the database is stopped', async () => {
    await running().database.stop();
    try {
      const refused = await refusalOf(client().sandbox.moveClock({ seconds_ahead: 60 }));
      expect(refused).toMatchObject({ Code: 'unknown_move_clock', Status: 500 });
    } finally {
      await running().database.start();
    }
  });

  test('never changes the clock within a transaction: a transfer counts on the day of its created_at', async () => {
    const most = 40;
    const card = await (await limitedProgram(client())).card({ in: { daily_count: most } });
    const days = [0, 50, 400, 800].map((ahead) => midweek() + ahead * DAY);
    const dayOf = (time: number | string): string => new Date(time).toISOString().slice(0, 'YYYY-MM-DD'.length);
    await moveTo(midweek());
    const made: string[] = [];
    let moving = true;
    const load = async (): Promise<void> => {
      while (moving) {
        const response = await card.load(1).catch((error: unknown) => error);
        if (response instanceof Error) expect(response).toMatchObject({ Code: 'limit_exceeded' });
        else made.push(dayOf((response as TransferRecord).created_at));
      }
    };
    const jumpForwardAndBack = async (): Promise<void> => {
      // Stops once loads have been created on more than one day, which takes longer on a busy machine.
      const isEnough = (jump: number) => jump >= (isThorough ? 24 : 8) && new Set(made).size > 1;
      for (let jump = 0; !isEnough(jump); jump += 1) await moveTo(days[jump % days.length] ?? 0);
    };
    const jumps = jumpForwardAndBack().finally(() => {
      moving = false;
    });
    await Promise.all([jumps, ...Array.from({ length: 8 }, load)]);
    for (const moment of days) {
      await moveTo(moment);
      const count = made.filter((day) => day === dayOf(moment)).length;
      expect(await card.used()).toEqual({ daily_count: count });
      expect(count).toBeLessThanOrEqual(most);
    }
  });

  test('expires a card at the end of expires_on in the time zone of its program', async () => {
    const zone = 'Pacific/Auckland';
    const made = await limitedProgram(client(), { zone });
    const card = await made.card();
    const noon = midweek();
    const { end } = calendarAt(noon, zone).day;
    await client().cards.update(card.cardId, { expires_on: dayIn(zone, noon) }, { programId: made.programId });
    await moveTo(end - MINUTE);
    await card.load(1);
    await moveTo(end);
    expect((await card.get()).status).toBe('expired');
    expect((await refusalOf(card.load(1))).Code).toBe('card_expired');
  });
});

/** One zone east of UTC and one west of it. `npm run verify` tests more. */
const ZONES = [
  ...['Pacific/Auckland', 'America/Los_Angeles'],
  ...(isThorough ? ['UTC', 'Europe/Berlin', 'Asia/Kolkata'] : []),
];
/** Returns the name of the limit on the amounts or the number of transfers in a period. */
function limitOf(wanted: Period, of: 'amount' | 'count'): string {
  const found = Object.entries(LIMIT_NAMES).find(([, { period, measure }]) => period === wanted && measure === of);
  return found?.[0] ?? expect.fail(`no limit on the ${of} of a ${wanted}`);
}

/** Returns whether a period can begin on a day (YYYY-MM-DD). */
const FIRST_DAYS: Readonly<Record<Period, (day: string) => boolean>> = {
  day: () => true,
  week: (day) => new Date(`${day}T00:00:00Z`).getUTCDay() === 1,
  month: (day) => day.endsWith('-01'),
};
const asWritten = (moment: number): string => new Date(moment).toISOString().replace('.000Z', 'Z');

async function cardIn(zone: string, limits: object): Promise<LimitedCard> {
  return (await limitedProgram(client(), { zone })).card({ in: limits });
}

async function limitsOf(card: LimitedCard) {
  return new Map((await card.limits()).in.limits.map((limit) => [limit.name, limit]));
}

describe.each(ZONES)('periods in %s', (zone) => {
  test.each(PERIODS)('counts a %s from its first local second to its last, and then starts again', async (period) => {
    const { start, end } = calendarAt(calendarAt(midweek(), zone)[period].end, zone)[period];
    expect(FIRST_DAYS[period](dayIn(zone, end))).toBe(true);
    const [ofAmount, ofCount] = [limitOf(period, 'amount'), limitOf(period, 'count')];
    const card = await cardIn(zone, { [ofAmount]: 50, [ofCount]: 9 });
    await moveTo(start);
    await card.load(40);
    // The clock is set one minute early, so that a slow machine does not reach the end before the next request.
    await moveTo(end - MINUTE);
    const [amount] = (await card.limits()).in.limits;
    expect(amount).toMatchObject({ used: 40, left: 10, frees_at: new Date(end).toISOString() });
    const refused = await refusalOf(card.load(11));
    expect(refused.Message).toContain(`per ${period}: 0.40 USD used, 0.10 USD left`);
    expect(refused.Message).toContain(`resets at ${asWritten(end)}`);
    await moveTo(end);
    expect(await card.used()).toEqual({ [ofAmount]: 0, [ofCount]: 0 });
    await card.load(50);
    const next = calendarAt(end, zone)[period].end;
    expect((await card.limits()).in.limits[0]).toMatchObject({
      used: 50,
      left: 0,
      frees_at: new Date(next).toISOString(),
    });
  });

  test('counts all seven days of a week that spans two months, but only its own days in each month', async () => {
    const card = await cardIn(zone, { weekly_amount: 500, monthly_amount: 500 });
    // Finds a month whose first day is not a Monday.
    let first = calendarAt(midweek(), zone).month.end;
    while (calendarAt(first, zone).week.start === first) first = calendarAt(first, zone).month.end;
    await moveTo(first - HOUR);
    await card.load(30);
    await moveTo(first);
    expect(await card.used()).toEqual({ weekly_amount: 30, monthly_amount: 0 });
    await card.load(4);
    expect(await card.used()).toEqual({ weekly_amount: 34, monthly_amount: 4 });
    await moveTo(calendarAt(first, zone).week.end);
    expect(await card.used()).toEqual({ weekly_amount: 0, monthly_amount: 4 });
  });
});

describe('days when daylight saving time begins or ends', () => {
  /** Returns the next day that has this many hours in a zone, at least two days ahead. */
  function dayOf(hours: number, zone: string) {
    let { day } = calendarAt(Date.now() + 2 * DAY, zone);
    while (day.end - day.start !== hours * HOUR) ({ day } = calendarAt(day.end, zone));
    return day;
  }

  test.each([
    [23, 'Europe/Berlin'],
    [25, 'Europe/Berlin'],
    [23, 'Pacific/Auckland'],
    [25, 'Pacific/Auckland'],
  ])('counts a day of %i hours in %s as one day', async (hours, zone) => {
    const { start, end } = dayOf(hours, zone);
    const card = await cardIn(zone, { daily_amount: 100 });
    await moveTo(start - MINUTE);
    await card.load(90);
    await moveTo(start);
    expect((await limitsOf(card)).get('daily_amount')).toMatchObject({
      used: 0,
      frees_at: new Date(end).toISOString(),
    });
    await card.load(60);
    await moveTo(end - MINUTE);
    expect(await card.used()).toEqual({ daily_amount: 60 });
    expect((await refusalOf(card.load(41))).Message).toContain(`resets at ${asWritten(end)}`);
    await moveTo(end);
    expect(await card.used()).toEqual({ daily_amount: 0 });
  });
});

describe('amounts used up under limits', () => {
  const ALL = { daily_amount: 1000, daily_count: 9, weekly_amount: 1000, weekly_count: 9 };
  const zone = 'Pacific/Auckland';
  const midnight = calendarAt(midweek(), zone).day.end;
  const before = midnight - 10 * MINUTE;
  const after = midnight + 10 * MINUTE;

  /** Creates a card with a hold of 100 and a load of 30 on the first day, and a load of 7 on the second. */
  async function twoDays(expiresIn = 5 * DAY) {
    const made = await limitedProgram(client(), { zone, limits: { in: ALL } });
    const card = await made.card({ in: ALL });
    await moveTo(before);
    const expires_at = new Date(before + expiresIn).toISOString();
    const { transfer_id } = await card.load(100, { capture: 'manual', expires_at });
    await card.load(30);
    await moveTo(after);
    await card.load(7);
    const options = { programId: made.programId };
    return { card, transferId: transfer_id, options };
  }

  /** Checks the card's and the program's amounts and counts for the day and the week. */
  async function expectUsed(card: LimitedCard, time: number, daily: readonly number[], weekly: readonly number[]) {
    await moveTo(time);
    const [daily_amount, daily_count, weekly_amount, weekly_count] = [...daily, ...weekly];
    const used = { daily_amount, daily_count, weekly_amount, weekly_count };
    expect([await card.used(), await card.used('in', 'program')]).toEqual([used, used]);
  }

  test('include a hold on the day of its creation', async () => {
    const { card } = await twoDays();
    await expectUsed(card, after, [7, 1], [137, 3]);
    await expectUsed(card, before, [130, 2], [137, 3]);
  });

  test('are reduced by a canceled hold on the day of its creation', async () => {
    const { card, transferId, options } = await twoDays();
    await client().transfers.cancel(transferId, options);
    await expectUsed(card, after, [7, 1], [37, 2]);
    await expectUsed(card, before, [30, 1], [37, 2]);
  });

  test('are reduced by the rest of a partial capture on the day of the hold', async () => {
    const { card, transferId, options } = await twoDays();
    await client().transfers.capture(transferId, { amount: 60 }, options);
    await expectUsed(card, after, [7, 1], [97, 3]);
    await expectUsed(card, before, [90, 2], [97, 3]);
  });

  test('are reduced by an expired hold on the day of its creation', async () => {
    const { card, transferId, options } = await twoDays(15 * MINUTE);
    expect((await client().transfers.get(transferId, options)).status).toBe('expired');
    await waitFor('the hold to be released', async () => (await card.get()).incoming === 0);
    await expectUsed(card, after, [7, 1], [37, 2]);
    await expectUsed(card, before, [30, 1], [37, 2]);
  });

  test('are not reduced by a reversal', async () => {
    const { card, transferId, options } = await twoDays();
    await client().transfers.capture(transferId, {}, options);
    await client().transfers.reverse(transferId, {}, options);
    await expectUsed(card, after, [7, 1], [137, 3]);
    await expectUsed(card, before, [130, 2], [137, 3]);
  });

  test("include a scheduled transfer on the day of its execution, under that day's limits", async () => {
    const card = await cardIn(zone, { daily_amount: 1000, weekly_amount: 9000 });
    const options = { programId: (await card.limits()).program_id };
    await moveTo(before);
    await card.load(990);
    const at = { scheduled_for: new Date(midnight + 5 * MINUTE).toISOString() };
    const scheduled = [await card.load(200, at), await card.load(300, at), await card.load(1001, at)];
    expect(await card.used()).toEqual({ daily_amount: 990, weekly_amount: 990 });
    await moveTo(after);
    const outcomes: string[] = [];
    for (const { transfer_id } of scheduled) {
      const read = () => client().transfers.get(transfer_id, options);
      await waitFor('the scheduled transfer', async () => (await read()).status !== 'scheduled');
      const { status, error } = await read();
      outcomes.push(`${status} ${error?.Code ?? ''}`.trim());
    }
    expect(outcomes).toEqual(['completed', 'completed', 'failed limit_exceeded']);
    expect(await card.used()).toEqual({ daily_amount: 500, weekly_amount: 1490 });
  });
});
