import { randomUUID } from 'node:crypto';
import { type ClientRequest, request } from 'node:http';
import { DEMO_PROGRAM } from '../../contract/example-requests.ts';
import { type RawAnswer, Silence, sendRaw } from '../api/raw-request.ts';
import type { Stage } from './stage.ts';

/** One request that moves a cent; its marker finds in the books what it did, whoever answered what. */
export type Attempt = {
  readonly operation: 'create_transfer' | 'create_deposit';
  readonly key: string | null;
  readonly marker: string;
};

/** What the caller heard. Silence is no answer at all, or not a whole one. */
export type Heard = { readonly answer: RawAnswer | undefined; readonly milliseconds: number };

/** Every way to ask: a deposit always has a key. */
export function newAttempts(): readonly Attempt[] {
  return [
    { operation: 'create_transfer', key: randomUUID(), marker: randomUUID() },
    { operation: 'create_transfer', key: null, marker: randomUUID() },
    { operation: 'create_deposit', key: randomUUID(), marker: randomUUID() },
  ];
}

const TRANSFER = '/api/v0.1/core/transfer';

function pathOf({ operation }: Attempt): string {
  return operation === 'create_transfer' ? TRANSFER : `/api/v0.1/operator/program/${DEMO_PROGRAM}/deposit`;
}

function bodyOf({ operation, marker }: Attempt): string {
  const cent = { amount: 1, description: marker };
  return JSON.stringify(operation === 'create_transfer' ? { ...cent, card_id: 'card_active' } : cent);
}

function headersOf({ key }: Attempt): Readonly<Record<string, string>> {
  return key === null ? {} : { 'Idempotency-Key': key };
}

/** Sends the request on a connection of its own. */
export async function send(stage: Stage, attempt: Attempt): Promise<Heard> {
  const started = performance.now();
  const raw = { path: pathOf(attempt), headers: headersOf(attempt), body: bodyOf(attempt) };
  try {
    const answer = await sendRaw(stage.service().url, raw);
    return { answer, milliseconds: performance.now() - started };
  } catch (error) {
    if (!(error instanceof Silence)) throw error;
    return { answer: undefined, milliseconds: performance.now() - started };
  }
}

/** Sends the request and lets the test end the connection before there is an answer. */
export function sendAndLeave(
  stage: Stage,
  attempt: Attempt,
): { readonly leave: () => void; readonly heard: Promise<Heard> } {
  const started = performance.now();
  const sent: ClientRequest = request(`${stage.service().url}${pathOf(attempt)}`, {
    method: 'POST',
    headers: headersOf(attempt),
  });
  const heard = new Promise<Heard>((resolve, reject) => {
    sent.once('error', () => resolve({ answer: undefined, milliseconds: performance.now() - started }));
    sent.once('response', () => reject(new Error('there was an answer before the client had gone')));
  });
  sent.end(bodyOf(attempt));
  return { leave: () => sent.destroy(new Error('gone')), heard };
}

/** How often the books have moved the cent of an attempt, by its postings; every movement has exactly one. */
export function movementsOf(stage: Stage, { operation, marker }: Attempt): Promise<number> {
  const [table, id] =
    operation === 'create_transfer' ? ['transfer', 'transfer_id'] : ['funding_movement', 'movement_id'];
  return stage.ask(async (client) => {
    const { rows } = await client.query<{ rows: number; postings: number; cents: number }>(
      `select count(distinct ${id})::integer as rows, count(cause_id)::integer as postings,
          coalesce(sum(posting.amount), 0)::integer as cents
        from ${table} left join posting on cause_id = ${id} where description = $1`,
      [marker],
    );
    const [found] = rows;
    if (found === undefined || found.rows !== found.postings || found.rows !== found.cents) {
      throw new Error(`the books contradict themselves: ${JSON.stringify(found)}`);
    }
    return found.rows;
  });
}

/** What the service says became of a transfer: how many the look-up finds, by its id or by its key. */
export async function lookUp(stage: Stage, by: { readonly id: string } | { readonly key: string }): Promise<number> {
  const path = 'id' in by ? `${TRANSFER}/${by.id}` : `${TRANSFER}?idempotency_key=${by.key}`;
  const { status, members } = await sendRaw(stage.service().url, { method: 'GET', path });
  if ('id' in by) return status === 200 ? 1 : 0;
  return Array.isArray(members.data) ? members.data.length : Number.NaN;
}
