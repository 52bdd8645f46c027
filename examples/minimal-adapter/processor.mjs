// Stands in for your processor: replace these three functions by calls to its API. What matters is that it knows an order by
// the key that we give it, and executes it once; most call that an idempotency key. This one keeps its books in a file.

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

/** Executes an order: to the card if it is a push, from it if it is a pull. The same key again has the same result. */
export async function pay(key, { amount, currency, kind, processor_token }) {
  const isDeclined = processor_token === 'card_declined';
  const result = isDeclined ? { status: 'declined', code: '05' } : { status: 'approved', reference: randomUUID() };
  if (!payments.has(key)) record({ key, kind, amount, currency, processor_token, ...result });
  return find(key);
}

/** What became of the order with a key: status, amount, currency, reference and code, as the processor has them; or undefined. */
export async function find(key) {
  const payment = payments.get(key);
  if (payment === undefined) return undefined;
  const { status, amount, currency, reference, code } = payment;
  return { status, amount, currency, reference, code };
}

/** Moves back what was moved for a key, once. A key that is not known yet is executed no more. */
export async function refund(key, { amount, currency }) {
  const payment = payments.get(key) ?? { key, amount, currency };
  if (payment.status !== 'declined' && payment.status !== 'reversed') record({ ...payment, status: 'reversed' });
}
