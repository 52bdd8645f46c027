// Stands in for your processor. Replace these three functions with calls to its API. The processor must remember each order by
// the key that we send, and execute it once. Most processors call that an idempotency key. This one keeps its records in a file.

import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

const { PROCESSOR_FILE = 'processor.jsonl' } = process.env;
const payments = new Map();
if (existsSync(PROCESSOR_FILE))
  for (const line of readFileSync(PROCESSOR_FILE, 'utf8').split('\n').filter(Boolean)) {
    const payment = JSON.parse(line);
    payments.set(payment.key, payment);
  }

function record(payment) {
  appendFileSync(PROCESSOR_FILE, `${JSON.stringify(payment)}\n`);
  payments.set(payment.key, payment);
}

/** Executes an order: a push pays the card, a pull charges it. The same key returns the same result again. */
export async function pay(key, { amount, currency, kind, processor_token }) {
  const isDeclined = processor_token === 'card_declined';
  const result = isDeclined ? { status: 'declined', code: '05' } : { status: 'approved', reference: randomUUID() };
  if (!payments.has(key)) record({ key, kind, amount, currency, processor_token, ...result });
  return find(key);
}

/** Returns the order with this key (status, amount, currency, reference and code, as the processor has them), or undefined. */
export async function find(key) {
  const payment = payments.get(key);
  if (payment === undefined) return undefined;
  const { status, amount, currency, reference, code } = payment;
  return { status, amount, currency, reference, code };
}

/**
 * Pays back the money that was moved for a key, once. An order that arrives later with an unknown key is not executed.
 */
export async function refund(key, { amount, currency }) {
  const payment = payments.get(key) ?? { key, amount, currency };
  if (payment.status !== 'declined' && payment.status !== 'reversed') record({ ...payment, status: 'reversed' });
}
