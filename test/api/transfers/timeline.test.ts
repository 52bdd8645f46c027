import { afterAll, afterEach, describe, expect, test } from 'vitest';
import type { TransferTimeline } from '../../../sdk/client.ts';
import { receiverForTest } from '../../delivery/receiver.ts';
import { waitFor } from '../../harness/process.ts';
import { expectBalancedBooks, refusalOf, useService } from '../../harness/service.ts';
import { held, inSeconds, made, newCard } from '../arrange.ts';

const running = useService();
const client = () => running().client;
afterEach(() => client().sandbox.moveClock({ seconds_ahead: 0 }));
afterAll(() => expectBalancedBooks(running()));

/** Waits until the timeline has this many events. Events get their positions shortly after the commit. */
async function timelineWith(transferId: string, events: number): Promise<TransferTimeline> {
  let timeline = await client().transfers.timeline(transferId);
  await waitFor(`${events} events`, async () => {
    timeline = await client().transfers.timeline(transferId);
    return stepsOf(timeline, 'event').length >= events;
  });
  return timeline;
}

const stepsOf = ({ steps }: TransferTimeline, kind: string) => steps.filter((step) => step.kind === kind);
const kindsOf = ({ steps }: TransferTimeline) => steps.map(({ kind }) => kind);

describe('get_transfer_timeline', () => {
  test('shows a load: the request, the posting with the balances of the card, and the same event as list_events', async () => {
    const card = await newCard(client(), 300);
    const transfer = await client().transfers.create({ amount: 250, card_id: card });
    const timeline = await timelineWith(transfer.transfer_id, 1);
    expect(timeline.transfer).toEqual(transfer);
    expect(timeline.money).toEqual({
      moved: 'yes',
      sentence: `2.50 USD moved from the program's funding to the card '${card}' at ${transfer.completed_at}.`,
    });
    expect(kindsOf(timeline)).toEqual(['request', 'posting', 'event']);
    const [request, posting, event] = timeline.steps;
    expect(request).toMatchObject({ at: transfer.created_at, amount: 250, request_id: expect.stringMatching(/^req_/) });
    expect(posting).toMatchObject({ amount: 250, balances: [{ card_id: card, before: 300, after: 550 }] });
    const { data } = await client().events.list({ subject_id: transfer.transfer_id });
    expect(data.map(({ event_id }) => event_id)).toEqual([event?.event_id]);
    expect(event?.text).toBe(`The event transfer.completed was written, at position ${data[0]?.position}.`);
    expect(timeline.steps.map(({ request_id }) => request_id)).toEqual(Array(3).fill(transfer.request_id));
    expect(timeline.truncated).toEqual([]);
    expect(timeline.likely_duplicates).toEqual([]);
  });

  test('shows a hold between cards, its partial capture and two reversals, with both balances after each posting', async () => {
    const [from, to] = [await newCard(client(), 1000), await newCard(client())];
    const id = await held(client(), from, 500, { type: 'card_to_card', destination_card_id: to });
    expect((await client().transfers.timeline(id)).money.moved).toBe('held');
    await client().transfers.capture(id, { amount: 400 });
    await client().transfers.reverse(id, { amount: 150, description: 'two of five' });
    expect((await client().transfers.timeline(id)).money.moved).toBe('partly_moved_back');
    await client().transfers.reverse(id);
    const timeline = await timelineWith(id, 4);
    expect(kindsOf(timeline)).toEqual([
      ...['request', 'hold', 'event', 'posting', 'release', 'event'],
      ...['reversal', 'posting', 'event', 'reversal', 'posting', 'event'],
    ]);
    expect(stepsOf(timeline, 'posting').map(({ amount, balances }) => [amount, balances])).toEqual([
      [400, [change(from, 1000, 600), change(to, 0, 400)]],
      [150, [change(to, 400, 250), change(from, 600, 750)]],
      [250, [change(to, 250, 0), change(from, 750, 1000)]],
    ]);
    expect(stepsOf(timeline, 'release')[0]?.amount).toBe(100);
    const [capture, reversal] = stepsOf(timeline, 'posting').map(({ request_id }) => request_id);
    expect(capture).toMatch(/^req_/);
    expect(capture).not.toBe(timeline.transfer.request_id);
    expect(reversal).toBe(stepsOf(timeline, 'reversal')[0]?.request_id);
    expect(stepsOf(timeline, 'reversal')[0]?.text).toBe('1.50 USD was reversed: two of five');
    expect(stepsOf(timeline, 'event').map(({ event_type }) => event_type)).toEqual([
      ...['transfer.pending', 'transfer.completed', 'reversal.completed', 'reversal.completed'],
    ]);
    expect(timeline.money.moved).toBe('moved_back');
    expect(timeline.truncated).toEqual([]);
  });

  test('shows refused requests about the transfer in chronological order', async () => {
    const card = await newCard(client(), 50);
    const id = await made(client(), card, 20);
    const tooMuch = await refusalOf(client().transfers.reverse(id, { amount: 21 }));
    await client().transfers.reverse(id, { amount: 5 });
    const late = await refusalOf(client().transfers.capture(id));
    const other = await made(client(), card, 30);
    await refusalOf(client().transfers.capture(other));
    await waitFor('the errors to be stored', async () => {
      return stepsOf(await client().transfers.timeline(id), 'error').length === 2;
    });
    const timeline = await timelineWith(id, 2);
    expect(kindsOf(timeline)).toEqual([
      'request',
      'posting',
      'event',
      'error',
      'reversal',
      'posting',
      'event',
      'error',
    ]);
    expect(stepsOf(timeline, 'error').map(({ code, status, request_id }) => [code, status, request_id])).toEqual([
      ['amount_too_large', 400, tooMuch.requestId],
      ['invalid_transfer_status', 409, late.requestId],
    ]);
    expect(stepsOf(timeline, 'error')[0]?.text).toMatch(/^reverse_transfer was refused: The reversal is for 0.21 USD/);
  });

  test('shows refused requests with the idempotency key of the transfer', async () => {
    const card = await newCard(client());
    const options = { idempotencyKey: `key-${card}` };
    const { transfer_id: id } = await client().transfers.create({ amount: 33, card_id: card }, options);
    const again = await refusalOf(client().transfers.create({ amount: 34, card_id: card }, options));
    await waitFor('the error to be stored', async () => {
      return stepsOf(await client().transfers.timeline(id), 'error').length === 1;
    });
    const timeline = await timelineWith(id, 1);
    expect(timeline.steps[0]?.text).toMatch(new RegExp(`, with the idempotency key 'key-${card}'\\.$`));
    expect(timeline.steps.at(-1)).toMatchObject({ code: 'idempotency_key_exists', request_id: again.requestId });
  });

  test('shows transfers that ended without moving money: canceled, failed when due, and expired', async () => {
    const card = await newCard(client());
    const canceled = await held(client(), card, 40);
    await client().transfers.cancel(canceled);
    const failed = await made(client(), card, 70, { type: 'unload', scheduled_for: inSeconds(1800) });
    const expired = await held(client(), card, 60, { expires_at: inSeconds(1800) });
    const late = await made(client(), card, 80, { capture: 'manual', scheduled_for: inSeconds(1800) });
    expect((await client().transfers.timeline(failed)).money.sentence).toMatch(
      /^No money has moved: 0.70 USD will move/,
    );
    await client().sandbox.moveClock({ seconds_ahead: 3600 });
    await waitFor('the jobs to handle everything', async () => {
      const found = await Promise.all([failed, expired, late].map((id) => client().transfers.get(id)));
      return found.map(({ status }) => status).join() === 'failed,expired,pending';
    });
    const ends = await Promise.all([canceled, failed, expired, late].map((id) => timelineWith(id, 2)));
    expect(ends.map(kindsOf)).toEqual([
      ['request', 'hold', 'event', 'canceled', 'event'],
      ['request', 'scheduled', 'event', 'failed', 'event'],
      ['request', 'hold', 'event', 'expired', 'event'],
      ['request', 'scheduled', 'event', 'hold', 'event'],
    ]);
    expect(ends.map(({ money }) => money.moved)).toEqual(['no', 'no', 'no', 'held']);
    expect(ends[1]?.money.sentence).toMatch(
      /^No money moved: the transfer was declined when it was due at \S+: insufficient funds\.$/,
    );
    expect(ends[1]?.steps[3]).toMatchObject({ code: 'insufficient_funds', status: 409 });
    expect(ends.flatMap(({ truncated }) => truncated)).toEqual([]);
    await client().transfers.capture(late);
    await client().sandbox.moveClock({ seconds_ahead: 0 });
    // The clock was moved back, so new transfers have times before the capture. The timeline still finds them.
    const after = await timelineWith(await made(client(), card, 81), 1);
    expect(kindsOf(after)).toEqual(['request', 'posting', 'event']);
    expect(after.steps[1]?.balances).toEqual([change(card, 80, 161)]);
    // The time when a hold began is known only while the hold is unchanged, or if the capture followed soon.
    const steps = kindsOf(await timelineWith(late, 2)).filter((kind) => kind !== 'event');
    expect(steps).toEqual(['request', 'scheduled', 'hold', 'posting']);
  });

  test('shows transfers from a batch, and the unload of a closed card', async () => {
    const card = await newCard(client());
    const rows = Array.from({ length: 100 }, (_, at) => ({
      amount: 1 + at,
      card_id: card,
      idempotency_key: `${card}-${at}`,
    }));
    const { data } = await client().transfers.createBatch(rows);
    const batch = await timelineWith(data[57]?.transfer?.transfer_id ?? '', 1);
    expect(kindsOf(batch)).toEqual(['request', 'posting', 'event']);
    expect(batch.steps[1]?.balances[0]?.card_id).toBe(card);
    expect(batch.truncated).toEqual([]);
    await client().cards.update(card, { status: 'closed', balance_to: 'funding' });
    const [closing] = (await client().transfers.list({ card_id: card, type: 'unload' })).data;
    const unload = await timelineWith(closing?.transfer_id ?? '', 1);
    expect(kindsOf(unload)).toEqual(['request', 'posting', 'event']);
    expect(unload.steps[1]?.balances).toEqual([change(card, 5050, 0)]);
  });

  test('shows only the latest of many reversals, and reports that some are missing', async () => {
    const card = await newCard(client());
    const id = await made(client(), card, 100);
    for (let count = 0; count < 53; count += 1) await client().transfers.reverse(id, { amount: 1 });
    const timeline = await timelineWith(id, 51);
    const reversals = stepsOf(timeline, 'reversal');
    expect(reversals).toHaveLength(50);
    const { data } = await client().transfers.reversals(id, { limit: 50 });
    expect(reversals.map(({ reversal_id }) => reversal_id)).toEqual(
      data.map(({ reversal_id }) => reversal_id).reverse(),
    );
    expect(stepsOf(timeline, 'posting').at(-1)?.balances).toEqual([change(card, 48, 47)]);
    expect(stepsOf(timeline, 'posting')).toHaveLength(51);
    expect(timeline.money.moved).toBe('partly_moved_back');
    expect(timeline.money.sentence).toMatch(/0.53 USD has been reversed, which leaves 0.47 USD\.$/);
    expect(timeline.truncated.map(({ kind }) => kind)).toEqual(['reversal']);
  });

  test("shows failed and successful deliveries of the transfer's events", async () => {
    const receiver = await receiverForTest();
    const webhook = await client().webhooks.create({ url: receiver.url, types: ['transfer.*'] });
    const card = await newCard(client());
    receiver.respond = () => 500;
    const id = await made(client(), card, 15);
    await waitFor('the failed delivery', async () => {
      return stepsOf(await client().transfers.timeline(id), 'webhook_attempt').some(({ status }) => status === 500);
    });
    receiver.respond = () => 204;
    const [event] = stepsOf(await client().transfers.timeline(id), 'event');
    await client().webhooks.resend(webhook.webhook_id, { event_id: event?.event_id ?? '' });
    await waitFor('the delivery that succeeds', async () => {
      return stepsOf(await client().transfers.timeline(id), 'webhook_attempt').some(({ status }) => status === 204);
    });
    const timeline = await client().transfers.timeline(id);
    const attempts = stepsOf(timeline, 'webhook_attempt');
    expect(attempts.map(({ status }) => status)).toContain(500);
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({ webhook_id: webhook.webhook_id, event_id: event?.event_id });
    }
    expect(kindsOf(timeline).slice(0, 4)).toEqual(['request', 'posting', 'event', 'webhook_attempt']);
    await client().webhooks.delete(webhook.webhook_id);
  });

  test("shows webhooks that have not received the transfer's events, and when they were paused or disabled", async () => {
    const receiver = await receiverForTest();
    // After a 429, the service sends nothing for a minute.
    receiver.respond = () => 429;
    const create = (types: readonly string[]) =>
      client().webhooks.create({ url: receiver.url, types: [...types], concurrency: 1 });
    const paused = await create(['transfer.completed']);
    const disabled = await create(['transfer.*']);
    const unwanted = await create(['card.*']);
    for (const { webhook_id } of [disabled, unwanted])
      await client().webhooks.update(webhook_id, { status: 'disabled' });
    const card = await newCard(client());
    const first = await made(client(), card, 1);
    for (let count = 0; count < 12; count += 1) await made(client(), card, 2);
    await waitFor('the pause', async () => (await client().webhooks.get(paused.webhook_id)).status === 'paused');
    const last = await made(client(), card, 3);
    const { failing_since } = await client().webhooks.get(paused.webhook_id);
    // One event was sent and failed, and the other was not sent.
    for (const id of [first, last]) {
      const timeline = await timelineWith(id, 1);
      const waits = stepsOf(timeline, 'webhook_waiting');
      const [event] = stepsOf(timeline, 'event');
      const { event_id, event_type } = event ?? {};
      expect(waits.map(({ webhook_id }) => webhook_id).sort()).toEqual([paused.webhook_id, disabled.webhook_id].sort());
      for (const wait of waits) expect(wait).toMatchObject({ event_id, event_type });
      const text = waits.find(({ webhook_id }) => webhook_id === paused.webhook_id)?.text;
      const state = `which is paused: it has failed since ${failing_since}, and its oldest event is sent again at 2`;
      expect(text).toContain(`transfer.completed is waiting for the webhook ${paused.webhook_id}, ${state}`);
      expect(waits.find(({ webhook_id }) => webhook_id === disabled.webhook_id)?.text).toMatch(/which is disabled: /);
      expect(timeline.truncated).toEqual([]);
    }
    receiver.respond = () => 204;
    await client().webhooks.update(paused.webhook_id, { status: 'enabled' });
    await client().webhooks.update(disabled.webhook_id, { status: 'enabled' });
    await waitFor('the deliveries', async () => {
      return stepsOf(await client().transfers.timeline(last), 'webhook_waiting').length === 0;
    });
    for (const { webhook_id } of [paused, disabled, unwanted]) await client().webhooks.delete(webhook_id);
  });

  test("refuses unknown ids and another program's ids", async () => {
    const card = await newCard(client(), 5);
    const id = await made(client(), card);
    const { program_id: programId } = await client().programs.create({ name: 'Other', currency: 'USD' });
    const refused = await refusalOf(client().transfers.timeline(id, { programId }));
    expect(refused.code).toBe('transfer_not_found');
    expect((await refusalOf(client().transfers.timeline('tr_1'))).message).toMatch(/A transfer id is tr_ and 32 hex/);
  });
});

const change = (card_id: string, before: number, after: number) => ({ card_id, before, after });

describe('list_likely_duplicates', () => {
  test('finds transfers with the same card, type and amount within the window, newest first, page by page', async () => {
    const [card, other] = [await newCard(client()), await newCard(client())];
    const first = await made(client(), card, 12);
    await made(client(), other, 12);
    await made(client(), card, 13);
    const second = await made(client(), card, 12);
    await made(client(), card, 12, { type: 'unload' });
    const third = await made(client(), card, 12, { capture: 'manual' });
    const canceled = await held(client(), card, 13);
    await client().transfers.cancel(canceled);
    const { data, next_cursor } = await client().cards.likelyDuplicates(card);
    const ids = data.map(({ transfer, earlier }) => [transfer.transfer_id, earlier.transfer_id]);
    expect(ids).toEqual([
      [third, second],
      [second, first],
    ]);
    expect(next_cursor).toBeNull();
    expect(data[1]?.transfer).toEqual(await client().transfers.get(second));
    expect(data[1]?.seconds_apart).toBeLessThan(600);
    const page = await client().cards.likelyDuplicates(card, { limit: 1 });
    expect(page.data.map(({ transfer }) => transfer.transfer_id)).toEqual([third]);
    const rest = await client().cards.likelyDuplicates(card, { limit: 1, cursor: page.next_cursor ?? '' });
    expect(rest.data.map(({ transfer }) => transfer.transfer_id)).toEqual([second]);
    const { likely_duplicates } = await client().transfers.timeline(second);
    expect(likely_duplicates.map(({ transfer_id }) => transfer_id)).toEqual([first, third]);
  });

  test('lists duplicate card-to-card transfers for either card, but only if both cards match', async () => {
    const [from, to, elsewhere] = [await newCard(client(), 100), await newCard(client()), await newCard(client())];
    const move = (destination: string) =>
      made(client(), from, 7, { type: 'card_to_card', destination_card_id: destination });
    const [first, , second] = [await move(to), await move(elsewhere), await move(to)];
    for (const card of [from, to]) {
      const { data } = await client().cards.likelyDuplicates(card);
      expect(data.map(({ transfer, earlier }) => [transfer.transfer_id, earlier.transfer_id])).toEqual([
        [second, first],
      ]);
    }
    expect((await client().cards.likelyDuplicates(elsewhere)).data).toEqual([]);
  });

  test('finds no transfers that are further apart than the window', async () => {
    const card = await newCard(client());
    await made(client(), card, 9);
    await client().sandbox.moveClock({ seconds_ahead: 2000 });
    const later = await made(client(), card, 9);
    const idsWithin = async (window_seconds?: number) =>
      (await client().cards.likelyDuplicates(card, { window_seconds })).data.map(
        ({ transfer }) => transfer.transfer_id,
      );
    expect(await idsWithin()).toEqual([]);
    expect(await idsWithin(1999)).toEqual([]);
    expect(await idsWithin(3600)).toEqual([later]);
  });

  test('refuses a missing card', async () => {
    expect((await refusalOf(client().cards.likelyDuplicates('card_missing'))).code).toBe('card_not_found');
  });
});
