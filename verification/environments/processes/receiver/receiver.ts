// A receiver of webhooks in its own process. It records requests and responses in a file. Its arguments are the port, the
// file, a seed and the number of its run. The parent process controls the responses over IPC.
import { createHash } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { pause, streamOf } from '../../../campaign.ts';
import type { Conduct, Instruction, Note } from '../../../checkers/deliveries/notes.ts';

/** The longest delay of a slow response, in milliseconds. */
const MAX_DELAY = 300;

/** The `Retry-After` of a 429, far shorter than the service's own schedule. */
const RETRY_AFTER_SECONDS = '1';

type Endpoint = { readonly conduct: Conduct; readonly secrets: readonly string[] };

const [port = '0', file = '', seed = '1', run = '1'] = process.argv.slice(2);
const random = streamOf(Number(seed), Number(run));
const endpoints = new Map<string, Endpoint>();
const notes = openSync(file, 'a');
let received = 0;

/** Written synchronously, so nothing is lost when the process is killed. */
function note(line: Note): void {
  writeSync(notes, `${JSON.stringify(line)}\n`);
}

function verified({ secrets }: Endpoint, body: string, headers: IncomingMessage['headers']): readonly number[] {
  const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return [...secrets.keys()].filter((index) => {
    try {
      new Webhook(secrets[index] ?? '').verify(body, sent);
      return true;
    } catch {
      return false;
    }
  });
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const webhook = (request.url ?? '').slice(1);
  const body = await bodyOf(request);
  received += 1;
  const delivery = `${run}-${received}`;
  const endpoint = endpoints.get(webhook) ?? { conduct: { kind: 'good' }, secrets: [] };
  note({
    delivery,
    webhook,
    at: Date.now(),
    eventId: String(request.headers['webhook-id']),
    hash: createHash('sha256').update(body).digest('base64'),
    verified: verified(endpoint, body.toString('utf8'), request.headers),
  });
  const { kind, share = 1 } = endpoint.conduct;
  const isGood = kind === 'good' || random() >= share;
  if (!isGood && kind === 'black hole') return;
  if (!isGood && kind === 'closes') {
    request.socket.destroy();
    return;
  }
  if (!isGood && kind === 'slow') await pause(random() * MAX_DELAY);
  const status = isGood || kind === 'slow' ? 204 : kind === 'limits' ? 429 : 500;
  // The sender may be gone.
  if (request.socket.destroyed) return;
  note({ delivery, status });
  response.writeHead(status, status === 429 ? { 'Retry-After': RETRY_AFTER_SECONDS } : {}).end();
}

const server = createServer((request, response) => {
  // The request aborts if the sender is killed.
  receive(request, response).catch(() => request.socket.destroy());
});
// Longer than the service keeps a connection.
server.keepAliveTimeout = 120_000;
process.on('message', (instruction: Instruction) => {
  const done = () => process.send?.('done');
  // This runs between two requests, so every recorded response has been sent.
  if (instruction === 'exit') process.exit();
  if (instruction === 'listen') return server.listen(Number(port), '127.0.0.1', done);
  endpoints.set(instruction.webhook, instruction);
  return done();
});
process.on('disconnect', () => process.exit());
