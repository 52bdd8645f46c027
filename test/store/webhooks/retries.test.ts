import { expect, onTestFinished, test, vi } from 'vitest';
import { fromWireId } from '../../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import type { Item } from '../../../server/background/delivery/endpoint/definition.ts';
import { EventFeed, FeedReader } from '../../../server/background/delivery/endpoint/event-feed.ts';
import { Retries } from '../../../server/background/delivery/endpoint/retries.ts';
import { StoreFailure } from '../../../server/store/connection/failure.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { commitEvents, eventOf, readAll, relayOnce } from '../events/relayed.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const { database } = ledger;
const owner = await useConnection(server.connection);

/** Creates events of a program in separate transactions. Each has failed at a webhook and is due again. */
async function failedEvents(count: number) {
  const programId = DEMO_PROGRAM_ID;
  const { webhook_id } = JSON.parse((await ledger.call('create_webhook', { url: 'https://hooks.example/' })).body);
  const webhookId = fromWireId('wh', webhook_id) ?? '';
  const after = (await readAll(database, { programId })).length;
  for (let made = 0; made < count; made += 1) {
    await commitEvents(database, [eventOf(programId, `before ${made}`), eventOf(programId, `event ${made}`)]);
  }
  await relayOnce(database);
  const events = (await readAll(database, { programId, after })).filter(({ subjectId }) =>
    subjectId.startsWith('event'),
  );
  await owner.query(
    `insert into webhook_delivery (webhook_id, kind, event_id, program_id, shard, position, tries, state, created_at, next_at)
      select $1, 'event', event_id, $2, 0, position, 1, 'waiting', now(), now() - interval '1 minute' + position * interval '1 ms'
      from unnest($3::uuid[], $4::bigint[]) as event (event_id, position)`,
    [webhookId, programId, events.map(({ eventId }) => eventId), events.map(({ position }) => position)],
  );
  return { programId, webhookId, eventIds: events.map(({ eventId }) => eventId) };
}

/** Opens a webhook's retries. Also returns the result of the next search for due retries. */
function open({ programId, webhookId }: { readonly programId: string; readonly webhookId: string }) {
  let settle = Promise.withResolvers<void>();
  const retries = new Retries(0, {
    webhookId,
    database,
    feed: new EventFeed(database, programId, new FeedReader(database)),
    payload: () => 'full',
    onMore: () => settle.resolve(),
    onFailure: (error) => settle.reject(error),
    forget: () => undefined,
    stored: async () => undefined,
  });
  const look = async (): Promise<readonly Item[]> => {
    settle = Promise.withResolvers();
    expect(retries.take()).toBeUndefined();
    await settle.promise;
    const items: Item[] = [];
    for (let item = retries.take(); item !== undefined; item = retries.take()) items.push(item);
    return items;
  };
  return { retries, look };
}

test('the events of fifty retries are read together', async () => {
  const failed = await failedEvents(50);
  const { look } = open(failed);
  const read = vi.spyOn(database, 'read');
  onTestFinished(() => read.mockRestore());
  const items = await look();
  expect(items.map(({ eventId }) => eventId)).toEqual(failed.eventIds);
  // The reads are: the rows, the events with their positions in one packet, and the rows of the next search.
  expect(read.mock.calls.length).toBeLessThanOrEqual(3);
});

test('retries stay due if their events could not be read', async () => {
  const failed = await failedEvents(2);
  const { retries, look } = open(failed);
  const failing = vi.spyOn(database, 'inOnePacket').mockRejectedValue(new StoreFailure(new Error('lost')));
  onTestFinished(() => failing.mockRestore());
  await expect(look()).rejects.toThrow('lost');
  failing.mockRestore();
  expect(retries.isDue).toBe(true);
  expect((await look()).map(({ eventId }) => eventId)).toEqual(failed.eventIds);
});

test('a webhook that is dropped while its oldest retry is for a deleted event does not block the others', async () => {
  const [dropped, other] = [await failedEvents(1), await failedEvents(1)];
  await owner.query('update webhook_delivery set event_id = gen_random_uuid() where webhook_id = $1', [
    dropped.webhookId,
  ]);
  expect(open(dropped).retries.takeOldest()).toBe('unknown');
  expect((await open(other).look()).map(({ eventId }) => eventId)).toEqual(other.eventIds);
});
