import { expect, test } from 'vitest';
import {
  type EventStreamOptions,
  type StreamRetry,
  TransferService,
  type TransferServiceEvent,
} from '../../sdk/client.ts';
import { waitFor } from '../harness/process.ts';
import { useTroubledService } from './troubled-service.ts';

const service = await useTroubledService();

/** Reads a stream in the background until the test ends it. */
function read(options: EventStreamOptions) {
  const controller = new AbortController();
  const events: TransferServiceEvent[] = [];
  const retries: StreamRetry[] = [];
  const client = new TransferService({ baseUrl: service.url });
  const onRetry = (retry: StreamRetry) => retries.push(retry);
  const reading = (async () => {
    for await (const event of client.events.stream({ ...options, signal: controller.signal, onRetry }))
      events.push(event);
  })();
  const end = async () => {
    controller.abort();
    await reading;
  };
  return { events, retries, end };
}

/** Reads the events of all programs and of the service in the background until the test ends it. */
function readAllPrograms() {
  const controller = new AbortController();
  const numbers: number[] = [];
  const client = new TransferService({ baseUrl: service.url });
  const reading = (async () => {
    const options = { after: 0, signal: controller.signal };
    for await (const { number } of client.events.streamAllPrograms(options)) numbers.push(number);
  })();
  const end = async () => {
    controller.abort();
    await reading;
  };
  return { numbers, end };
}

test('streams yield every event once, in order, across kills and restarts of the service and its database', async () => {
  const all = read({ after: 0 });
  const filtered = read({ after: 0, types: ['transfer.completed'] });
  const everywhere = readAllPrograms();
  await service.client.switch.change({ disabled: false, reason: 'An event of the service itself.' });
  await service.goThroughTrouble();
  const last = await service.settle();
  const hasRead = ({ events }: typeof all) => (events.at(-1)?.position ?? 0) >= last;
  await waitFor('the streams to read everything', async () => hasRead(all) && hasRead(filtered));
  await waitFor('all programs to be read', async () => everywhere.numbers.length >= last);
  await Promise.all([all.end(), filtered.end(), everywhere.end()]);
  expect(everywhere.numbers).toEqual(everywhere.numbers.map((_, index) => index + 1));
  const upToLast = all.events.filter(({ position }) => position <= last);
  expect(upToLast.map(({ position }) => position)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
  // The database outages also caused error events.
  const transfers = upToLast.filter(({ type }) => type === 'transfer.completed');
  expect(filtered.events).toEqual(transfers);
  expect(new Set(transfers.map(({ subject_id }) => subject_id)).size).toBe(transfers.length);
  const seen = new Set(transfers.map(({ subject_id }) => subject_id));
  expect(service.transferIds.filter((id) => !seen.has(id))).toEqual([]);
  // The service was restarted three times.
  expect(all.retries.length).toBeGreaterThanOrEqual(3);
});
