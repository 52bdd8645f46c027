import { type Json, type JsonObject, reference, withSharedSchemas } from '../openapi/shared-schemas.ts';
import { DEMO_PROGRAM, EXAMPLE_TIME, EXAMPLE_TRANSFER_ID } from '../samples.ts';
import { ADAPTER_ANSWERS, AdapterHealth, AdapterNotice, AdapterOrder, NoticeReceipt } from './adapter.ts';

const EXAMPLE_ATTEMPT_ID = 'pat_0196f5c2d9a67c44bd7083a1e95f24c6';

const EXAMPLE_ORDER = {
  attempt_id: EXAMPLE_ATTEMPT_ID,
  program_id: DEMO_PROGRAM,
  transfer_id: EXAMPLE_TRANSFER_ID,
  kind: 'push',
  amount: 1000,
  currency: 'USD',
  processor_token: 'card_token_7f3a',
  not_after: EXAMPLE_TIME,
  repeat: false,
  sandbox_behavior: null,
} as const;

const exampleAnswer = (status: string, code: string | null = null) => ({
  attempt_id: EXAMPLE_ATTEMPT_ID,
  status,
  amount: 1000,
  currency: 'USD',
  processor_reference: 'txn_20491',
  code,
  retry_after_seconds: null,
});

const INTRODUCTION = [
  'An adapter connects Transfer Service to a card processor: it receives these requests, calls the processor, and may send ' +
    'notices. It can be written in any language, and it needs no storage if the processor remembers orders by the `attempt_id`.',
  'Every request is signed as [Standard Webhooks](https://www.standardwebhooks.com) describes, with the secret `whsec_…` that ' +
    'the service and the adapter share. The version is `v2`: the signed text has the method and the path before the body. ' +
    'Notices to the service use the version `v1`, which does not sign the method and the path. Refuse a request whose signature does not match, or whose `webhook-timestamp` is more ' +
    'than 5 minutes from now. `webhook-id` is new for each request. To recognize an order, use its `attempt_id`.',
  'Only a response with status 200 and the described body counts as an answer. Anything else means that the outcome is unknown: a ' +
    'redirect, another amount or currency, more than 65,536 bytes, or no answer within 10 seconds. The service then inquires, and ' +
    'sends the same order again only if the connector says that this is safe. So never answer 200 before you know the outcome.',
].join('\n\n');

const SIGNATURE = {
  WebhookId: {
    name: 'webhook-id',
    in: 'header',
    required: true,
    description: 'Id of the message, which is signed with it.',
    schema: { type: 'string' },
    example: 'msg_0196f5c2d9a67d51a3b0c7e18f42d965',
  },
  WebhookTimestamp: {
    name: 'webhook-timestamp',
    in: 'header',
    required: true,
    description: 'Time of the signature, in seconds since 1970.',
    schema: { type: 'string', pattern: '^[0-9]{1,12}$' },
    example: '1769851800',
  },
  WebhookSignature: {
    name: 'webhook-signature',
    in: 'header',
    required: true,
    description:
      '`v2,` and the HMAC-SHA256, in Base64, of the id, the timestamp, the method and the path (`POST /send`), and the body, ' +
      'joined by dots. In a notice it is `v1,`, and the method and the path are left out. While a secret is being ' +
      'replaced, there are two signatures, separated by a space. One match is enough.',
    schema: { type: 'string' },
    example: 'v2,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  },
} as const;

const parameters = Object.keys(SIGNATURE).map((name) => reference('parameters', name));

const jsonBody = (schema: string, example: Json): JsonObject => ({
  'application/json': { schema: reference('schemas', schema), example },
});

const request = (
  id: string,
  summary: string,
  description: string,
  schema: string,
  examples: JsonObject,
): JsonObject => ({
  post: {
    operationId: id,
    summary,
    description,
    parameters,
    requestBody: {
      required: true,
      content: jsonBody('Order', id === 'send' ? EXAMPLE_ORDER : { ...EXAMPLE_ORDER, not_after: null }),
    },
    responses: {
      200: {
        description: 'The answer of the processor.',
        content: { 'application/json': { schema: reference('schemas', schema), examples } },
      },
      '4XX': reference('responses', 'NoAnswer'),
      '5XX': reference('responses', 'NoAnswer'),
    },
  },
});

const PATHS: JsonObject = {
  '/send': request(
    'send',
    'Carry out an order',
    'Carries out the order at the processor, at most once for an `attempt_id`, even if the request arrives late or several times. For ' +
      'a known `attempt_id`, answer with its outcome. After `not_after`, do not start the order, and answer `not_executed`.',
    'SendAnswer',
    {
      approved: { value: exampleAnswer('approved', '00') },
      declined: { value: { ...exampleAnswer('declined', '51'), retry_after_seconds: 3600 } },
      pending: { value: exampleAnswer('pending') },
    },
  ),
  '/inquire': request(
    'inquire',
    'Report the outcome of an order',
    'Asks the processor about the `attempt_id`. Answer `not_found` if the processor does not know the attempt at this time, and ' +
      '`not_executed` only if the order was not carried out and never will be.',
    'InquireAnswer',
    {
      approved: { value: exampleAnswer('approved', '00') },
      not_found: { value: { ...exampleAnswer('not_found'), processor_reference: null } },
    },
  ),
  '/reverse': request(
    'reverse',
    'Undo an order',
    'Undoes the order, or advises the processor that it is undone. The service repeats the request until the answer is ' +
      '`reversed`, so a repetition must have no further effect. `approved` says that the order was carried out and cannot be ' +
      'undone. The service accepts it only if the trait `reversal` of the connector is `request`.',
    'ReverseAnswer',
    { reversed: { value: exampleAnswer('reversed') }, pending: { value: exampleAnswer('pending') } },
  ),
  '/health': {
    get: {
      operationId: 'check_health',
      summary: 'Report whether the adapter works',
      description:
        'Answers whether the adapter can reach its processor. The signature covers `GET /health` and an empty body.',
      parameters,
      responses: {
        200: { description: 'Orders can be sent.', content: jsonBody('Health', { status: 'ok' }) },
        '4XX': reference('responses', 'NoAnswer'),
        '5XX': reference('responses', 'NoAnswer'),
      },
    },
  },
};

const NOTICE: JsonObject = {
  post: {
    operationId: 'notify',
    summary: 'Report the outcome of an order to the service',
    description:
      'The adapter sends this notice to `/api/v0.1/connector/{connector_id}/notice` of the service when it learns the outcome of an ' +
      'order that was `pending` or whose answer was lost. Repeat it under the same `notice_id` until the service answers with 200.',
    parameters,
    requestBody: {
      required: true,
      content: jsonBody('Notice', { notice_id: 'notice-1042', ...exampleAnswer('approved', '00') }),
    },
    responses: {
      200: { description: 'The notice is stored.', content: jsonBody('NoticeReceipt', { received: true }) },
      409: {
        description:
          'An earlier notice has this `notice_id` and different contents. Do not repeat it: it will not be accepted.',
      },
      '4XX': { description: 'The notice is refused: its signature, its time or its body is not valid.' },
      '5XX': { description: 'The notice may or may not be stored. Repeat it.' },
    },
  },
};

/** The contract of adapters as an OpenAPI 3.1 document, generated from the schemas that validate answers. */
export function adapterDocument(version: string): JsonObject {
  const schemas = {
    Order: AdapterOrder,
    SendAnswer: ADAPTER_ANSWERS.send,
    InquireAnswer: ADAPTER_ANSWERS.inquire,
    ReverseAnswer: ADAPTER_ANSWERS.reverse,
    Notice: AdapterNotice,
    NoticeReceipt,
    Health: AdapterHealth,
  };
  return withSharedSchemas({
    openapi: '3.1.1',
    info: {
      title: 'Adapter of Transfer Service',
      version,
      summary: 'Connects Transfer Service to a card processor.',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: '{url}',
        description: 'The `url` of the connector in the setting CONNECTORS',
        variables: { url: { default: 'http://127.0.0.1:9000', description: 'Where the adapter listens' } },
      },
    ],
    // The signature is a parameter of each request, because OpenAPI has no security scheme for it.
    security: [],
    paths: PATHS,
    webhooks: { notice: NOTICE },
    components: {
      schemas: JSON.parse(JSON.stringify(schemas)),
      parameters: SIGNATURE,
      responses: {
        NoAnswer: { description: 'Does not count as an answer: the outcome is unknown, and the service inquires.' },
      },
    },
  });
}
