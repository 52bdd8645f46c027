import { setTimeout as sleep } from 'node:timers/promises';
import { readAnswer as readAsService } from '../../contract/processors/read-answer.ts';
import { JsonNumber, type JsonValue } from '../../contract/reading/json.ts';
import { parseJson } from '../../sdk/generated/parse-json.ts';
import { type Adapter, type Call, newId, type Order, type Returned, type Signing } from './adapter.ts';

/** An adapter broke a rule. The message says in a sentence what it did. */
export class Violation extends Error {}

/** The rule does not apply to this adapter; the message says why. */
export class NotApplicable extends Error {}

/** The valid answer to a call. */
export type Answer = {
  readonly status: string;
  readonly processor_reference: string | null;
};

/**
 * The amount is small, in case the adapter moves real money. It also reveals floating-point conversions: 1.15 × 100 is
 * 114.99999999999999.
 */
const AMOUNT = 115;
const CURRENCY = 'USD';
/** Much longer than a check takes. */
const NOT_AFTER_MILLISECONDS = 600_000;
/** How many times to repeat a reversal that is answered with `pending`, and the pause before each repetition. */
const REVERSALS = 20;
const REVERSAL_PAUSE_MILLISECONDS = 500;
const MAX_EXCERPT_CHARACTERS = 200;

export class Trial {
  readonly #adapter: Adapter;
  readonly #token: string;

  constructor(adapter: Adapter, token: string) {
    this.#adapter = adapter;
    this.#token = token;
  }

  order(more: Partial<Order> = {}): Order {
    return {
      attempt_id: newId('pat'),
      program_id: newId('prog'),
      transfer_id: newId('tr'),
      kind: 'push',
      amount: AMOUNT,
      currency: CURRENCY,
      processor_token: this.#token,
      not_after: new Date(Date.now() + NOT_AFTER_MILLISECONDS).toISOString(),
      repeat: false,
      sandbox_behavior: null,
      ...more,
    };
  }

  /** Returns any answer of the adapter unchecked. */
  raw(call: Call, body: object | string, signing?: Signing): Promise<Returned> {
    // As in the service, only orders to execute have a deadline.
    const isTimed = typeof body === 'string' || call === 'send';
    return this.#adapter.call(call, isTimed ? body : { ...body, not_after: undefined }, signing);
  }

  health(): Promise<Returned> {
    return this.#adapter.health();
  }

  /** Calls the adapter about an order; the answer must be well-formed and have one of these statuses. */
  async ask(call: Call, order: Order, ...statuses: readonly string[]): Promise<Answer> {
    return readAnswer(call, order, await this.raw(call, order), statuses);
  }

  /** Sends an order that has to be executed, now or later. */
  async sent(order: Order): Promise<Answer> {
    const returned = await this.raw('send', order);
    if (returned.record?.status === 'declined')
      throw new Violation(
        `The order was declined with the code ${JSON.stringify(returned.record.code ?? null)}. ` +
          'Name a token that the processor approves with --token.',
      );
    return readAnswer('send', order, returned, ['approved', 'pending']);
  }

  /** Repeats the reversal of an order until it is acknowledged. */
  async reversed(order: Order, ...more: readonly string[]): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      const returned = await this.raw('reverse', order);
      if (returned.status === 501)
        throw new NotApplicable('/reverse answered with 501: this connector has the trait "reversal": "none".');
      const allowed = attempt < REVERSALS ? ['reversed', 'pending', ...more] : ['reversed', ...more];
      const answer = readAnswer('reverse', order, returned, allowed);
      if (answer.status !== 'pending') return answer;
      await sleep(REVERSAL_PAUSE_MILLISECONDS);
    }
  }

  /** Expects the adapter to refuse a request with this HTTP status. `to` begins the message. */
  expectRefusal(call: Call, { status, ...returned }: Returned, wanted: number, to = ''): void {
    if (status !== wanted) throw new Violation(`${to}/${call} answered with ${described({ status, ...returned })}.`);
  }

  expectSame(first: Answer, second: Answer): void {
    const [one, other] = [first.processor_reference, second.processor_reference];
    if (one !== null && other !== null && one !== other)
      throw new Violation(`There are two executions, ${JSON.stringify(one)} and ${JSON.stringify(other)}.`);
  }
}

/** Reads an answer as the service does. Throws a Violation if the outcome would be unknown to the service. */
function readAnswer(call: Call, order: Order, returned: Returned, statuses: readonly string[]): Answer {
  const { status: httpStatus, record } = returned;
  if (httpStatus === 401)
    throw new Violation(
      `/${call} answered with 401: the secret is wrong, or the adapter does not verify signatures of version v2.`,
    );
  if (httpStatus !== 200 || record === undefined) throw new Violation(`/${call} answered with ${described(returned)}.`);
  const { attempt_id, status, amount, currency, processor_reference } = record;
  for (const [name, value, wanted] of [
    ['attempt_id', attempt_id, order.attempt_id],
    ['amount', amount, order.amount],
    ['currency', currency, order.currency],
  ] as const)
    if (value !== wanted)
      throw new Violation(`/${call} answered with ${name} ${shown(value)}; the order has ${shown(wanted)}.`);
  if (typeof status !== 'string' || !statuses.includes(status))
    throw new Violation(`/${call} answered with status ${shown(status)}.`);
  for (const name of ['processor_reference', 'code', 'retry_after_seconds'])
    if (record[name] === undefined)
      throw new Violation(`/${call} answered without ${name}, which is required: send null if there is none.`);
  const expected = { attemptId: order.attempt_id, amount: BigInt(order.amount), currency: order.currency };
  const { outcome, detail } = readAsService(withNumbers(returned.text), call, expected);
  if (outcome === 'unknown')
    throw new Violation(`The service cannot use the answer of /${call}: ${excerptOf(returned.text)}. ${detail}`);
  return { status, processor_reference: typeof processor_reference === 'string' ? processor_reference : null };
}

/** Parses a JSON text, with numbers as the service reads them. */
function withNumbers(text: string): JsonValue {
  const read = (value: unknown): JsonValue => {
    if (typeof value === 'number') return new JsonNumber(String(value));
    if (Array.isArray(value)) return value.map(read);
    if (typeof value !== 'object' || value === null) return value as JsonValue;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, read(member)]));
  };
  return read(parseJson(text));
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value).slice(0, MAX_EXCERPT_CHARACTERS);
}

/** Describes a response for a message: its status and the beginning of its body. */
function described({ status, text }: Pick<Returned, 'status' | 'text'>): string {
  const excerpt = excerptOf(text);
  if (status === undefined) return excerpt;
  return excerpt === '' ? `${status} and no body` : `${status} and ${excerpt}`;
}

function excerptOf(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_EXCERPT_CHARACTERS);
}
