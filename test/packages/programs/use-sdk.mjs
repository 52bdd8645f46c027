// Uses the SDK as a user does, in a folder with its tarball installed. Takes the URL of a sandbox, and prints the results
// as JSON.
import { once } from 'node:events';
import { createServer } from 'node:net';
import {
  ConnectionFailure,
  newWebhookSecret,
  RequestError,
  signWebhook,
  TransferService,
  verifyWebhook,
  WebhookVerificationError,
} from '@transfer-service/sdk';

const [baseUrl, orderId] = process.argv.slice(2);
const service = new TransferService({ baseUrl });
const errorOf = (call) =>
  call.then(
    () => undefined,
    (error) => error,
  );

const created = await service.transfers.create({ amount: 1000, card_id: 'card_active' }, { idempotencyKey: orderId });
const again = await service.transfers.create({ amount: 1000n, card_id: 'card_active' }, { idempotencyKey: orderId });
const refused = await errorOf(service.transfers.create({ amount: 1000, card_id: 'card_lost' }));

const listener = createServer().listen(0, '127.0.0.1');
await once(listener, 'listening');
const closedUrl = `http://127.0.0.1:${listener.address().port}`;
await new Promise((resolve) => listener.close(resolve));
const unreachable = await errorOf(
  new TransferService({ baseUrl: closedUrl, maxRetries: 0 }).transfers.create({ amount: 1 }),
);
const timedOut = await errorOf(service.transfers.list({}, { signal: AbortSignal.abort(new Error('enough')) }));

const amounts = [];
for await (const { amount } of service.transfers.listAll({ limit: 1 })) amounts.push(amount);

let lines = 0;
for await (const chunk of await service.transfers.export()) lines += chunk.split('\n').length - 1;

const types = [];
for await (const { type } of service.events.stream({ after: 0, types: ['transfer.*'] })) {
  types.push(type);
  if (type === 'transfer.completed') break;
}

const secret = newWebhookSecret();
const body = JSON.stringify({ type: 'transfer.completed' });
const headers = await signWebhook({ id: 'evt_1', body }, secret);
const verified = await verifyWebhook(body, headers, secret);
const forged = await errorOf(verifyWebhook(`${body} `, headers, secret));

console.log(
  JSON.stringify({
    node: process.versions.node,
    created: created.status,
    requestId: typeof created.response.requestId,
    replayed: [created.response.replayed, again.response.replayed],
    refused: [refused instanceof RequestError, refused.code, refused.status, refused.moneyMoved],
    unreachable: [unreachable instanceof ConnectionFailure, unreachable.moneyMoved],
    aborted: [timedOut instanceof ConnectionFailure, timedOut.reason, timedOut.cause.message],
    amounts,
    lines,
    types,
    verified: verified.type,
    forged: [forged instanceof WebhookVerificationError, forged.reason],
  }),
);
console.error(refused);
