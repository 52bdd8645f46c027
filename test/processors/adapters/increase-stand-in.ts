import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The fields that a card push transfer must have, according to Increase's documentation. */
const REQUIRED = [
  'business_application_identifier',
  'card_token_id',
  'merchant_category_code',
  'merchant_city_name',
  'merchant_name',
  'merchant_name_prefix',
  'merchant_postal_code',
  'merchant_state',
  'presentment_amount',
  'recipient_name',
  'sender_address_city',
  'sender_address_line1',
  'sender_address_postal_code',
  'sender_address_state',
  'sender_name',
  'source_account_number_id',
];

type Transfer = Readonly<Record<string, unknown>> & { readonly id: string; readonly idempotency_key: string | null };

/**
 * A fault in the next request for a transfer: the transfer is created without a response, the response is 500, or a
 * limit refuses the request.
 */
type Mishap = 'created_then_cut' | 'server_error' | 'rate_limited';

/** A stand-in for the part of the vendor's API that the example uses, with its state, idempotency and errors. */
export class IncreaseStandIn {
  readonly #server: Server;
  readonly #apiKey: string;
  readonly #transfers: Transfer[] = [];
  readonly #bodies = new Map<string, string>();
  /** The faults of the next requests for a transfer. */
  readonly mishaps: Mishap[] = [];
  posts = 0;

  constructor(apiKey: string) {
    this.#apiKey = apiKey;
    this.#server = createServer((request, response) => void this.#respond(request, response));
  }

  transfersOf(key: string): readonly Transfer[] {
    return this.#transfers.filter(({ idempotency_key }) => idempotency_key === key);
  }

  /** Changes a transfer's status, as the network does later. */
  end(key: string, status: string): void {
    const at = this.#transfers.findIndex(({ idempotency_key }) => idempotency_key === key);
    const transfer = this.#transfers[at];
    if (transfer !== undefined) this.#transfers[at] = { ...transfer, status };
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://stand-in');
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const [, collection, id] = url.pathname.split('/');
    if (request.headers.authorization !== `Bearer ${this.#apiKey}`) return fail(response, 401, 'invalid_api_key_error');
    if (collection !== 'card_push_transfers') return fail(response, 404, 'api_method_not_found_error');
    if (request.method === 'POST') return this.#create(request, response, Buffer.concat(chunks).toString());
    if (id !== undefined) {
      const found = this.#transfers.find((transfer) => transfer.id === id);
      return found === undefined ? fail(response, 404, 'object_not_found_error') : say(response, 200, found);
    }
    const key = url.searchParams.get('idempotency_key');
    const data = this.#transfers.filter(({ idempotency_key }) => key === null || idempotency_key === key);
    say(response, 200, { data, next_cursor: null });
  }

  #create(request: IncomingMessage, response: ServerResponse, text: string) {
    this.posts += 1;
    const mishap = this.mishaps.shift();
    if (mishap === 'server_error') return fail(response, 500, 'internal_server_error');
    if (mishap === 'rate_limited') return fail(response, 429, 'rate_limited_error');
    const key = String(request.headers['idempotency-key']);
    const [existing] = this.transfersOf(key);
    if (existing !== undefined) {
      if (this.#bodies.get(key) === text) return say(response, 200, existing, { 'idempotent-replayed': 'true' });
      return fail(response, 409, 'idempotency_key_already_used_error', { resource_id: existing.id });
    }
    const body: Record<string, unknown> & { card_token_id?: string } = JSON.parse(text);
    const missing = REQUIRED.filter((name) => body[name] === undefined);
    if (missing.length > 0)
      return fail(response, 400, 'invalid_parameters_error', { errors: missing.map((field) => ({ field })) });
    if (!body.card_token_id?.startsWith('outbound_card_token_')) return fail(response, 404, 'object_not_found_error');
    const [, kind] = /^outbound_card_token_(declined|pending)/.exec(body.card_token_id) ?? [];
    const transfer: Transfer = {
      ...body,
      id: `outbound_card_push_transfer_${randomBytes(10).toString('hex')}`,
      type: 'card_push_transfer',
      idempotency_key: key,
      created_at: new Date().toISOString(),
      status: kind === 'declined' ? 'declined' : kind === 'pending' ? 'pending_reviewing' : 'complete',
      decline: kind === 'declined' ? { reason: 'insufficient_funds', declined_at: new Date().toISOString() } : null,
    };
    this.#transfers.push(transfer);
    this.#bodies.set(key, text);
    if (mishap === 'created_then_cut') return void request.socket.destroy();
    say(response, 200, transfer);
  }
}

function fail(response: ServerResponse, status: number, type: string, more: object = {}): void {
  say(response, status, { type, status, title: type.replaceAll('_', ' '), detail: null, ...more });
}

function say(response: ServerResponse, status: number, value: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}
