// An adapter. It takes orders from the service, as the adapter contract describes, and a processor executes them. To use it, copy
// it and replace processor.mjs with calls to your processor. Node 20 or later, no packages:
//
//     ADAPTER_SECRET=whsec_… PORT=4000 node adapter.mjs
import { createHmac, timingSafeEqual } from 'node:crypto';
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import * as processor from './processor.mjs';

const { ADAPTER_SECRET = '', PORT = '4000', ATTEMPTS_FILE = 'attempts.jsonl' } = process.env;
if (!ADAPTER_SECRET.startsWith('whsec_')) throw new Error('Set ADAPTER_SECRET to the secret of the connector, whsec_…');
const key = Buffer.from(ADAPTER_SECRET.slice('whsec_'.length), 'base64');

// ---- The state of each attempt: its last line in a file that only grows.

/** Status `sending`: the processor was called and has not answered yet. */
const attempts = new Map();
if (existsSync(ATTEMPTS_FILE)) {
  // A crash can cut off the last line. Its content was never sent to anyone, so it is skipped.
  const lines = readFileSync(ATTEMPTS_FILE, 'utf8').split('\n');
  const whole = lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line));
  for (const attempt of whole) attempts.set(attempt.attempt_id, attempt);
}
const file = openSync(ATTEMPTS_FILE, 'a');
// Ends a line that was cut off.
writeSync(file, '\n');

/** Writes the attempt to disk. Call this before you answer the service. */
function remember(attempt) {
  writeSync(file, `${JSON.stringify(attempt)}\n`);
  fdatasyncSync(file);
  attempts.set(attempt.attempt_id, attempt);
  return attempt;
}

// ---- The three calls.

const ORDER = ['program_id', 'transfer_id', 'kind', 'amount', 'currency', 'processor_token'];
const isSame = (attempt, order) => ORDER.every((name) => attempt[name] === order[name]);
const isTooLate = (order) => Date.now() > Date.parse(order.not_after);

/** Adds the processor's result to the attempt. Throws if the processor has a different amount or currency. */
function withResult(attempt, { status, amount, currency, reference = null, code = null }) {
  if (amount !== attempt.amount || currency !== attempt.currency)
    throw new Refused(502, `The processor has ${amount} ${currency} instead of ${attempt.amount} ${attempt.currency}.`);
  return { ...attempt, status, processor_reference: reference, code };
}

async function send(order) {
  let attempt = attempts.get(order.attempt_id);
  if (attempt !== undefined && !isSame(attempt, order)) throw new Refused(409, 'Another order has this attempt_id.');
  const mayBeSent = attempt?.status === 'sending' || (attempt === undefined && order.repeat);
  if (mayBeSent) attempt = (await ask(order)) ?? attempt;
  if (attempt?.status === 'reversed') return { ...attempt, status: 'not_executed' };
  if (attempt !== undefined && attempt.status !== 'sending') return attempt;
  if (isTooLate(order)) {
    if (mayBeSent) throw new Refused(503, 'An earlier request may still be on its way to the processor.');
    return remember({ ...newAttempt(order), status: 'not_executed' });
  }
  attempt ??= newAttempt(order);
  // Written before the call: after a crash, the file shows that the order may have been executed.
  remember({ ...attempt, status: 'sending' });
  return remember(withResult(attempt, await processor.pay(order.attempt_id, order)));
}

async function inquire(order) {
  const attempt = attempts.get(order.attempt_id);
  if (attempt !== undefined && attempt.status !== 'sending') return attempt;
  return (await ask(order)) ?? { ...newAttempt(order), status: 'not_found' };
}

/**
 * Asks the processor. Only the processor has the outcome of a call without an answer, or of an attempt that is missing
 * from the file.
 */
async function ask(order) {
  const found = await processor.find(order.attempt_id);
  return found && remember(withResult(attempts.get(order.attempt_id) ?? newAttempt(order), found));
}

async function reverse(order) {
  const attempt = attempts.get(order.attempt_id);
  if (attempt !== undefined && !isSame(attempt, order)) throw new Refused(409, 'Another order has this attempt_id.');
  if (attempt?.status === 'reversed') return attempt;
  // An unknown attempt is refunded too: its order may still arrive and must not be executed then.
  await processor.refund(order.attempt_id, order);
  return remember({ ...(attempt ?? newAttempt(order)), status: 'reversed' });
}

function newAttempt(order) {
  const known = Object.fromEntries(['attempt_id', ...ORDER].map((name) => [name, order[name]]));
  return { ...known, status: 'sending', processor_reference: null, code: null };
}

/** The answer to the service. */
function answerOf({ attempt_id, status, amount, currency, processor_reference, code }) {
  return { attempt_id, status, amount, currency, processor_reference, code, retry_after_seconds: null };
}

// ---- Calls about the same attempt run one after the other.

const turns = new Map();

function inTurn(attemptId, work) {
  const turn = (turns.get(attemptId) ?? Promise.resolve()).then(work, work);
  turns.set(attemptId, turn);
  const forget = () => turns.get(attemptId) === turn && turns.delete(attemptId);
  turn.then(forget, forget);
  return turn;
}

// ---- HTTP.

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Whether the service signed this request within the last five minutes: Standard Webhooks, plus the method and the path. */
function isSigned({ method, url, headers }, body) {
  const { 'webhook-id': id, 'webhook-timestamp': time = '', 'webhook-signature': signatures = '' } = headers;
  if (!/^\d+$/.test(time) || Math.abs(Date.now() / 1000 - Number(time)) > 300) return false;
  const expected = createHmac('sha256', key).update(`${id}.${time}.${method} ${url}.`).update(body).digest();
  return signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature.replace(/^v2,/, ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function readOrder(body, isSend) {
  let order;
  try {
    order = JSON.parse(body.toString());
  } catch {
    throw new Refused(400, 'The body is not JSON.');
  }
  const isText = (name) => typeof order?.[name] === 'string' && order[name] !== '';
  const missing = ['attempt_id', ...ORDER.filter((name) => name !== 'amount')].find((name) => !isText(name));
  if (missing !== undefined) throw new Refused(400, `${missing} is missing.`);
  if (!Number.isSafeInteger(order.amount) || order.amount < 1) throw new Refused(400, 'amount is not a whole number.');
  if (isSend && Number.isNaN(Date.parse(order.not_after))) throw new Refused(400, 'not_after is not a time.');
  return order;
}

const CALLS = { '/send': send, '/inquire': inquire, '/reverse': reverse };

async function respond(request) {
  if (request.method === 'GET' && request.url === '/health') return { status: 'ok' };
  const call = CALLS[request.url];
  if (request.method !== 'POST' || call === undefined) throw new Refused(404, 'There is nothing here.');
  const chunks = [];
  for await (const chunk of request) {
    chunks.push(chunk);
    if (chunks.reduce((sum, { length }) => sum + length, 0) > 65_536) throw new Refused(413, 'The body is too large.');
  }
  const body = Buffer.concat(chunks);
  if (!isSigned(request, body)) throw new Refused(401, 'The signature is missing, wrong or old.');
  const order = readOrder(body, call === send);
  return answerOf(await inTurn(order.attempt_id, () => call(order)));
}

const server = createServer(async (request, response) => {
  const say = (status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  try {
    say(200, await respond(request));
  } catch (error) {
    // Everything unexpected is a 500. The service then treats the outcome as unknown and inquires.
    if (!(error instanceof Refused)) console.error(error);
    say(error.status ?? 500, { error: error instanceof Refused ? error.message : 'internal error' });
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`Listening on http://127.0.0.1:${server.address().port}`));
process.once('SIGTERM', () => server.close(() => closeSync(file)));
