import type { Agent } from 'node:http';
import { NoResponse, type RawResponse, sendRaw } from '../../../test/harness/raw-request.ts';

/** The content of a transfer request; amounts in minor units. */
export type Asked =
  | {
      readonly does: 'create';
      readonly type: 'load' | 'unload' | 'card_to_card';
      readonly amount: number;
      readonly card: string;
      readonly destination: string | null;
      readonly isHeld: boolean;
      /** The time until the hold expires, in milliseconds; null for seven days. */
      readonly endsIn: number | null;
      readonly reference: string | null;
    }
  | { readonly does: 'capture'; readonly transferId: string; readonly amount: number }
  | { readonly does: 'reverse'; readonly transferId: string; readonly amount: number }
  | { readonly does: 'cancel'; readonly transferId: string };

/** The parts of a response that are compared. */
export type Heard = {
  readonly status: number;
  readonly text: string;
  readonly code: string | null;
  readonly message: string | null;
  readonly moneyMoved: string | undefined;
  /** The time of its arrival, from `performance.now()`. */
  readonly at: number;
};

/** A request with its own key, sent once, or twice at the same time. */
export type Sent = {
  readonly key: string;
  readonly programId: string;
  readonly asked: Asked;
  readonly sentAt: number;
  readonly heard: Heard[];
};

/** A change by the changers, and its response. */
export type Change = {
  readonly what: string;
  readonly sentAt: number;
  readonly gotAt: number;
  readonly status: number;
  readonly text: string;
};

export type Record = { readonly sent: Sent[]; readonly changes: Change[]; unanswered: number };

const TRANSFER = '/api/v0.1/core/transfer';

/** Sends a request to all addresses at the same time and waits for the responses. */
export async function send(
  record: Record,
  urls: readonly string[],
  { key, programId, asked }: Pick<Sent, 'key' | 'programId' | 'asked'>,
  agent: Agent,
): Promise<Sent> {
  const sent: Sent = { key, programId, asked, sentAt: performance.now(), heard: [] };
  record.sent.push(sent);
  const raw = { headers: { 'Idempotency-Key': key, 'Program-Id': programId }, ...toRequest(key, asked) };
  await Promise.all(
    urls.map(async (url) => {
      try {
        sent.heard.push(toHeard(await sendRaw(url, raw, agent)));
      } catch (error) {
        if (!(error instanceof NoResponse)) throw error;
        record.unanswered += 1;
      }
    }),
  );
  return sent;
}

function toRequest(key: string, asked: Asked): { readonly path?: string; readonly body?: object } {
  if (asked.does === 'cancel') return { path: `${TRANSFER}/${asked.transferId}/cancel` };
  if (asked.does === 'capture') {
    return { path: `${TRANSFER}/${asked.transferId}/capture`, body: { amount: asked.amount } };
  }
  if (asked.does === 'reverse') {
    return { path: `${TRANSFER}/${asked.transferId}/reverse`, body: { amount: asked.amount, description: key } };
  }
  const { type, amount, card, destination, isHeld, endsIn, reference } = asked;
  const body = {
    amount,
    card_id: card,
    type,
    description: key,
    ...(destination === null ? {} : { destination_card_id: destination }),
    ...(isHeld ? { capture: 'manual' } : {}),
    ...(endsIn === null ? {} : { expires_at: new Date(Date.now() + endsIn).toISOString() }),
    ...(reference === null ? {} : { reference }),
  };
  return { body };
}

function toHeard({ status, text, fields, headers }: RawResponse): Heard {
  const isError = status >= 400;
  const moneyMoved = headers['money-moved'];
  return {
    status,
    text,
    code: isError ? String(fields.Code) : null,
    message: isError ? String(fields.Message) : null,
    moneyMoved: typeof moneyMoved === 'string' ? moneyMoved : undefined,
    at: performance.now(),
  };
}

export async function sendChange(
  record: Record,
  url: string,
  raw: Parameters<typeof sendRaw>[1] & { readonly what: string },
): Promise<RawResponse> {
  const sentAt = performance.now();
  const response = await sendRaw(url, raw);
  const { status, text } = response;
  record.changes.push({ what: raw.what, sentAt, gotAt: performance.now(), status, text });
  return response;
}
