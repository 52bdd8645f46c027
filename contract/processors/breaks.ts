import { type Static, Type } from 'typebox';
import { BOOK_AGAINST, BREAK_KINDS } from '../../domain/processors/break.ts';
import { ORDER_KINDS } from '../../domain/processors/order.ts';
import { LINE_STATUSES, MAX_NAMED_ORDERS } from '../../domain/processors/settlement.ts';
import { operation } from '../operation.ts';
import { DEMO_PROGRAM, EXAMPLE_ATTEMPT_ID, EXAMPLE_LATER, EXAMPLE_TRANSFER_ID } from '../samples.ts';
import {
  Amount,
  amountSent,
  checkedTogether,
  currency,
  cursor,
  freeText,
  idText,
  limit,
  literals,
  moment,
  needs,
  nullable,
  pageOf,
  refuseEmpty,
  text,
  textOrNull,
} from '../schema-parts.ts';
import { MAX_NOTE_CHARACTERS } from './attempts.ts';

/** A line of a settlement file that a break names. */
const BreakLine = Type.Object({
  file_id: Type.String({ description: 'The settlement file' }),
  line_number: Type.Integer({ description: 'Number of the line in the file, from 1' }),
  attempt_id: textOrNull('The `attempt_id` in the line; null if it has none'),
  processor_reference: textOrNull("The processor's own reference in the line; null if it has none"),
  kind: literals(ORDER_KINDS, 'push: money went to the card; pull: it came from the card'),
  amount: Amount('Amount of the line'),
  currency,
  fee: Amount('Fee of the processor'),
  status: literals(LINE_STATUSES, 'settled: the order was carried out; reversed: it was undone later'),
  settled_on: Type.String({ format: 'date', description: 'Day of the settlement' }),
  settled_attempt_ids: Type.Array(Type.String(), {
    description: 'The attempts that the line settles because a person named them; empty if there are none',
  }),
});

const BOOKED_ACCOUNTS = [...BOOK_AGAINST, 'suspense'] as const;

/** A difference between a processor and the books. */
export const BreakRecord = Type.Object({
  break_id: Type.String({ description: 'Id of the break: brk_ and 32 hex digits' }),
  kind: literals(
    BREAK_KINDS,
    'late_approval: carried out after its transfer had failed; contradiction: not carried out, after it had been ' +
      'approved, or of another amount; unknown_attempt: a notice about an attempt that the service does not know; unhandled_notice: a notice that the ' +
      'service could not handle for minutes, and tries again until the break is closed; reused_notice_id: a notice ' +
      'with the id of a previous notice but different contents, which was refused; missing_in_ledger: a line of a settlement file ' +
      'about an attempt that the service does not know, or about several attempts that do not add up to the line; duplicate: another line of a settlement file about a settled attempt; ' +
      'missing_in_file: an approved attempt that was in no settlement file in time; file_missing: attempts should be in a settlement ' +
      'file by now, but none has arrived, or the sequence numbers of the files have a gap',
  ),
  connector_id: Type.String({ description: 'The connector of the processor' }),
  program_id: textOrNull('The card program; null if it is not known'),
  attempt_id: textOrNull('The attempt; null if the service does not know it'),
  transfer_id: textOrNull('The transfer; null if it is not known'),
  amount: nullable(Amount('Amount of the attempt, or of the lines of settlement files; null if it is not known')),
  currency: textOrNull('Currency of the amount; null if there is none'),
  expected: Type.String({ description: 'What the books say, such as the status of the attempt' }),
  found: Type.String({
    description:
      'What the processor said. If it contradicts this later, the new answer is added after a comma, and the break reopens',
  }),
  settlement_lines: Type.Array(BreakLine, {
    description: 'The lines of settlement files that `found` names; empty if the processor said it in another way',
  }),
  age_seconds: Type.Integer({ minimum: 0, description: 'How long ago it was found, in seconds' }),
  created_at: moment('When it was found'),
  closed_at: nullable(moment('When it was closed; null while it is open')),
  closed_by: textOrNull(
    'Who closed it: id of the API key or the person, `sandbox`, or `service` if the service found that it is resolved; null while it is open',
  ),
  note: textOrNull('What was found and done; null while it is open, and once it is erased'),
  proposed_attempt_ids: Type.Array(Type.String(), {
    description:
      'Up to 5 approved attempts that the line of an open `missing_in_ledger` could be about. No file has settled them, they have the ' +
      'direction, amount and currency of the line, and were approved in the 5 days up to `settled_on`. Newest first; empty in other breaks',
  }),
  booked_against: nullable(
    literals(BOOK_AGAINST, 'The account that the difference was last booked against; null if it was not'),
  ),
  bookings: Type.Array(
    Type.Object({
      book_against: literals(BOOK_AGAINST, 'The `book_against` to send when closing the break'),
      from: literals(BOOKED_ACCOUNTS, 'The account that would give the money'),
      to: literals(BOOKED_ACCOUNTS, 'The account that would receive it'),
      amount: Amount('Amount that would move'),
    }),
    { description: 'The ways to book the difference; empty if it has been booked or is not known' },
  ),
});

export const CloseBreakBody = Type.Object(
  {
    note: freeText(
      MAX_NOTE_CHARACTERS,
      'What you found and did; stored with the break, without card numbers and keys, for as long as the error log',
    ),
    book_against: Type.Optional(
      literals(
        BOOK_AGAINST,
        'Books the difference, as the entry of `bookings` with this value shows. funding: the card program bears it; clearing: the ' +
          'processor has undone what it did; loss: the operator bears it. Nothing is booked if omitted',
      ),
    ),
    amount: Type.Optional(amountSent('The amount of that entry; the request is refused if the difference has changed')),
    attempt_ids: Type.Optional(
      Type.Array(idText('pat', 'An attempt'), {
        minItems: 1,
        maxItems: MAX_NAMED_ORDERS,
        description:
          'Only for a `missing_in_ledger` with one line: the attempts that the line settles, 1 to 100. Each must be approved and in no ' +
          'settlement file, and have the direction and currency of the line. Their amounts must sum to its amount. They are settled ' +
          'by the file of the line until it is withdrawn',
      }),
    ),
  },
  {
    ...checkedTogether({
      dependentRequired: { book_against: ['amount'], amount: ['book_against'] },
      not: needs('attempt_ids', 'book_against'),
    }),
    ...refuseEmpty({ book_against: 'to book nothing', amount: 'to book nothing', attempt_ids: 'to settle nothing' }),
  },
);

const PATH = '/api/v0.1/operator/break';

export const EXAMPLE_BREAK = {
  break_id: 'brk_0196f5c2d9a67d51b0c7e18f42d965a3',
  kind: 'late_approval',
  connector_id: 'increase',
  program_id: DEMO_PROGRAM,
  attempt_id: EXAMPLE_ATTEMPT_ID,
  transfer_id: EXAMPLE_TRANSFER_ID,
  amount: 1000,
  currency: 'USD',
  expected: 'failed',
  found: 'approved',
  settlement_lines: [],
  proposed_attempt_ids: [],
  age_seconds: 3600,
  booked_against: null,
  bookings: BOOK_AGAINST.map((from) => ({ book_against: from, from, to: 'suspense', amount: 1000 })),
} as const;

export const BREAKS = [
  operation({
    id: 'list_breaks',
    method: 'GET',
    path: PATH,
    summary: 'List the open differences between processors and the books, oldest first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      limit,
      cursor,
      status: Type.Optional(literals(['open', 'closed'], 'open: oldest first; closed: newest first; open if omitted')),
      kind: Type.Optional(literals(BREAK_KINDS, 'Only breaks of this kind')),
      connector_id: Type.Optional(text(255, 'Only breaks of this connector')),
      program_id: Type.Optional(idText('prog', 'Only breaks of this card program')),
      settlement_file_id: Type.Optional(
        idText('stl', 'Only breaks whose `found` names a line of this settlement file'),
      ),
    }),
    reply: pageOf(BreakRecord),
    failure: 'The breaks could not be listed',
    example: { reply: EXAMPLE_BREAK },
  }),
  operation({
    id: 'get_break',
    method: 'GET',
    path: `${PATH}/{break_id}`,
    summary: 'Get a break: what the processor said, and the ways to book the difference',
    reach: 'operator',
    scope: 'operator:read',
    reply: BreakRecord,
    errors: ['break_not_found'],
    failure: 'The break could not be read',
    example: { reply: EXAMPLE_BREAK },
  }),
  operation({
    id: 'close_break',
    method: 'POST',
    path: `${PATH}/{break_id}/close`,
    summary: 'Close a break, and book its difference or settle its orders, once',
    reach: 'operator',
    scope: 'funding:write',
    body: CloseBreakBody,
    reply: BreakRecord,
    repeatable: true,
    movesMoney: true,
    audit: 'always',
    errors: ['invalid_amount', 'break_not_found', 'insufficient_funds', 'limit_exceeded'],
    failure: 'The break could not be closed',
    example: {
      body: {
        note: 'The holder keeps the money (ticket 4711 of the processor).',
        book_against: 'funding',
        amount: 1000,
      },
      reply: {
        ...EXAMPLE_BREAK,
        closed_at: EXAMPLE_LATER,
        closed_by: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
        note: 'The holder keeps the money (ticket 4711 of the processor).',
        booked_against: 'funding',
        bookings: [],
      },
    },
  }),
] as const;

export type BreakRecord = Static<typeof BreakRecord>;
