import { randomUUID } from 'node:crypto';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { waitFor } from '../harness/process.ts';
import { NoResponse, type RawResponse, sendRaw } from '../harness/raw-request.ts';
import type { Stage } from './stage.ts';

/** Operations that move or release one cent. */
export type MoneyOperation = Extract<
  OperationId,
  'create_transfer' | 'create_deposit' | 'capture_transfer' | 'cancel_transfer' | 'reverse_transfer'
>;

/** One request about a cent. Its marker identifies its effects in the books. */
export type Attempt = {
  readonly operation: MoneyOperation;
  readonly key: string | null;
  readonly marker: string;
  /** The transfer that the request changes, if any. */
  transferId?: string;
};

/** The response that the caller received, or undefined if none or only a part arrived. */
export type Heard = { readonly response: RawResponse | undefined; readonly milliseconds: number };

/** Every kind of request. A deposit always has a key. */
const WAYS: readonly (readonly [MoneyOperation, withKey: boolean])[] = [
  ['create_transfer', true],
  ['capture_transfer', true],
  ['create_transfer', false],
  ['reverse_transfer', true],
  ['create_deposit', true],
  ['cancel_transfer', true],
  ['capture_transfer', false],
];

/** Returns one request of each kind. */
export function newAttempts(): readonly Attempt[] {
  return WAYS.map(([operation, withKey]) => newAttempt(operation, withKey));
}

function newAttempt(operation: MoneyOperation, withKey: boolean): Attempt {
  return { operation, key: withKey ? randomUUID() : null, marker: randomUUID() };
}

/** Returns another request of the same kind. */
export const again = ({ operation, key }: Attempt): Attempt => newAttempt(operation, key !== null);

const TRANSFER = OPERATIONS.create_transfer.path;

/** Creates the transfer that an attempt changes: a hold, or a load to reverse, with the attempt's marker. */
export async function prepare(stage: Stage, attempt: Attempt): Promise<void> {
  const { operation, marker } = attempt;
  if (operation === 'create_transfer' || operation === 'create_deposit') return;
  const capture = operation === 'reverse_transfer' ? 'automatic' : 'manual';
  const body = { amount: 1, card_id: 'card_active', description: marker, capture };
  // The service may still be recovering from the previous fault.
  await waitFor('the transfer to change', async () => {
    const headers = { 'Idempotency-Key': `before-${marker}` };
    const response = await sendRaw(stage.service().url, { headers, body }).catch(() => undefined);
    if (response?.status === 201) attempt.transferId = String(response.fields.transfer_id);
    return attempt.transferId !== undefined;
  });
}

type Sent = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

function toRequest({ operation, key, marker, transferId = '' }: Attempt): Sent {
  const path = OPERATIONS[operation].path.replace('{program_id}', DEMO_PROGRAM).replace('{transfer_id}', transferId);
  const headers: Readonly<Record<string, string>> = key === null ? {} : { 'Idempotency-Key': key };
  const bodies = {
    create_transfer: { amount: 1, description: marker, card_id: 'card_active' },
    create_deposit: { amount: 1, description: marker },
    capture_transfer: {},
    cancel_transfer: undefined,
    reverse_transfer: { amount: 1 },
  };
  const body = bodies[operation];
  return { path, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
}

/** Sends the request on a new connection. The signal closes it. */
export async function send(stage: Stage, attempt: Attempt, signal?: AbortSignal): Promise<Heard> {
  const started = performance.now();
  try {
    const response = await sendRaw(stage.service().url, { ...toRequest(attempt), signal });
    return { response, milliseconds: performance.now() - started };
  } catch (error) {
    if (!(error instanceof NoResponse)) throw error;
    return { response: undefined, milliseconds: performance.now() - started };
  }
}

type Effect = {
  /** How many times the change was executed. */
  readonly done: number;
  readonly postings: number;
  readonly cents: number;
  /** The number of open holds. */
  readonly holds: number;
};

/**
 * Returns SQL that reads the effect of an attempt. `about` selects its subject as `id`, and `caused` selects the causes
 * of its postings.
 */
function effectOf(about: string, done: string, caused = 'select id from about'): string {
  return `with about as (${about}), posted as (select amount from posting where cause_id in (${caused}))
    select (${done})::integer as done, (select count(*) from posted)::integer as postings,
      (select coalesce(sum(amount), 0) from posted)::integer as cents,
      (select count(*) from hold where transfer_id in (select id from about))::integer as holds`;
}

const TRANSFERS = 'select transfer_id as id, status, reversed_amount from transfer where description = $1';
const inState = (status: string): string =>
  effectOf(TRANSFERS, `select count(*) from about where status = '${status}'`);

/** For each operation, SQL that reads the effect of the attempt with a marker. */
const EFFECTS: Readonly<Record<MoneyOperation, string>> = {
  create_transfer: inState('completed'),
  capture_transfer: inState('completed'),
  cancel_transfer: inState('canceled'),
  reverse_transfer: effectOf(
    TRANSFERS,
    'select coalesce(sum(reversed_amount), 0) from about',
    'select reversal_id from reversal where transfer_id in (select id from about)',
  ),
  create_deposit: effectOf(
    'select movement_id as id from funding_movement where description = $1',
    'select count(*) from about',
  ),
};

/**
 * Returns how many times the books have recorded the change that an attempt requested. A change that moves a cent has
 * exactly one posting of a cent. A hold exists until it is captured or canceled.
 */
export async function movementsOf(stage: Stage, { operation, marker }: Attempt): Promise<number> {
  const found = await stage.ask(async (client) => (await client.query<Effect>(EFFECTS[operation], [marker])).rows[0]);
  if (found === undefined) throw new Error('the query of the books returned no row');
  const { done, postings, cents, holds } = found;
  const posted = operation === 'cancel_transfer' ? 0 : done;
  const isHeld = operation === 'capture_transfer' || operation === 'cancel_transfer';
  if (postings !== posted || cents !== posted || holds !== (isHeld ? 1 - done : 0)) {
    throw new Error(`the books contradict themselves: ${JSON.stringify(found)}`);
  }
  return done;
}

/** Asks the service how many times a request was executed, by the transfer's id or by the key. */
export async function lookUp(
  stage: Stage,
  { operation }: Attempt,
  by: { readonly id: string } | { readonly key: string },
): Promise<number> {
  const path = 'id' in by ? `${TRANSFER}/${by.id}` : `${TRANSFER}?idempotency_key=${by.key}`;
  const look = () => sendRaw(stage.service().url, { method: 'GET', path });
  let found = await look();
  // On a slow machine, the look-up can time out, or a connection for it may not open in time.
  for (let tries = 1; found.status >= 500 && tries < 10; tries += 1) found = await look();
  const { status, fields } = found;
  if (!('id' in by)) return Array.isArray(fields.data) ? fields.data.length : Number.NaN;
  if (status !== 200) return 0;
  if (operation === 'reverse_transfer') return Number(fields.reversed_amount);
  return fields.status === (operation === 'cancel_transfer' ? 'canceled' : 'completed') ? 1 : 0;
}
