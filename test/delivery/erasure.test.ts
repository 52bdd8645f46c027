import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { waitFor } from '../harness/process.ts';
import {
  createWebhook,
  innerId,
  makeDue,
  newProgram,
  type Program,
  untilChangesCount,
  useWorld,
  webhookWhen,
} from './arrange.ts';
import { receiverForTest } from './receiver.ts';

const world = useWorld();

/**
 * Closes a card and erases its holder. Returns during the pause before the second round, when no erased text may remain
 * in memory.
 */
async function erase({ client, cardId }: Program): Promise<void> {
  await client.cards.update(cardId, { status: 'closed', balance_to: 'funding' });
  await client.cards.erase(cardId);
  await waitFor('the first round', async () => {
    const [row] = await world().sql('select round from card_erasure where card_name = $1', cardId);
    return row?.round === 2;
  });
  await untilChangesCount(world());
}

test.each(['strict', 'parallel'] as const)(
  'retries events from memory without the erased text, in %s order',
  async (order) => {
    const { sql } = world();
    const program = await newProgram(world());
    const { client, cardId } = program;
    const receiver = await receiverForTest();
    receiver.respond = () => 500;
    const { webhook_id } = await createWebhook(program, receiver, { order });
    const description = `text ${randomUUID()}`;
    await client.transfers.create({ card_id: cardId, amount: 1, description });
    await webhookWhen(program, webhook_id, ({ failing_since }) => failing_since !== null);
    await waitFor('the text', async () => receiver.received.some(({ body }) => body.includes(description)));
    const revision = async () =>
      Number((await sql('select revision from webhook where webhook_id = $1', innerId(webhook_id)))[0]?.revision);
    const before = await revision();

    await erase(program);
    expect(await revision()).toBeGreaterThan(before);
    const sent = receiver.received.length;
    receiver.respond = () => 204;
    await makeDue(world(), webhook_id);
    const again = () => receiver.received.slice(sent).map(({ body }) => body);
    const erased = '"amount":1,"captured_amount":1,"reversed_amount":0,"currency":"USD","status":"completed"';
    await waitFor('the event again', async () => again().some((body) => body.includes(erased)));
    expect(again().filter((body) => body.includes(description))).toEqual([]);
  },
);

test('leaves the erased text out of a resend that was waiting for a hanging receiver', async () => {
  const program = await newProgram(world());
  const { client, cardId } = program;
  const receiver = await receiverForTest();
  const { webhook_id } = await createWebhook(program, receiver, { types: ['transfer.*'], concurrency: 1 });
  const description = `text ${randomUUID()}`;
  await client.transfers.create({ card_id: cardId, amount: 1, description });
  await waitFor('the text', async () => receiver.received.some(({ body }) => body.includes(description)));
  const event_id = receiver.received[0]?.event.event_id ?? '';
  const held: ServerResponse[] = [];
  receiver.respond = () => (response) => void held.push(response);
  // Each test event takes the full time limit of 15 s, so the resend waits longer than an erasure takes on a slow
  // machine.
  for (let count = 0; count < 6; count += 1) await client.webhooks.test(webhook_id);
  await client.webhooks.resend(webhook_id, { event_id });
  await waitFor('a request that hangs', async () => receiver.open === 1);
  await untilChangesCount(world());

  await erase(program);
  const sent = receiver.received.length;
  receiver.respond = () => 204;
  for (const response of held) response.writeHead(204).end();
  const again = () => receiver.received.slice(sent).filter(({ event }) => event.event_id === event_id);
  await waitFor('the resend', async () => again().length > 0);
  expect(again().filter(({ body }) => body.includes(description))).toEqual([]);
});
