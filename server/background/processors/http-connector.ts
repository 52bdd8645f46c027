import { type AdapterOrder, MAX_ADAPTER_BYTES } from '../../../contract/processors/adapter.ts';
import { readAnswer, unknownAnswer } from '../../../contract/processors/read-answer.ts';
import { isJsonObject, type JsonValue } from '../../../contract/reading/json.ts';
import { JsonFault } from '../../../contract/reading/strict-json.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import type { Answer, Order, OrderRequest, Traits } from '../../../domain/processors/order.ts';
import { parseStrictJson } from '../../calls/strict-json.ts';
import { type ConnectorSettings, openConnectorRules } from '../../foundation/connector-settings.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { newId } from '../../foundation/ids.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import { readSigningKey, signRequest } from '../../foundation/signature.ts';
import { openSender } from '../outbound/send.ts';
import type { SendError } from '../outbound/send-failure.ts';
import { type Answer as Received, SEND_LIMITS, type SendLimits } from '../outbound/sender.ts';

// Invariant: A request to a connector counts as not sent only if no byte of it was written to a connection
// Kept by: `server/background/outbound/send.ts`
// Tested by: `server/background/processors/http-connector.test.ts`

// Invariant: A request to a connector is sent once. Only the attempt decides whether to repeat it
// Kept by: CONNECTOR_LIMITS keeps no idle connections
// Tested by: `test/outbound/connections.test.ts`

/** The connection to a processor: any service that implements the adapter contract. */
export type Connector = {
  readonly connectorId: string;
  readonly traits: Traits;
  /** Asks the processor to carry out an order. Never rejects, and never sends twice. */
  send(order: Order): Promise<Answer>;
  /** Asks for the outcome of an order. Never rejects. */
  inquire(order: Order): Promise<Answer>;
  /** Asks the processor to undo an order, or tells it that the order was undone. Never rejects. */
  reverse(order: Order): Promise<Answer>;
  /** Whether the adapter answers that it works. Never rejects. */
  isHealthy(): Promise<boolean>;
  /** Ends all connections. Open requests get the outcome `unknown` or `not_sent`. */
  close(): void;
};

export const CONNECTOR_LIMITS: SendLimits = {
  ...SEND_LIMITS,
  // Short, because a person may be waiting for the whole request.
  connectTimeoutMilliseconds: 2_000,
  answerTimeoutMilliseconds: 10_000,
  // One byte more than allowed, because a longer answer is refused instead of truncated.
  maxReadBytes: MAX_ADAPTER_BYTES + 1,
  maxKeptBytes: MAX_ADAPTER_BYTES,
  maxIdleConnections: 0,
};

/** Options that only tests set. */
export type ConnectorOptions = {
  readonly limits?: SendLimits;
};

const MAX_DETAIL_CHARACTERS = 300;

/** Messages for failures whose usual messages mention webhooks or the URL. */
const DETAILS: Partial<Readonly<Record<SendError, string>>> = {
  url_refused: 'Requests must not be sent to the URL of the connector.',
  address_refused: 'The host has an address that is neither public nor named in allowed_networks.',
  aborted: 'The service stopped in the meantime.',
};

const UNAUTHORIZED =
  'The connector answered with the status 401 instead of 200: its secret is different, or it does not verify signatures of the version v2.';

/** Opens the connection to an adapter over HTTP, as defined in `contract/processors/`. */
export function openHttpConnector(settings: ConnectorSettings, options: ConnectorOptions = {}): Connector {
  const { connectorId, mode, url, traits } = settings;
  const keys = settings.secrets.map(readSigningKey);
  const sender = openSender(
    { rules: openConnectorRules(settings), ca: settings.ca },
    options.limits ?? CONNECTOR_LIMITS,
  );

  const call = (method: 'GET' | 'POST', path: string, body: string): Promise<Received> => {
    const sentAt = new Date(databaseTime());
    const headers = {
      accept: 'application/json',
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      'user-agent': 'Transfer-Service',
      // The signature covers the path of the contract, not of the URL, because proxies in between may change the beginning of
      // the URL's path.
      ...signRequest({ id: toWireId('msg', newId()), sentAt, method, path, body }, keys),
    };
    return sender.send({ method, url: `${url}${path}`, headers, body });
  };

  const ask = async (request: OrderRequest, order: Order): Promise<Answer> => {
    const body = toBody(mode === 'live' ? { ...order, sandboxBehavior: null } : order);
    if (body === undefined) return notSent('The order has a value that cannot be written.');
    return toAnswer(await call('POST', `/${request}`, body), request, order);
  };

  return {
    connectorId,
    traits,
    send: (order) => ask('send', order),
    inquire: (order) => ask('inquire', order),
    reverse: (order) => ask('reverse', order),
    async isHealthy() {
      const received = await call('GET', '/health', '');
      if (received.error !== null || received.status !== 200 || received.body === null) return false;
      const body = parse(received.body);
      return 'value' in body && isJsonObject(body.value) && body.value.status === 'ok';
    },
    close: () => sender.close(),
  };
}

/** Returns the body of a request, as described by `AdapterOrder`, or undefined if an amount or a time is out of bounds. */
function toBody(order: Order): string | undefined {
  try {
    return JSON.stringify(toFields(order));
  } catch {
    return undefined;
  }
}

function toFields(order: Order): AdapterOrder {
  return {
    attempt_id: order.attemptId,
    program_id: order.programId,
    transfer_id: order.transferId,
    kind: order.kind,
    amount: toWire(order.amount),
    currency: order.currency,
    processor_token: order.processorToken,
    not_after: order.notAfter === null ? null : new Date(order.notAfter).toISOString(),
    repeat: order.isRepeat,
    sandbox_behavior: order.sandboxBehavior,
  };
}

function toAnswer(received: Received, request: OrderRequest, order: Order): Answer {
  if (received.error !== null) {
    const { error, message, mayHaveLeft } = received;
    const detail = withoutSecrets(DETAILS[error] ?? message, MAX_DETAIL_CHARACTERS - 1);
    return mayHaveLeft ? unknownAnswer(detail) : notSent(detail);
  }
  const { status, body } = received;
  if (status === 401) return unknownAnswer(UNAUTHORIZED);
  if (status !== 200) return unknownAnswer(`The connector answered with the status ${status} instead of 200.`);
  if (body === null) return unknownAnswer(`The answer is longer than ${MAX_ADAPTER_BYTES} bytes.`);
  const parsed = parse(body);
  return 'problem' in parsed ? unknownAnswer(parsed.problem) : readAnswer(parsed.value, request, order);
}

function notSent(detail: string): Answer {
  return { ...unknownAnswer(detail), outcome: 'not_sent' };
}

/** Parses the JSON of an answer. A problem names the location of the mistake and quotes nothing from the answer. */
function parse(body: Buffer): { readonly value: JsonValue } | { readonly problem: string } {
  if (body.length === 0) return { problem: 'The answer is empty.' };
  try {
    return { value: parseStrictJson(body) };
  } catch (error) {
    const [place = ''] = error instanceof JsonFault ? (/ at line [0-9]+, column [0-9]+/.exec(error.message) ?? []) : [];
    return { problem: `The answer is not valid JSON${place}.` };
  }
}
