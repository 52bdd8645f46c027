/** The subject of an attempt. It is the same in every call about it. */
export type OrderKey = {
  readonly program_id: string;
  readonly transfer_id: string;
  readonly kind: 'push' | 'pull';
  /** In minor units. */
  readonly amount: number;
  readonly currency: string;
  readonly processor_token: string;
};

/** The body of /send, /inquire and /reverse. */
export type Order = OrderKey & {
  readonly attempt_id: string;
  /** Only in /send: the order must not be executed later. In milliseconds since 1970. */
  readonly not_after: number | null;
  readonly sandbox_behavior: string | null;
};

export type Status = 'approved' | 'declined' | 'pending' | 'not_found' | 'reversed' | 'not_executed';

export type Answer = {
  readonly attempt_id: string;
  readonly status: Status;
  readonly amount: number;
  readonly currency: string;
  readonly processor_reference: string | null;
  readonly code: string | null;
  readonly retry_after_seconds: number | null;
};

/** A request that is not an order. The message gives the reason. */
export class NotAnOrder extends Error {}

/** Reads the body of a call. Unknown fields are ignored. Throws {@link NotAnOrder}. */
export function readOrder(body: Buffer, call: 'send' | 'inquire' | 'reverse'): Order {
  const given = parse(body);
  const text = (name: string, pattern = /^.+$/s): string => {
    const value = given[name];
    if (typeof value === 'string' && pattern.test(value)) return value;
    throw new NotAnOrder(`${name} is missing or not valid.`);
  };
  const { amount, sandbox_behavior = null } = given;
  if (typeof amount !== 'number' || !Number.isSafeInteger(amount) || amount < 1)
    throw new NotAnOrder('amount must be a whole number of minor units above 0.');
  if (sandbox_behavior !== null && typeof sandbox_behavior !== 'string')
    throw new NotAnOrder('sandbox_behavior must be a text or null.');
  const notAfter = call === 'send' ? Date.parse(text('not_after')) : null;
  if (Number.isNaN(notAfter)) throw new NotAnOrder('not_after must be a time such as 2030-01-31T12:00:00.000Z.');
  return {
    attempt_id: text('attempt_id', /^[!-~]{1,64}$/),
    program_id: text('program_id'),
    transfer_id: text('transfer_id'),
    kind: text('kind', /^(?:push|pull)$/) === 'push' ? 'push' : 'pull',
    amount,
    currency: text('currency', /^[A-Z]{3}$/),
    processor_token: text('processor_token'),
    not_after: notAfter,
    sandbox_behavior,
  };
}

function parse(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
  } catch {
    // The error below covers this.
  }
  throw new NotAnOrder('The body is not a JSON object.');
}

export function keyOf({ program_id, transfer_id, kind, amount, currency, processor_token }: OrderKey): OrderKey {
  return { program_id, transfer_id, kind, amount, currency, processor_token };
}

export function isSameOrder(one: OrderKey, other: OrderKey): boolean {
  return JSON.stringify(keyOf(one)) === JSON.stringify(keyOf(other));
}
