import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { verifyWebhook } from '../../sdk/client.ts';
import { waitFor } from '../harness/process.ts';
import { createWebhook, newProgram, type Program, useWorld } from './arrange.ts';
import { type Received, type Receiver, receiverForTest } from './receiver.ts';

const world = useWorld();

/** Causes an event, and returns the request that delivered it. */
async function nextReceived(program: Program, receiver: Receiver): Promise<Received> {
  const position = await program.transfer(1);
  await waitFor('the event', async () => receiver.positions.includes(position));
  const found = receiver.received.find(({ event }) => event.position === position);
  if (found === undefined) throw new Error('nothing was received');
  return found;
}

const countSignatures = ({ headers }: Received): number => String(headers['webhook-signature']).split(' ').length;

/** Returns whether each secret has signed the request. Both libraries must agree. */
async function signedBy({ body, headers }: Received, secrets: readonly string[]): Promise<readonly boolean[]> {
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return Promise.all(
    secrets.map(async (secret) => {
      const bySdk = await verifyWebhook(body, headers, secret).then(
        () => true,
        () => false,
      );
      let byPackage = true;
      try {
        new Webhook(secret).verify(body, sent);
      } catch {
        byPackage = false;
      }
      expect(byPackage).toBe(bySdk);
      return bySdk;
    }),
  );
}

test('requests are signed with previous secrets until these expire, and with at most three secrets at once', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id: id, secret } = await createWebhook(program, receiver);
  const secrets = [secret ?? ''];
  for (let count = 2; count <= 3; count += 1) {
    secrets.push((await program.client.webhooks.rollSecret(id)).secret ?? '');
    await waitFor('signatures', async () => countSignatures(await nextReceived(program, receiver)) === count);
    expect(await signedBy(await nextReceived(program, receiver), secrets)).toEqual(secrets.map(() => true));
  }
  secrets.push((await program.client.webhooks.rollSecret(id)).secret ?? '');
  await waitFor('the newest', async () => (await signedBy(await nextReceived(program, receiver), secrets))[3] === true);
  expect(await signedBy(await nextReceived(program, receiver), secrets)).toEqual([false, true, true, true]);
});

test('a secret signs no request after it expires', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id: id, secret: earlier } = await createWebhook(program, receiver);
  // The time is late enough that the service has usually read the secret before it expires.
  const previous_until = new Date(Date.now() + 4_000).toISOString();
  const { secret: later } = await program.client.webhooks.rollSecret(id, { previous_until });
  const secrets = [earlier ?? '', later ?? ''];
  await waitFor(
    'the new secret',
    async () => (await signedBy(await nextReceived(program, receiver), secrets))[1] === true,
  );
  await waitFor('the end of the old secret', async () => countSignatures(await nextReceived(program, receiver)) === 1);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(previous_until) - 1_000);
  expect(await signedBy(await nextReceived(program, receiver), secrets)).toEqual([false, true]);
});

test('a secret that is rolled with a time in the past stops signing immediately', async () => {
  const program = await newProgram(world());
  const receiver = await receiverForTest();
  const { webhook_id: id, secret: earlier } = await createWebhook(program, receiver);
  const { secret: later } = await program.client.webhooks.rollSecret(id, { previous_until: '2020-01-01T00:00:00Z' });
  const secrets = [earlier ?? '', later ?? ''];
  await waitFor(
    'the new secret',
    async () => (await signedBy(await nextReceived(program, receiver), secrets))[1] === true,
  );
  expect(await signedBy(await nextReceived(program, receiver), secrets)).toEqual([false, true]);
});
