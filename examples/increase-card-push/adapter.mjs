// An adapter for the Card Push Transfers of Increase. It stores nothing: Increase remembers the idempotency key of every transfer
// forever, and that key is the attempt_id. Node 20 or later:
//
//     npm ci && ADAPTER_SECRET=whsec_… INCREASE_API_KEY=… TRANSFER_FILE=transfer.json PORT=4001 node adapter.mjs
//
// Traits: "key_memory_seconds": null, "reversal": "none" (a card push cannot be called back).
import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import Increase, { APIError, IdempotencyKeyAlreadyUsedError } from 'increase';

const { ADAPTER_SECRET = '', PORT = '4001', TRANSFER_FILE = 'transfer.json', INCREASE_ENVIRONMENT } = process.env;
if (!ADAPTER_SECRET.startsWith('whsec_')) throw new Error('Set ADAPTER_SECRET to the secret of the connector, whsec_…');
const key = Buffer.from(ADAPTER_SECRET.slice('whsec_'.length), 'base64');

/** The sender and the recipient, which Increase requires for every transfer. */
const TRANSFER = JSON.parse(readFileSync(TRANSFER_FILE, 'utf8'));

const { cardPushTransfers } = new Increase({
  ...(INCREASE_ENVIRONMENT !== undefined && { environment: INCREASE_ENVIRONMENT }),
  // The service decides whether to retry, and waits ten seconds for an answer. This time-out is shorter, so that the
  // service gets an answer even if Increase does not respond.
  maxRetries: 0,
  timeout: 8_000,
});

// ---- The calls.

async function send(order) {
  if (order.kind !== 'push') return (await known(order)) ?? nothing(order, 'pulls are not possible');
  if (Date.now() > Date.parse(order.not_after)) return (await known(order)) ?? nothing(order, 'not_after has passed');
  const presentment_amount = { currency: order.currency, value: decimal(order.amount, order.currency) };
  const body = { ...TRANSFER, card_token_id: order.processor_token, presentment_amount };
  try {
    return resultOf(order, await cardPushTransfers.create(body, { idempotencyKey: order.attempt_id }));
  } catch (error) {
    if (error instanceof IdempotencyKeyAlreadyUsedError) {
      // This key was sent before with other fields: a different amount or card, or TRANSFER_FILE has changed since.
      return compared(order, await cardPushTransfers.retrieve(error.resource_id));
    }
    // Increase refused the request and created nothing. A conflict, a rate limit or a time-out does not prove that.
    const isRefused = error instanceof APIError && [400, 401, 403, 404, 422].includes(error.status);
    if (!isRefused) throw error;
    console.error(`${order.attempt_id}: ${error.message}`);
    return nothing(order, 'Increase refused the request');
  }
}

async function inquire(order) {
  const transfer = await find(order.attempt_id);
  return transfer === undefined ? answer(order, 'not_found') : resultOf(order, transfer);
}

async function reverse() {
  throw new Refused(501, 'A card push cannot be reversed: set the trait "reversal" to "none".');
}

/** Returns the transfer with our key, or undefined. */
async function find(attemptId) {
  const { data } = await cardPushTransfers.list({ idempotency_key: attemptId });
  return data[0];
}

async function known(order) {
  const transfer = await find(order.attempt_id);
  return transfer && compared(order, transfer);
}

function compared(order, transfer) {
  const { card_token_id, presentment_amount: paid } = transfer;
  const isSame =
    order.kind === 'push' &&
    card_token_id === order.processor_token &&
    paid.currency === order.currency &&
    minorUnits(paid) === order.amount;
  if (!isSame) throw new Refused(409, 'Another order has this attempt_id.');
  return resultOf(order, transfer);
}

/**
 * Answers that nothing was executed. If the order is a repetition, this is not certain: an earlier request may still reach
 * Increase.
 */
function nothing(order, why) {
  if (order.repeat) throw new Refused(503, `Not known: ${why}, but an earlier request may still arrive.`);
  return answer(order, 'not_executed');
}

// ---- Translation from Increase to the contract.

const STATUSES = { __proto__: null, complete: 'approved', declined: 'declined', canceled: 'not_executed' };

/** The decline reasons that the service distinguishes, as ISO 8583 codes. All others are 05. */
const CODES = {
  __proto__: null,
  insufficient_funds: '51',
  activity_amount_limit_exceeded: '61',
  activity_count_limit_exceeded: '65',
  expired_card: '54',
  pick_up_card_lost: '41',
  pick_up_card_stolen: '43',
  suspected_fraud: '59',
  invalid_merchant: '03',
  invalid_transaction: '12',
  invalid_amount: '13',
  issuer_unavailable: '91',
  system_malfunction: '96',
};

/** Converts a transfer to an answer. Unfinished transfers are pending: under review, waiting for approval, or at the network. */
function resultOf(order, transfer) {
  const status = STATUSES[transfer.status] ?? 'pending';
  const code = status === 'declined' ? (CODES[transfer.decline?.reason] ?? '05') : null;
  const { currency } = transfer.presentment_amount;
  const amount = minorUnits(transfer.presentment_amount);
  return { ...answer(order, status), amount, currency, processor_reference: transfer.id, code };
}

function answer({ attempt_id, amount, currency }, status) {
  return { attempt_id, status, amount, currency, processor_reference: null, code: null, retry_after_seconds: null };
}

const decimalsOf = (currency) =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits;

/** Writes minor units as a decimal: 1234 in USD is 12.34. Works on digits, because fractions are not exact. */
function decimal(amount, currency) {
  const decimals = decimalsOf(currency);
  const digits = String(amount).padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

function minorUnits({ value, currency }) {
  const [whole, fraction = ''] = value.split('.');
  return Number(whole + fraction.padEnd(decimalsOf(currency), '0'));
}

// ---- HTTP, as in minimal-adapter.

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

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
  const texts = ['attempt_id', 'kind', 'currency', 'processor_token'];
  if (texts.some((name) => typeof order?.[name] !== 'string')) throw new Refused(400, 'The body is not an order.');
  if (!Number.isSafeInteger(order.amount) || order.amount < 1) throw new Refused(400, 'amount is not a whole number.');
  if (isSend && Number.isNaN(Date.parse(order.not_after))) throw new Refused(400, 'not_after is not a time.');
  return order;
}

const CALLS = { '/send': send, '/inquire': inquire, '/reverse': reverse };

const server = createServer(async (request, response) => {
  const say = (status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  try {
    if (request.method === 'GET' && request.url === '/health') return say(200, { status: 'ok' });
    const call = CALLS[request.url];
    if (request.method !== 'POST' || call === undefined) throw new Refused(404, 'There is nothing here.');
    const chunks = [];
    for await (const chunk of request) {
      chunks.push(chunk);
      if (chunks.reduce((sum, { length }) => sum + length, 0) > 65_536)
        throw new Refused(413, 'The body is too large.');
    }
    const body = Buffer.concat(chunks);
    if (!isSigned(request, body)) throw new Refused(401, 'The signature is missing, wrong or old.');
    say(200, await call(readOrder(body, call === send)));
  } catch (error) {
    // After a time-out or an error of Increase, the service treats the outcome as unknown and inquires.
    if (!(error instanceof Refused)) console.error(error);
    say(error instanceof Refused ? error.status : 502, { error: error.message });
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`Listening on http://127.0.0.1:${server.address().port}`));
process.once('SIGTERM', () => server.close());
