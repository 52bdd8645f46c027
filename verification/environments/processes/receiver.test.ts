import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NoResponse, sendRaw } from '../../../test/harness/raw-request.ts';
import { streamOf } from '../../campaign.ts';
import { Receiver } from './receiver.ts';

// Tests that the receiver of the webhooks records requests and responses, even after a restart.

const [FIRST, SECOND] = [1, 2].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`) as [string, string];

let receiver: Receiver;

beforeAll(async () => {
  receiver = await Receiver.start(streamOf(1));
  receiver.addSecret('good', FIRST);
});
afterAll(() => receiver.stop());

/** Sends an event with the signatures of some secrets. */
async function deliver(webhook: string, id: string, ...secrets: readonly string[]): Promise<number> {
  const body = JSON.stringify({ event_id: id });
  const time = new Date();
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, time, body)).join(' '),
  };
  return (await sendRaw(receiver.url, { path: `/${webhook}`, headers, body })).status;
}

test('records each delivery and the secrets that signed it', async () => {
  expect(await deliver('good', 'evt_1', FIRST)).toBe(204);
  receiver.addSecret('good', SECOND);
  expect(await deliver('good', 'evt_2', SECOND, FIRST)).toBe(204);
  expect(await deliver('good', 'evt_3', SECOND)).toBe(204);
  expect(receiver.deliveriesOf('good')).toMatchObject([
    { eventId: 'evt_1', verified: [0], status: 204 },
    { eventId: 'evt_2', verified: [0, 1], status: 204 },
    { eventId: 'evt_3', verified: [1], status: 204 },
  ]);
});

test.for([
  ['fails', 500],
  ['limits', 429],
  ['slow', 204],
] as const)('a receiver with the behavior %j answers %i', async ([kind, status]) => {
  receiver.conduct(kind, { kind });
  expect(await deliver(kind, 'evt_1')).toBe(status);
  expect(receiver.deliveriesOf(kind)).toMatchObject([{ verified: [], status }]);
});

test('records a delivery without a response if it closes the connection', async () => {
  receiver.conduct('closes', { kind: 'closes' });
  await expect(deliver('closes', 'evt_1')).rejects.toThrow(NoResponse);
  expect(receiver.deliveriesOf('closes').map(({ status }) => status)).toEqual([undefined]);
});

test('keeps its records after a restart', async () => {
  receiver.conduct('black-hole', { kind: 'black hole' });
  const lost = expect(deliver('black-hole', 'evt_1')).rejects.toThrow(NoResponse);
  await expect.poll(() => receiver.deliveriesOf('black-hole').length).toBe(1);
  await receiver.restart(lost);
  expect(await deliver('good', 'evt_4', FIRST)).toBe(204);
  expect(receiver.deliveriesOf('good').at(-1)).toMatchObject({ eventId: 'evt_4', verified: [0], status: 204 });
  expect(receiver.deliveriesOf('black-hole').map(({ status }) => status)).toEqual([undefined]);
});
