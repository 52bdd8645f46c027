import { type Static, Type } from 'typebox';
import { ORDER_KINDS } from '../../domain/processors/order.ts';
import { LINE_STATUSES, type LineOutcome } from '../../domain/processors/settlement.ts';
import { operation } from '../operation.ts';
import type { JsonValue } from '../reading/json.ts';
import { EXAMPLE_LATER, EXAMPLE_LINE } from '../samples.ts';
import {
  amountFrom,
  checkedTogether,
  connectorId,
  currency,
  currencyCode,
  cursor,
  freeText,
  limit,
  line,
  literals,
  literalsOr,
  moment,
  needs,
  nullable,
  pageOf,
  Sum,
  text,
  textOrNull,
} from '../schema-parts.ts';
import { MAX_NOTE_CHARACTERS } from './attempts.ts';

/** Maximum number of lines in one request. */
export const MAX_SETTLEMENT_LINES = 1000;

/** Maximum number of lines of a file. */
export const MAX_FILE_LINES = 10_000_000;

/** Maximum running number of a file. */
export const MAX_SEQUENCE_NUMBER = 999_999_999;

/** A file of a processor about the orders that it has settled. */
export const SettlementFileRecord = Type.Object({
  file_id: Type.String({ description: 'Id of the settlement file: stl_ and 32 hex digits' }),
  connector_id: Type.String({ description: 'The connector of the processor' }),
  name: Type.String({ description: 'Name of the file, for people' }),
  sha256: Type.String({ description: 'SHA-256 of the file, 64 hex digits' }),
  sequence_number: nullable(
    Type.Integer({ description: 'Running number that the processor has given to the file; null if it has none' }),
  ),
  status: literals(
    ['receiving', 'matching', 'matched', 'withdrawing', 'withdrawn'],
    'receiving: waits for lines; matching: all lines are stored, and are compared with the books; matched: all are compared; ' +
      'withdrawing and withdrawn: the file no longer counts',
  ),
  line_count: Type.Integer({ description: 'Number of lines of the file' }),
  lines_received: Type.Integer({ description: 'Number of lines that are stored. The next one has this number plus 1' }),
  lines_examined: Type.Integer({ description: 'Number of lines that are compared with the books' }),
  outcomes: Type.Object(
    {
      matched: Type.Integer({ description: 'The books say the same' }),
      reported: Type.Integer({
        description:
          'The books had no outcome of the attempt, or a different one, so the line counted as the answer of the processor',
      }),
      differs: Type.Integer({ description: 'Another amount, currency or direction: a break `contradiction`' }),
      duplicate: Type.Integer({ description: 'An earlier line has settled the attempt: a break `duplicate`' }),
      missing_in_ledger: Type.Integer({
        description:
          'There is no such attempt, or those with its reference do not add up to the line: a break `missing_in_ledger`',
      }),
    } satisfies Record<LineOutcome, unknown>,
    { description: 'Number of lines by outcome' },
  ),
  totals: Type.Array(
    Type.Object({
      currency,
      pushed: Sum('Sum of the settled lines that put money on cards'),
      pulled: Sum('Sum of the settled lines that took money from cards'),
      reversed: Sum('Sum of the reversed lines'),
      fees: Sum('Sum of the fees'),
    }),
    { description: 'Sums of the stored lines, by currency; empty before the first line' },
  ),
  created_at: moment('When it was created'),
  created_by: Type.String({ description: 'Who created it: id of the API key or the person, or `sandbox`' }),
  matched_at: nullable(moment('When all lines were compared; null until then')),
  withdrawn_at: nullable(moment('When it was withdrawn; null if it was not')),
  withdrawn_by: textOrNull('Who withdrew it: id of the API key or the person, or `sandbox`; null if it was not'),
  note: textOrNull('Why it was withdrawn; null if it was not'),
});

export const CreateSettlementFileBody = Type.Object({
  connector_id: connectorId('The connector of the processor'),
  name: line(255, 'Name of the file, for people'),
  sha256: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description:
      'SHA-256 of the file, 64 hex digits in lower case. If a file with the same hash exists, it is returned',
  }),
  line_count: Type.Integer({ minimum: 1, maximum: MAX_FILE_LINES, description: 'Number of lines of the file' }),
  sequence_number: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_SEQUENCE_NUMBER,
      description:
        'Running number that the processor gives to its files, one more for each file. No two files of a connector have the ' +
        'same. If a number is missing between two files, a break `file_missing` opens. A file that exists keeps its number',
    }),
  ),
});

/** A line of a settlement file in a request. */
export const SettlementFileLine = Type.Object(
  {
    attempt_id: Type.Optional(text(255, 'The `attempt_id` of the order, if the file has it')),
    processor_reference: Type.Optional(
      text(
        255,
        "The processor's own reference of the order. It counts if no attempt has the `attempt_id`. If several orders have it, the line " +
          'settles all of them, or none if their amounts do not sum to its amount',
      ),
    ),
    kind: literals(ORDER_KINDS, 'push: money went to the card (a load); pull: it came from the card (an unload)'),
    amount: amountFrom(1, 'Amount, in minor units'),
    currency: currencyCode('Currency of the amount and the fee, as an ISO 4217 code'),
    fee: Type.Optional(amountFrom(0, 'Fee of the processor, in minor units; 0 if omitted')),
    status: Type.Optional(
      literalsOr('settled', LINE_STATUSES, 'settled: the order was carried out; reversed: it was undone later'),
    ),
    settled_on: Type.String({ format: 'date', description: 'Day of the settlement, such as 2026-01-31' }),
  },
  {
    additionalProperties: false,
    ...checkedTogether({ anyOf: [needs('attempt_id'), needs('processor_reference')] }),
  },
);

export const AddSettlementLinesBody = Type.Object({
  first_line: Type.Integer({
    minimum: 1,
    maximum: MAX_FILE_LINES,
    description:
      'Number of the first of these lines, from 1: `lines_received` plus 1. Lines that are stored already are ignored',
  }),
  // The type is loose, because the handler validates the lines one by one.
  lines: Type.Unsafe<readonly JsonValue[]>({
    type: 'array',
    minItems: 1,
    maxItems: MAX_SETTLEMENT_LINES,
    items: SettlementFileLine,
    description: 'The next lines of the file, 1 to 1,000',
  }),
});

export const WithdrawSettlementFileBody = Type.Object({
  note: freeText(MAX_NOTE_CHARACTERS, 'Why; stored with the file, without card numbers and keys'),
});

const PATH = '/api/v0.1/operator/settlement-file';

const RECEIVING = {
  connector_id: 'simulator',
  name: 'settlement-2026-01-31.csv',
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  sequence_number: null,
  status: 'receiving',
  line_count: 2,
  lines_received: 0,
  lines_examined: 0,
  outcomes: { matched: 0, reported: 0, differs: 0, duplicate: 0, missing_in_ledger: 0 },
  totals: [],
  note: null,
} as const;
export const EXAMPLE_FILE = {
  ...RECEIVING,
  status: 'matched',
  lines_received: 2,
  lines_examined: 2,
  outcomes: { ...RECEIVING.outcomes, matched: 1, differs: 1 },
  totals: [{ currency: 'USD', pushed: 1000, pulled: 500, reversed: 0, fees: 10 }],
  matched_at: EXAMPLE_LATER,
} as const;
const NOTE = 'The processor sent a corrected file (their ticket 4711).';

export const SETTLEMENT_FILES = [
  operation({
    id: 'create_settlement_file',
    method: 'POST',
    path: PATH,
    summary: 'Create a settlement file of a processor, before its lines are added',
    reach: 'operator',
    scope: 'funding:write',
    body: CreateSettlementFileBody,
    reply: SettlementFileRecord,
    status: 201,
    existing: true,
    location: `${PATH}/{file_id}`,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists', 'connector_not_found'],
    failure: 'The settlement file could not be created',
    example: {
      body: { connector_id: 'simulator', name: RECEIVING.name, sha256: RECEIVING.sha256, line_count: 2 },
      reply: RECEIVING,
    },
  }),
  operation({
    id: 'add_settlement_lines',
    method: 'POST',
    path: `${PATH}/{file_id}/line`,
    summary: 'Add the next lines to a settlement file. With the last line, the comparison with the books begins',
    reach: 'operator',
    scope: 'funding:write',
    body: AddSettlementLinesBody,
    reply: SettlementFileRecord,
    repeatable: true,
    audit: 'always',
    redactsCardNumbers: true,
    errors: ['settlement_file_not_found', 'settlement_file_withdrawn'],
    failure: 'The lines could not be added',
    example: {
      body: {
        first_line: 1,
        lines: [
          EXAMPLE_LINE,
          {
            processor_reference: 'txn_20492',
            kind: 'pull',
            amount: 500,
            currency: 'USD',
            fee: 10,
            settled_on: '2026-01-31',
          },
        ],
      },
      reply: { ...RECEIVING, status: 'matching', lines_received: 2 },
    },
  }),
  operation({
    id: 'list_settlement_files',
    method: 'GET',
    path: PATH,
    summary: 'List the settlement files, newest first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      limit,
      cursor,
      connector_id: Type.Optional(text(255, 'Only files of this connector')),
    }),
    reply: pageOf(SettlementFileRecord),
    failure: 'The settlement files could not be listed',
    example: { reply: EXAMPLE_FILE },
  }),
  operation({
    id: 'get_settlement_file',
    method: 'GET',
    path: `${PATH}/{file_id}`,
    summary: 'Get a settlement file: how many lines matched, and its sums',
    reach: 'operator',
    scope: 'operator:read',
    reply: SettlementFileRecord,
    errors: ['settlement_file_not_found'],
    failure: 'The settlement file could not be read',
    example: { reply: EXAMPLE_FILE },
  }),
  operation({
    id: 'withdraw_settlement_file',
    method: 'POST',
    path: `${PATH}/{file_id}/withdraw`,
    summary: 'Withdraw a settlement file, so that it no longer counts and can be imported again',
    reach: 'operator',
    scope: 'funding:write',
    body: WithdrawSettlementFileBody,
    reply: SettlementFileRecord,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists', 'settlement_file_not_found'],
    failure: 'The settlement file could not be withdrawn',
    example: {
      body: { note: NOTE },
      reply: {
        ...EXAMPLE_FILE,
        status: 'withdrawing',
        withdrawn_at: EXAMPLE_LATER,
        withdrawn_by: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
        note: NOTE,
      },
    },
  }),
] as const;

export type SettlementFileRecord = Static<typeof SettlementFileRecord>;
