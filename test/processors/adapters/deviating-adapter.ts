import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { NotAnOrder, type Order, readOrder } from '../../../simulator/order.ts';
import { isSigned } from '../../../simulator/signature.ts';

/** A way in which an adapter can break the contract. */
export type Deviation =
  | 'never_answers'
  | 'no_health'
  | 'no_signature_needed'
  | 'any_signature'
  | 'any_time'
  | 'any_path'
  | 'one_signature'
  | 'acts_before_it_verifies'
  | 'bad_json_is_500'
  | 'any_amount'
  | 'refuses_unknown_fields'
  | 'other_amount'
  | 'leaves_out_null'
  | 'long_code'
  | 'counts_in_floats'
  | 'pays_again'
  | 'looks_first_and_writes_later'
  | 'takes_any_order_for_the_first'
  | 'forgets'
  | 'finds_everything'
  | 'ignores_not_after'
  | 'looks_at_not_after_first'
  | 'reverses_nothing'
  | 'reverses_once'
  | 'executes_reversed'
  | 'forgets_early_reversals';

type Attempt = { readonly order: Order; status: string; reference: string };

/**
 * Starts an adapter that keeps the contract except for one deviation, or keeps it completely if that is null. Stops the
 * adapter at the end of the test.
 */
export async function startDeviating(deviation: Deviation | null, secret: string): Promise<string> {
  const attempts = new Map<string, Attempt>();
  const does = (one: Deviation): boolean => one === deviation;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    if (does('never_answers')) return;
    const reply = await replyTo(request, Buffer.concat(chunks), { attempts, does, secret });
    say(response, ...reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type World = {
  readonly attempts: Map<string, Attempt>;
  readonly does: (deviation: Deviation) => boolean;
  readonly secret: string;
};

async function replyTo(request: IncomingMessage, body: Buffer, world: World): Promise<[number, object]> {
  const { does } = world;
  const { url } = request;
  if (url === '/health') return does('no_health') ? [200, {}] : [200, { status: 'ok' }];
  const isAccepted = accepts(request, body, world);
  if (!isAccepted && !does('acts_before_it_verifies')) return [401, {}];
  const call = url === '/send' ? 'send' : url === '/reverse' ? 'reverse' : 'inquire';
  const given = does('any_amount') ? Buffer.from(body.toString().replace(/"amount":[^,}]+/, '"amount":115')) : body;
  let order: Order;
  try {
    order = readOrder(given, call);
  } catch (error) {
    if (!(error instanceof NotAnOrder)) throw error;
    return [does('bad_json_is_500') ? 500 : 400, {}];
  }
  if (does('refuses_unknown_fields') && body.includes('a_later_field')) return [400, {}];
  const reply = await { send, inquire, reverse }[call](order, world);
  return isAccepted ? reply : [401, {}];
}

function accepts(request: IncomingMessage, body: Buffer, { does, secret }: World): boolean {
  const { headers, url = '' } = request;
  const signature = String(headers['webhook-signature'] ?? '');
  if (does('no_signature_needed') && signature === '') return true;
  if (does('any_signature') && signature !== '') return true;
  if (does('one_signature') && signature.includes(' ')) return false;
  const now = String(Math.floor(Date.now() / 1000));
  const isOther = headers['webhook-timestamp'] !== undefined && headers['webhook-timestamp'] !== now;
  // Accepts a signature with a different time, as if the time did not matter.
  if (does('any_time') && isOther && Math.abs(Number(headers['webhook-timestamp']) - Number(now)) > 300) return true;
  if (does('any_path')) return ['/send', '/inquire', '/reverse'].some((path) => isSigned(request, path, body, secret));
  return isSigned(request, url, body, secret);
}

const waiting = new Map<string, () => void>();

/** Delays the first order of an attempt until the adapter has read a second one. */
async function untilAnother(attemptId: string): Promise<void> {
  const first = waiting.get(attemptId);
  if (first !== undefined) return first();
  await new Promise<void>((resolve) => waiting.set(attemptId, resolve));
}

async function send(order: Order, { attempts, does }: World): Promise<[number, object]> {
  let attempt = attempts.get(order.attempt_id);
  if (does('looks_first_and_writes_later')) await untilAnother(order.attempt_id);
  const isTooLate = Date.now() > (order.not_after ?? 0) && !does('ignores_not_after');
  if (does('looks_at_not_after_first') && isTooLate) return said(order, 'not_executed');
  const isOther = attempt !== undefined && JSON.stringify(keyOf(attempt.order)) !== JSON.stringify(keyOf(order));
  if (isOther && !does('takes_any_order_for_the_first')) return [409, {}];
  if (attempt?.status === 'reversed' && !does('executes_reversed')) return said(order, 'not_executed');
  if (attempt === undefined && isTooLate) return said(order, 'not_executed');
  if (attempt === undefined || does('pays_again') || attempt.status === 'reversed') {
    attempt = { order, status: 'approved', reference: randomUUID() };
    attempts.set(order.attempt_id, attempt);
  }
  const more = {
    ...(does('other_amount') && { amount: order.amount - 1 }),
    ...(does('leaves_out_null') && { code: undefined }),
    ...(does('long_code') && { code: 'x'.repeat(65) }),
    // Converts the amount to major units and back, like an adapter whose processor counts in major units.
    ...(does('counts_in_floats') && { amount: Math.trunc(Number((order.amount / 100).toFixed(2)) * 100) }),
  };
  return said(order, 'approved', { processor_reference: attempt.reference, ...more });
}

async function inquire(order: Order, { attempts, does }: World): Promise<[number, object]> {
  const attempt = does('forgets') ? undefined : attempts.get(order.attempt_id);
  if (attempt === undefined) return said(order, does('finds_everything') ? 'approved' : 'not_found');
  return said(order, attempt.status, { processor_reference: attempt.reference });
}

async function reverse(order: Order, { attempts, does }: World): Promise<[number, object]> {
  const attempt = attempts.get(order.attempt_id) ?? { order, status: 'none', reference: randomUUID() };
  if (does('reverses_once') && attempt.status === 'reversed') return [404, {}];
  if (attempt.status !== 'none' || !does('forgets_early_reversals')) attempts.set(order.attempt_id, attempt);
  if (!does('reverses_nothing')) attempt.status = 'reversed';
  return said(order, 'reversed', { processor_reference: attempt.reference });
}

const keyOf = ({ amount, kind, processor_token }: Order) => ({ amount, kind, processor_token });

function said({ attempt_id, amount, currency }: Order, status: string, more: object = {}): [number, object] {
  const nothing = { processor_reference: null, code: null, retry_after_seconds: null };
  return [200, { attempt_id, status, amount, currency, ...nothing, ...more }];
}

function say(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
