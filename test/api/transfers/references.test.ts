import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { waitFor } from '../../harness/process.ts';
import { sendRaw } from '../../harness/raw-request.ts';
import { useService } from '../../harness/service.ts';
import { held, inSeconds, made, newCard } from '../arrange.ts';

const running = useService();
const client = () => running().client;
afterEach(async () => {
  await client().sandbox.moveClock({ seconds_ahead: 0 });
});

/** Returns the status or the error code of another transfer with the same reference. */
async function tryAgain(reference: string): Promise<unknown> {
  const body = { amount: 5, card_id: 'card_active', reference };
  const { status, fields } = await sendRaw(running().url, { headers: { 'Idempotency-Key': randomUUID() }, body });
  return fields.Code ?? status;
}

async function untilStatus(id: string, wanted: string): Promise<void> {
  await waitFor(`the transfer to be ${wanted}`, async () => (await client().transfers.get(id)).status === wanted);
}

async function cardAtProcessor(token: string): Promise<string> {
  const { card_id } = await client().cards.create({ connector_id: 'simulator', processor_token: token });
  return card_id;
}

describe('a reference can be used again after', () => {
  test.each<[string, (reference: string) => Promise<string>]>([
    [
      'a decline by the processor',
      async (reference) => {
        const id = await made(client(), await cardAtProcessor('sim_decline=51'), 5, { reference });
        await untilStatus(id, 'failed');
        return id;
      },
    ],
    [
      'a canceled hold',
      async (reference) => {
        const id = await held(client(), 'card_active', 5, { reference });
        await client().transfers.cancel(id);
        return id;
      },
    ],
    [
      'a canceled scheduled transfer',
      async (reference) => {
        const id = await made(client(), 'card_active', 5, { reference, scheduled_for: inSeconds(3600) });
        await client().transfers.cancel(id);
        return id;
      },
    ],
    [
      'a scheduled transfer that failed when it was due',
      async (reference) => {
        const card = await newCard(client(), 5);
        const terms = { reference, type: 'unload', scheduled_for: inSeconds(3600) } as const;
        const id = await made(client(), card, 50, terms);
        await client().sandbox.moveClock({ seconds_ahead: 3700 });
        await untilStatus(id, 'failed');
        return id;
      },
    ],
    [
      'an expired hold',
      async (reference) => {
        const id = await held(client(), 'card_active', 5, { reference, expires_at: inSeconds(1800) });
        await client().sandbox.moveClock({ seconds_ahead: 3600 });
        return id;
      },
    ],
  ])('%s', async (_end, endWithout) => {
    const reference = randomUUID();
    const first = await endWithout(reference);
    expect(await client().transfers.explain({ amount: 5, card_id: 'card_active', reference })).toMatchObject({
      would_succeed: true,
    });
    expect([await tryAgain(reference), await tryAgain(reference)]).toEqual([201, 'duplicate_reference']);
    const { data } = await client().transfers.list({ reference });
    expect(data.map(({ status }) => status)).toEqual(['completed', (await client().transfers.get(first)).status]);
    const found = await client().search.find({ q: reference });
    expect(found.data.flatMap(({ results }) => results).map(({ id }) => id)).toEqual([data[0]?.transfer_id, first]);
  });
});

test.each<[string, (reference: string) => Promise<unknown>]>([
  [
    'waits for its processor',
    async (reference) => made(client(), await cardAtProcessor('sim_pending=600'), 5, { reference }),
  ],
  ['is held', (reference) => held(client(), 'card_active', 5, { reference })],
  [
    'was reversed',
    async (reference) => {
      await client().transfers.reverse(await made(client(), 'card_active', 5, { reference }));
    },
  ],
])('a transfer keeps its reference if it %s', async (_state, make) => {
  const reference = randomUUID();
  await make(reference);
  expect(await tryAgain(reference)).toBe('duplicate_reference');
});
