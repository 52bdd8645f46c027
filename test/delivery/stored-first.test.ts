import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { embeddedServerOf, waitFor } from '../harness/process.ts';
import { useService } from '../harness/service.ts';
import { connect, createWebhook, innerId, newProgram, type Program } from './arrange.ts';
import { receiverForTest } from './receiver.ts';

const service = useService();
let databaseUrl: string;
beforeAll(async () => {
  ({ databaseUrl } = await embeddedServerOf(service().directory));
});

/** Enough time for a faulty service to send more events. A correct service sends no more, however slow it is. */
const MORE_MILLISECONDS = 500;

/** Prevents the service from storing a webhook's outcomes until the returned function is called. */
async function holdBack(webhookId: string): Promise<() => Promise<void>> {
  const client = await connect(databaseUrl);
  await client.query('begin');
  await client.query('select from webhook_state where webhook_id = $1 for update', [innerId(webhookId)]);
  const release = async (): Promise<void> => void (await client.query('rollback'));
  onTestFinished(() => client.end());
  return release;
}

test.each([
  ['strict', 1],
  ['parallel', 4],
] as const)(
  'in %s order, the service sends at most %i events before their outcomes are stored',
  async (order, most) => {
    const program: Program = await newProgram({ service: service() });
    const receiver = await receiverForTest();
    const { webhook_id: id } = await createWebhook(program, receiver, { order, concurrency: 4 });
    // After ten successes, a webhook in parallel order may have as many requests in flight as its concurrency.
    const before = await program.transfer(10);
    await receiver.all(program.start + 1, before);
    await waitFor('the position', async () => (await program.client.webhooks.get(id)).position === before);
    const release = await holdBack(id);
    const last = await program.transfer(10);
    // If a lease ends in the meantime, the events in flight are sent again, but no later ones.
    const sent = (): number => new Set(receiver.positions).size;
    await waitFor('all events that may be sent', async () => sent() >= 10 + most && receiver.open === 0);
    await sleep(MORE_MILLISECONDS);
    expect(sent()).toBe(10 + most);
    expect((await program.client.webhooks.get(id)).position).toBe(before);
    await release();
    await receiver.all(program.start + 1, last);
    await waitFor('the position', async () => (await program.client.webhooks.get(id)).position === last);
    expect(sent()).toBe(20);
  },
);

test('delivered events are not resent if another process takes over while an earlier event hangs', async () => {
  const program = await newProgram({ service: service() });
  const receiver = await receiverForTest();
  // After ten successes, as many requests may be in flight as the concurrency allows. All events exist before the
  // webhook does, because the request hangs for only a few seconds.
  const before = await program.transfer(10);
  const last = await program.transfer(20);
  receiver.respond = ({ event }) => (event.position === before + 1 ? () => undefined : 204);
  const client = await connect(databaseUrl);
  onTestFinished(() => client.end());
  const { webhook_id: id } = await createWebhook(program, receiver, { concurrency: 4 });
  const isStored = async () => {
    const text = 'select ahead @> int8range($2, $3) as stored from webhook_state where webhook_id = $1';
    return (await client.query(text, [innerId(id), before + 2, last + 1])).rows[0]?.stored === true;
  };
  await waitFor('all events except the hanging one to be stored', isStored);
  expect((await program.client.webhooks.get(id)).position).toBe(before);
  receiver.respond = () => 204;
  // Simulates the end of the process, whose memory is then lost.
  await client.query('update webhook_shard set epoch = epoch + 1, owner = null, expires_at = null');
  await waitFor('the position', async () => (await program.client.webhooks.get(id)).position === last);
  const again = receiver.positions.filter((position, index) => receiver.positions.indexOf(position) !== index);
  // The hanging event arrives more than twice if storing the other events takes longer than its time limit.
  expect(new Set(again)).toEqual(new Set([before + 1]));
  const { rows } = await client.query('select ahead::text from webhook_state where webhook_id = $1', [innerId(id)]);
  expect(rows).toEqual([{ ahead: '{}' }]);
});
