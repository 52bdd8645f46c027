import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../contract/openapi/shared-schemas.ts';
import { findBreakingChanges } from '../../tools/released/compare-documents.ts';

const read = (name: string): JsonObject =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../contract', name), 'utf8'));
const RELEASED = read('openapi.released.json');
const CURRENT = read('openapi.json');

/** A document that a test can change. */
// biome-ignore lint/suspicious/noExplicitAny: a test changes it anywhere.
type Open = any;

/** Returns the problems that a change of the current document causes. */
function after(change: (document: Open) => void): readonly string[] {
  const changed: Open = structuredClone(CURRENT);
  change(changed);
  return findBreakingChanges(CURRENT, changed);
}

const TRANSFER = '/api/v0.1/core/transfer';
const createOf = (document: Open): Open => document.paths[TRANSFER].post;
const bodyOf = (document: Open): Open => document.components.schemas.CreateTransferBody;
const replyOf = (document: Open): Open => document.components.schemas.TransferRecord;
const changes = (properties: Open, name: string, change: (schema: Open) => void) => change(properties[name]);

/**
 * Sums above 2^53 - 1 are now strings. 0.1.0 responded with a 500 in these cases, so the change does not affect readers
 * of smaller sums.
 */
const NOW_ALSO_STRINGS = [
  'GET /api/v0.1/core/card/{card_id}/limits: 200.in.limits[].used',
  'GET /api/v0.1/core/card/{card_id}/limits: 200.out.limits[].used',
  'GET /api/v0.1/operator/trial-balance: 200.currencies[].sum',
  'GET /api/v0.1/operator/trial-balance: 200.currencies[].by_kind[].balance',
  'GET /api/v0.1/operator/trial-balance: 200.differing_accounts[].postings',
].flatMap((field) => [
  `${field}: the type was integer and is string`,
  `${field}: pattern was none and is ^-?[1-9][0-9]{15,}$`,
]);

/** Card ids that no URL could address, because URLs drop `.` and `..`. */
const NOT_DOTS =
  'POST /api/v0.1/core/card: body.card_id: pattern was ^[\\x21-\\x7e]+$ and is ' +
  '^([\\x21-\\x2d\\x2f-\\x7e]|\\.{1,2}[\\x21-\\x2d\\x2f-\\x7e]|\\.{3})[\\x21-\\x7e]*$';

/**
 * Operators' requests that can wait for an approval. They wait only if an operator has added a rule, and callers of
 * 0.1.0 add none.
 */
const WAITS_FOR_APPROVAL = [
  'POST /api/v0.1/core/transfer',
  'POST /api/v0.1/core/transfer/{transfer_id}/reverse',
  'POST /api/v0.1/core/card/{card_id}/erase',
  'POST /api/v0.1/operator/webhook',
  'PATCH /api/v0.1/operator/program/{program_id}',
  'POST /api/v0.1/operator/program/{program_id}/deposit',
  'POST /api/v0.1/operator/program/{program_id}/withdrawal',
  'POST /api/v0.1/operator/key',
].map((operation) => `${operation}: it can succeed with 202 now`);

/**
 * Values that 0.1.0 refused or never found, although its document allowed them: ids in a different form, unknown event types,
 * error codes, operations and actions, and statuses that no attempt has. The document now excludes these values. The service
 * refuses no more requests than before.
 */
const REFUSED_BEFORE = [
  /: pattern was none and is \^[a-z]+_\[0-9a-f\]\{32\}\$$/,
  /path parameter card_id: pattern was none/,
  /: pattern was none and is \^\(\[1-5\]\[0-9\]\{2\}\|\[1-5\]xx\|none\)\$$/,
  /webhook[^:]*: body\.types\[\]: only "/,
  /^GET \/(?:errors\/\{code\}|events\/\{type\}): path parameter (?:code|type): (?:pattern|(?:min|max)Length) was none/,
  // No record has an id, key or cursor of that form.
  /(?:card_id|idempotency_key|subject_id|cursor): pattern was none and is \^\[\\x21-\\x7e\]\+\$$/,
  /\/event: query parameter type: pattern was none/,
  /webhook[^:]*: body\.headers\{\}: pattern was none/,
  /: (?:query parameter|body\.)(?: ?)(?:code|operation|action|codes\[\]): only "/,
];

test('the interface only adds to the released interface', () => {
  const changes = findBreakingChanges(RELEASED, CURRENT);
  const added = changes.filter((change) => !REFUSED_BEFORE.some((form) => form.test(change)));
  expect(added.toSorted()).toEqual([NOT_DOTS, ...NOW_ALSO_STRINGS, ...WAITS_FOR_APPROVAL].toSorted());
});

describe('a change that breaks callers is found', () => {
  const rangeOf = ({ components }: Open): Open =>
    components.responses.refused_request.content['application/json'].schema.properties;
  const cases: readonly (readonly [what: string, change: (document: Open) => void, line: string])[] = [
    [
      'a status that a range no longer lists',
      (document) => rangeOf(document).Status.enum.splice(0, 1),
      `GET ${TRANSFER}/{transfer_id}: the status 405 is gone`,
    ],
    [
      'an error code that a range no longer has',
      (document) => rangeOf(document).Code.enum.splice(0, 1),
      `GET ${TRANSFER}/{transfer_id}: 408.Code: the value "request_timeout" is gone`,
    ],
    [
      'a removed operation',
      ({ paths }) => delete paths[`${TRANSFER}/{transfer_id}/capture`],
      `POST ${TRANSFER}/{transfer_id}/capture: the operation is gone`,
    ],
    [
      'a renamed operation',
      (document) => Object.assign(createOf(document), { operationId: 'make_transfer' }),
      `POST ${TRANSFER}: the operationId was create_transfer and is make_transfer`,
    ],
    [
      'a removed field of a reply',
      (document) => delete replyOf(document).properties.reference,
      `GET ${TRANSFER}/{transfer_id}: 200.reference: the field is gone`,
    ],
    [
      'a field of a reply that can be missing',
      (document) => replyOf(document).required.splice(0, 1),
      `GET ${TRANSFER}/{transfer_id}: 200.transfer_id: the field can be missing now`,
    ],
    [
      'a field of a reply that can be null',
      (document) =>
        changes(replyOf(document).properties, 'amount', (schema) =>
          Object.assign(schema, { type: ['integer', 'null'] }),
        ),
      `GET ${TRANSFER}/{transfer_id}: 200.amount: it can be null now`,
    ],
    [
      'a different type in a reply',
      (document) =>
        changes(replyOf(document).properties, 'amount', (schema) => Object.assign(schema, { type: 'string' })),
      `GET ${TRANSFER}/{transfer_id}: 200.amount: the type was integer and is string`,
    ],
    [
      'a value that a reply no longer has',
      (document) => replyOf(document).properties.status.enum.splice(1, 1),
      `GET ${TRANSFER}/{transfer_id}: 200.status: the value "pending" is gone`,
    ],
    [
      'a narrowed type of a request',
      (document) => bodyOf(document).properties.amount.anyOf.pop(),
      `POST ${TRANSFER}: body.amount: the type was string and is integer`,
    ],
    [
      'a new required field of a request',
      (document) => {
        bodyOf(document).properties.purpose = { type: 'string' };
        bodyOf(document).required.push('purpose');
      },
      `POST ${TRANSFER}: body.purpose: the field is required now`,
    ],
    [
      'a field of a request that becomes required',
      (document) => bodyOf(document).required.push('reference'),
      `POST ${TRANSFER}: body.reference: the field is required now`,
    ],
    [
      'a removed field of a request',
      (document) => delete bodyOf(document).properties.description,
      `POST ${TRANSFER}: body.description: the field is gone`,
    ],
    [
      'a value that a request may no longer have',
      (document) => bodyOf(document).properties.type.enum.pop(),
      `POST ${TRANSFER}: body.type: the value "card_to_card" is gone`,
    ],
    [
      'a list of values instead of any value',
      (document) => Object.assign(bodyOf(document).properties.description, { enum: ['a', 'b'] }),
      `POST ${TRANSFER}: body.description: only "a", "b" are left`,
    ],
    [
      'a shorter text of a request',
      (document) => Object.assign(bodyOf(document).properties.description, { maxLength: 100 }),
      `POST ${TRANSFER}: body.description: maxLength was 255 and is 100`,
    ],
    [
      'a request that refuses unknown fields',
      (document) => Object.assign(bodyOf(document), { additionalProperties: false }),
      `POST ${TRANSFER}: body: unknown fields are refused now`,
    ],
    [
      'a removed parameter',
      ({ paths }) => paths[TRANSFER].get.parameters.splice(0, 1),
      `GET ${TRANSFER}: the query parameter limit is gone`,
    ],
    [
      'a parameter that is required',
      ({ components }) => Object.assign(components.parameters.IdempotencyKey, { required: true }),
      `POST ${TRANSFER}: the header parameter Idempotency-Key is required now`,
    ],
    [
      'a changed status of a success',
      (document) => {
        const { responses } = createOf(document);
        responses[200] = responses[201];
        delete responses[201];
      },
      `POST ${TRANSFER}: the status 201 is gone`,
    ],
    [
      'a changed status of an error',
      (document) => delete createOf(document).responses[424],
      `POST ${TRANSFER}: the status 424 is gone`,
    ],
    [
      'a removed error code',
      (document) => {
        const codes = createOf(document).responses[409].content['application/json'].schema.properties.Code.enum;
        codes.splice(codes.indexOf('card_closed'), 1);
      },
      `POST ${TRANSFER}: 409: the error code card_closed is gone`,
    ],
    [
      'a removed error code with the name of the operation',
      (document) => createOf(document).responses[400].content['application/json'].schema.properties.Code.anyOf.pop(),
      `POST ${TRANSFER}: 400: the error code ^[a-z_]+_schema$ is gone`,
    ],
    [
      'a removed header of a reply',
      (document) => delete createOf(document).responses[201].headers.Location,
      `POST ${TRANSFER}: 201: the header Location is gone`,
    ],
    [
      'a removed header of a response that several operations have',
      ({ components }) => delete components.responses.unauthenticated.headers.Link,
      'GET /api/v0.1/operator/webhook/{webhook_id}: 401: the header Link is gone',
    ],
    [
      'a removed media type',
      ({ paths }) => delete paths[`${TRANSFER}/export`].get.responses[200].content['text/csv'],
      `GET ${TRANSFER}/export: 200: the media type text/csv is gone`,
    ],
    [
      'a removed type of event',
      ({ components }) => delete components.schemas.EventRecord.discriminator.mapping['card.created'],
      'GET /api/v0.1/core/event/{event_id}: 200: the type card.created is gone',
    ],
    [
      'a removed field of an event',
      ({ components }) => delete components.schemas.CardRecord.properties.last_four,
      'GET /api/v0.1/core/event/{event_id}: 200<card.created>.data.last_four: the field is gone',
    ],
  ];

  test.each(cases)('%s', (_what, change, line) => {
    expect(after(change)).toContain(line);
  });
});

describe('a change that only adds is not reported', () => {
  const cases: readonly (readonly [what: string, change: (document: Open) => void])[] = [
    [
      'a new operation',
      ({ paths }) => Object.assign(paths, { '/new': { get: { operationId: 'new', responses: {} } } }),
    ],
    [
      'a new optional field of a request',
      (document) => Object.assign(bodyOf(document).properties, { more: { type: 'string' } }),
    ],
    ['a field of a request that is no longer required', (document) => bodyOf(document).required.pop()],
    ['a new value of a request', (document) => bodyOf(document).properties.type.enum.push('other')],
    [
      'a longer text of a request',
      (document) => Object.assign(bodyOf(document).properties.description, { maxLength: 999 }),
    ],
    ['a new field of a reply', (document) => Object.assign(replyOf(document).properties, { more: { type: 'string' } })],
    ['a new value of a reply', (document) => replyOf(document).properties.status.enum.push('other')],
    [
      'a new error code',
      (document) => {
        createOf(document).responses[409].content['application/json'].schema.properties.Code.enum.push('card_frozen');
      },
    ],
    [
      'a new status of an error',
      (document) => Object.assign(createOf(document).responses, { 451: { description: '' } }),
    ],
    [
      'a new type of event',
      ({ components: { schemas } }) => {
        schemas.NewEvent = { ...schemas.CardCreatedEvent };
        schemas.EventRecord.oneOf.push({ $ref: '#/components/schemas/NewEvent' });
        schemas.EventRecord.discriminator.mapping['card.new'] = '#/components/schemas/NewEvent';
      },
    ],
    ['other words', (document) => Object.assign(createOf(document), { summary: 'Another', description: 'Another' })],
    [
      'a different name of a component',
      (document) => {
        document.components.schemas.Transfer = replyOf(document);
        createOf(document).responses[201].content['application/json'].schema = {
          $ref: '#/components/schemas/Transfer',
        };
      },
    ],
  ];

  test.each(cases)('%s', (_what, change) => {
    expect(after(change)).toEqual([]);
  });
});
