import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DayRecord } from '../../sdk/client.ts';
import { patiently } from '../harness/client/patience.ts';
import { dayIn } from '../harness/local-time.ts';
import { refusalOf, useOwnService } from '../harness/service.ts';
import { setClock } from './transfers/limited.ts';

const running = useOwnService('It moves the clock over several days.');
const client = () => running().client;

const ZONE = 'America/New_York';
const DAYS = 4;
const STEPS = 12;
const HOUR = 3_600_000;
const DAY_MILLISECONDS = 24 * HOUR;

/** A noon in New York, in standard time, so that no day ends while a step runs. */
const FIRST_NOON = Math.ceil(Date.now() / DAY_MILLISECONDS) * DAY_MILLISECONDS + 17 * HOUR;
const noonAfter = (days: number) => FIRST_NOON + days * DAY_MILLISECONDS;
const TODAY = dayIn(ZONE, noonAfter(DAYS));

/** The number of postings with one purpose, and the amounts that they moved according to the responses. */
type Moved = { postings: number; funding: number; cards: number };

let programId: string;
const cards: string[] = [];
const transfers: string[] = [];
/** The expected figures by day (in the program's time zone) and by purpose. */
const expected = new Map<string, Record<string, Moved>>();

const here = () => ({ programId });
const any = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;
const dayOf = (instant: string) => dayIn(ZONE, Date.parse(instant));
const days = () => [...expected.keys()].sort();

function note(instant: string, purpose: string, funding: number, intoCards: number): void {
  const day = expected.get(dayOf(instant)) ?? {};
  const { postings, funding: before, cards: cardsBefore } = day[purpose] ?? { postings: 0, funding: 0, cards: 0 };
  day[purpose] = { postings: postings + 1, funding: before + funding, cards: cardsBefore + intoCards };
  expected.set(dayOf(instant), day);
}

/** Makes a random movement and records the amounts that it moved. A refused movement moves nothing. */
async function move(): Promise<void> {
  const amount = 1 + Math.floor(Math.random() * 500);
  const create = async (purpose: string, terms: object, sign: -1 | 0 | 1) => {
    const { transfer_id, created_at } = await client().transfers.create(
      { amount, card_id: cards[0] ?? '', type: purpose, ...terms } as never,
      here(),
    );
    if (sign !== 0) transfers.push(transfer_id);
    if (sign !== 0) note(created_at, purpose, -sign * amount, sign * amount);
  };
  const movements = [
    async () => note((await client().deposits.create(programId, { amount })).created_at, 'deposit', amount, 0),
    async () => note((await client().withdrawals.create(programId, { amount })).created_at, 'withdrawal', -amount, 0),
    () => create('load', {}, 1),
    () => create('unload', {}, -1),
    () => create('card_to_card', { destination_card_id: cards[1] }, 0),
    async () => {
      const transfer = await client().transfers.get(any(transfers), here());
      const { amount: returned, created_at } = await client().transfers.reverse(transfer.transfer_id, {}, here());
      const sign = transfer.type === 'load' ? 1 : -1;
      note(created_at, 'reversal', sign * returned, -sign * returned);
    },
  ];
  await any(movements)().catch(() => undefined);
}

beforeAll(async () => {
  programId = (await client().programs.create({ name: 'Days', currency: 'CHF', time_zone: ZONE })).program_id;
  for (let card = 0; card < 2; card += 1) cards.push((await client().cards.create({}, here())).card_id);
  for (let at = 0; at < DAYS; at += 1) {
    await setClock(client(), noonAfter(at));
    note((await client().deposits.create(programId, { amount: 10_000 })).created_at, 'deposit', 10_000, 0);
    for (let step = 0; step < STEPS; step += 1) await patiently(move);
  }
  await setClock(client(), noonAfter(DAYS));
}, 60_000);
afterAll(() => client().sandbox.moveClock({ seconds_ahead: 0 }));

/** Returns the line of balances that a report must show for an instant. */
async function lineAt(instant: string) {
  const as_of = new Date(Date.parse(instant) - 1).toISOString();
  const { funding } = await client().programs.get(programId, {}, { as_of });
  const balances = await Promise.all(cards.map((card) => client().cards.get(card, here(), { as_of })));
  const inCards = balances.reduce((sum, { balance_as_of: balance = 0 }) => sum + balance, 0);
  return { funding: funding[0]?.balance_as_of ?? 0, cards: inCards, suspense: 0, loss: 0 };
}

describe('get_day', () => {
  test("shows the balances at both ends of the day, and the amounts that the day's responses reported", async () => {
    expect(days()).toHaveLength(DAYS);
    for (const day of days()) {
      const report = await client().days.get(programId, { day });
      const [sheet] = report.currencies;
      expect(report).toMatchObject({ day, time_zone: ZONE, status: 'open', adds_up: true });
      expect(dayOf(report.begins_at)).toBe(day);
      expect(sheet?.opening).toEqual(await lineAt(report.begins_at));
      expect(sheet?.closing).toEqual(await lineAt(report.ends_at));
      const moved = (sheet?.movements ?? []).map(({ purpose, ...line }) => [purpose, line] as const);
      const right = Object.entries(expected.get(day) ?? {}).map(([purpose, line]) => {
        return [purpose, { ...line, suspense: 0, loss: 0 }] as const;
      });
      expect(Object.fromEntries(moved)).toEqual(Object.fromEntries(right));
    }
  });

  test('shows yesterday if no day is given, and reports that today is not over', async () => {
    const yesterday = await client().days.get(programId);
    expect(dayOf(yesterday.ends_at)).toBe(TODAY);
    const today = await client().days.get(programId, { day: TODAY });
    expect(today.status).toBe('running');
  });

  test('is refused for a day that has not begun', async () => {
    const refusal = await refusalOf(client().days.get(programId, { day: '2062-01-30' }));
    expect(refusal).toMatchObject({ code: 'get_day_schema', field: '/day' });
  });

  test('is empty before the card program had money', async () => {
    const report = await client().days.get(programId, { day: '2020-02-29' });
    expect(report).toMatchObject({ adds_up: true, currencies: [], last_closed_day: null, status: 'open' });
  });

  test('exports the same lines as comma-separated values', async () => {
    const [day = ''] = days();
    let text = '';
    for await (const part of await client().days.export(programId, { day })) text += part;
    const [head, opening, ...rest] = text.trimEnd().split('\r\n');
    expect(head).toBe(
      'program_id,day,status,adds_up,currency,line,postings,funding,cards,suspense,loss,connector_id,opening,approved,settled,resolved,closing,fees',
    );
    expect(opening).toBe(`${programId},${day},open,true,CHF,opening,,0,0,0,0,,,,,,,`);
    const { currencies } = await client().days.get(programId, { day });
    expect(rest).toHaveLength((currencies[0]?.movements.length ?? 0) + 1);
    expect(rest.at(-1)).toBe(
      `${programId},${day},open,true,CHF,closing,,${Object.values(currencies[0]?.closing ?? {}).join(',')},,,,,,,`,
    );
  });
});

describe('close_day', () => {
  const close = (day: string, note = 'Compared with the bank') => client().days.close(programId, { day, note });
  const withoutResponse = ({ response: _, ...report }: DayRecord & { response?: unknown }) => report;

  test('never changes the report of a closed day, stores the person and the note, and names the last closed day in later reports', async () => {
    const first = days().at(-1) ?? '';
    const open = await client().days.get(programId, { day: first });
    const closed = await close(first, 'Ticket 4711, password=hunter2');
    expect(withoutResponse(closed)).toEqual({
      ...withoutResponse(open),
      status: 'closed',
      closed_at: closed.closed_at,
      closed_by: 'sandbox',
      note: 'Ticket 4711, password=[redacted]',
    });
    // A sandbox can move its clock back. A new posting can then have a time within the closed day.
    await setClock(client(), noonAfter(DAYS - 1));
    await client().deposits.create(programId, { amount: 7 });
    await setClock(client(), noonAfter(DAYS));
    expect(withoutResponse(await close(first, 'again'))).toEqual(withoutResponse(closed));
    expect(withoutResponse(await client().days.get(programId, { day: first }))).toEqual(withoutResponse(closed));
    // The next day opens with money that is not in the closed report.
    const next = await client().days.get(programId, { day: TODAY });
    expect(next).toMatchObject({ last_closed_day: first, adds_up: false });
  });

  test('closes a day once when many requests arrive at the same time, and records it in the audit log', async () => {
    const day = days()[2] ?? '';
    const closed = await Promise.all(Array.from({ length: 8 }, (_, at) => close(day, `by ${at}`)));
    expect(new Set(closed.map(({ note }) => note)).size).toBe(1);
    const { data } = await client().audit.list({ program_id: programId, action: 'close_day' });
    expect(data.filter(({ details }) => (details as { day?: string }).day === day)).toHaveLength(1);
    const events = await client().events.search({ type: 'day.closed', limit: 100 });
    const { response: _, ...report } = closed[0] as DayRecord & { response?: unknown };
    expect(events.data.map((event) => event.data).filter((data) => (data as DayRecord).day === day)).toEqual([
      { ...report, note: null },
    ]);
  });

  test('returns the first response again for the same key', async () => {
    const day = days()[1] ?? '';
    const send = () => client().days.close(programId, { day, note: 'once' }, { idempotencyKey: `close-${day}` });
    const [one, other] = [await send(), await send()];
    expect(withoutResponse(other)).toEqual(withoutResponse(one));
  });

  test('refuses a day that is not over, and names the time from which the day can be closed', async () => {
    const { ends_at } = await client().days.get(programId, { day: TODAY });
    const refusal = await refusalOf(close(TODAY));
    expect(refusal).toMatchObject({ code: 'close_day_schema', field: '/day' });
    expect(refusal.message).toContain(new Date(Date.parse(ends_at) + 60_000).toISOString());
    expect((await refusalOf(client().days.close('prog_missing', { day: TODAY, note: 'x' }))).code).toBe(
      'program_not_found',
    );
  });
});
