import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { waitFor } from '../harness/process.ts';
import { createWebhook, innerId, makeDue, newProgram, untilChangesCount, useWorld, webhookWhen } from './arrange.ts';
import { receiverForTest } from './receiver.ts';

const world = useWorld();

test.each(['strict', 'parallel'] as const)(
  'events that wait in memory to be sent again, %s, are sent without what was erased',
  async (order) => {
    const { sql } = world();
    const program = await newProgram(world());
    const { client, cardId } = program;
    const receiver = await receiverForTest();
    receiver.respond = () => 500;
    const { webhook_id } = await createWebhook(program, receiver, { order });
    const description = `text ${randomUUID()}`;
    await client.transfers.create({ card_id: cardId, amount: 1, description });
    await client.cards.update(cardId, { status: 'closed', balance_to: 'funding' });
    await webhookWhen(program, webhook_id, ({ failing_since }) => failing_since !== null);
    await waitFor('the text', async () => receiver.received.some(({ body }) => body.includes(description)));
    const revision = async () =>
      Number((await sql('select revision from webhook where webhook_id = $1', innerId(webhook_id)))[0]?.revision);
    const before = await revision();

    await client.cards.erase(cardId);
    await waitFor('the first round', async () => {
      const [row] = await sql('select round from card_erasure where card_name = $1', cardId);
      return row?.round === 2;
    });
    expect(await revision()).toBeGreaterThan(before);
    await untilChangesCount(world());
    const sent = receiver.received.length;
    receiver.respond = () => 204;
    await makeDue(world(), webhook_id);
    const again = () => receiver.received.slice(sent).map(({ body }) => body);
    const erased = '"amount":1,"captured_amount":1,"reversed_amount":0,"currency":"USD","status":"completed"';
    await waitFor('the event again', async () => again().some((body) => body.includes(erased)));
    expect(again().filter((body) => body.includes(description))).toEqual([]);
  },
);
