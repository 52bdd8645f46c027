import { spawn } from 'node:child_process';
import { Webhook } from 'standardwebhooks';
import { afterAll, expect, test } from 'vitest';
import { newWebhookSecret } from '../../sdk/client.ts';
import { waitFor } from '../harness/process.ts';
import { opensslSignature } from '../sdk/openssl-signature.ts';
import { useTroubledService } from '../sdk/troubled-service.ts';
import { type ReceivedWebhook, startWebhookTarget } from './webhook-target.ts';

const MAIN = new URL('../../cli/main.ts', import.meta.url).pathname;
const SECRET = newWebhookSecret();

const service = await useTroubledService();
const target = await startWebhookTarget();
afterAll(target.cut);

/** Verifies a webhook with a separate library and with openssl, and returns its content. */
function verified({ headers, body }: ReceivedWebhook): { readonly position: number; readonly subject_id: string } {
  const event = new Webhook(SECRET).verify(body, headers as Record<string, string>);
  const { 'webhook-id': id = '', 'webhook-timestamp': timestamp = '', 'webhook-signature': signature } = headers;
  expect(signature).toBe(opensslSignature(SECRET, String(id), String(timestamp), body));
  return event as { readonly position: number; readonly subject_id: string };
}

test('events listen delivers every event once, in order, across restarts of the service, its database and the target', async () => {
  const child = spawn(process.execPath, [MAIN, 'events', 'listen', '--forward-to', target.url, '--after', '0'], {
    env: { TRANSFER_SERVICE_URL: service.url, TRANSFER_SERVICE_WEBHOOK_SECRET: SECRET },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((done) => child.on('close', (code) => done(code)));
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  await waitFor('the first webhook', async () => target.received.length > 0);
  await target.stop();
  await service.goThroughTrouble();
  await target.start();
  await service.goThroughTrouble();
  const last = await service.settle();
  await waitFor('the last webhook', async () => output.includes(`${String(last).padStart(6)}  transfer.completed`));
  child.kill('SIGINT');
  expect(await ended).toBe(0);
  const events = target.received.map(verified).filter(({ position }) => position <= last);
  expect(events.map(({ position }) => position)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
  const delivered = new Set(events.map(({ subject_id }) => subject_id));
  expect(service.transferIds.filter((id) => !delivered.has(id))).toEqual([]);
  expect(output.match(/ {2}200 in \d+ ms\n/g)?.length).toBeGreaterThanOrEqual(last);
  expect(errors).toContain('waiting until something listens there');
  expect(errors).toMatch(/To continue: --after \d+\n$/);
});
