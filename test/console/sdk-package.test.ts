import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize, sep } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { useOwnService } from '../harness/service.ts';
import { packedSdk } from '../packages/packed.ts';
import { sharedBrowser } from './harness/browser.ts';

// Loads the SDK from its tarball in a page. All modules come from the package.

/** A page that can import the SDK by its name. */
const PAGE = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>A page</title>
<script type="importmap">{"imports": {"@transfer-service/sdk": "/sdk/dist/client.js"}}</script>`;

const service = useOwnService('Its examples begin with a new sandbox.');
const servers: Server[] = [];
let sdk: string;

/** Serves the page and the package, and forwards /api to the service, as a development server does. */
async function servePage(): Promise<string> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://page').pathname);
    if (path === '/') {
      response.setHeader('Content-Type', 'text/html').end(PAGE);
      return;
    }
    const file = join(sdk, path.slice('/sdk'.length));
    if (path.startsWith('/sdk/') && file.startsWith(`${sdk}${sep}`) && existsSync(file)) {
      response.setHeader('Content-Type', 'text/javascript').end(readFileSync(file));
      return;
    }
    const { hostname, port } = new URL(service().url);
    const { method, headers, url } = request;
    const asked = forward({ hostname, port, path: url, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    asked.on('error', () => response.destroy());
    response.on('close', () => asked.destroy());
    request.pipe(asked);
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

let origin: string;
beforeAll(async () => {
  sdk = join((await packedSdk()).folder, 'node_modules', '@transfer-service', 'sdk');
  origin = await servePage();
});
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

async function openPage(): Promise<Page> {
  const context = await (await sharedBrowser()).newContext();
  onTestFinished(() => context.close());
  // Only a page that hangs takes this long.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  await page.goto(origin);
  return page;
}

/** Runs the text of a function body in the page, with the exports of the SDK. */
function run<Result>(page: Page, program: string): Promise<Result> {
  return page.evaluate(`import('@transfer-service/sdk').then(async (sdk) => { ${program} })`) as Promise<Result>;
}

test('moves money, handles errors and reads lists, exports and events from the same origin', async () => {
  const page = await openPage();
  const seen = await run(
    page,
    `const service = new sdk.TransferService({ baseUrl: location.origin });
     const options = { idempotencyKey: 'order-1' };
     const created = await service.transfers.create({ amount: 1000n, card_id: 'card_active' }, options);
     const again = await service.transfers.create({ amount: 1000, card_id: 'card_active' }, options);
     const refused = await service.transfers.create({ amount: 1000, card_id: 'card_closed' }).catch((error) => error);
     const statuses = [];
     for await (const { status } of service.transfers.listAll({ limit: 1 })) statuses.push(status);
     let lines = 0;
     for await (const chunk of await service.transfers.export()) lines += chunk.split('\\n').length - 1;
     const types = [];
     for await (const { type } of service.events.stream({ after: 0, types: ['transfer.*'] })) {
       types.push(type);
       if (type === 'transfer.completed') break;
     }
     const secret = sdk.newWebhookSecret();
     const body = JSON.stringify({ type: 'transfer.completed' });
     const headers = await sdk.signWebhook({ id: 'evt_1', body }, secret);
     return {
       status: created.status,
       replayed: [created.response.replayed, again.response.replayed],
       refused: [refused instanceof sdk.RequestError, refused.code, refused.moneyMoved, typeof refused.requestId],
       complete: statuses.length > 0 && lines === statuses.length + 1,
       last: types.at(-1),
       verified: (await sdk.verifyWebhook(body, new Headers(headers), secret)).type,
     };`,
  );
  expect(seen).toEqual({
    status: 'completed',
    replayed: [false, true],
    refused: [true, 'card_closed', 'no', 'string'],
    complete: true,
    last: 'transfer.completed',
    verified: 'transfer.completed',
  });
});

test('logs the code, the request id and whether money moved in the browser console', async () => {
  const page = await openPage();
  const shown = page.waitForEvent('console', (message) => message.text().includes('Error'));
  await run(
    page,
    `const service = new sdk.TransferService({ baseUrl: location.origin });
     await service.transfers.create({ amount: 1000, card_id: 'card_closed' }).catch((error) => console.log(error));`,
  );
  expect((await shown).text()).toMatch(
    /^RequestError: The card .*\n {4}at .*\n {4}\[card_closed\] request req_\w+, money moved: no$/s,
  );
});

test('reports an unknown outcome to a page of a different origin, which cannot read the responses', async () => {
  const page = await openPage();
  const failure = await run<Record<string, unknown>>(
    page,
    `const service = new sdk.TransferService({ baseUrl: '${service().url}', maxRetries: 0 });
     const error = await service.transfers.create({ amount: 1000, card_id: 'card_active' }).catch((thrown) => thrown);
     return { name: error.name, reason: error.reason, moneyMoved: error.moneyMoved };`,
  );
  expect(failure).toEqual({ name: 'ConnectionFailure', reason: 'lost', moneyMoved: 'unknown' });
});

test('rejects an aborted call with the reason of its signal', async () => {
  const page = await openPage();
  const failure = await run(
    page,
    `const service = new sdk.TransferService({ baseUrl: location.origin });
     const { position } = await service.events.list({ limit: 1 });
     const call = service.events.list({ after: position, wait: 20 }, { signal: AbortSignal.timeout(50) });
     const error = await call.catch((thrown) => thrown);
     return [error.name, error.reason, error.cause.name];`,
  );
  expect(failure).toEqual(['ConnectionFailure', 'aborted', 'TimeoutError']);
});
