import { type Static, Type } from 'typebox';
import { DIFFERENCE_REASONS } from '../domain/comparison.ts';
import { MOVED_CARD_STATUSES } from '../domain/move-in.ts';
import { MAX_LINES_OF_MOVE_IN, MAX_MOVE_IN_LINES, MoveInTotals } from './move-ins.ts';
import { operation } from './operation.ts';
import { MAX_NOTE_CHARACTERS } from './processors/attempts.ts';
import type { JsonValue } from './reading/json.ts';
import { DEMO_PROGRAM, EXAMPLE_LATER } from './samples.ts';
import {
  amountFrom,
  callersReference,
  currency,
  currencyCode,
  cursor,
  existing,
  freeText,
  idText,
  limit,
  line,
  literals,
  moment,
  nullable,
  pageOf,
  pastMoment,
  programId,
  refuseEmpty,
  sumOrNull,
  textOrNull,
} from './schema-parts.ts';

/** Maximum number of holds on one card of a comparison. */
export const MAX_COMPARED_HOLDS = 1000;

/** A comparison of the cards of a program with a balance file of the ledger that they move in from. */
export const ComparisonRecord = Type.Object({
  comparison_id: Type.String({ description: 'Id of the comparison: cmp_ and 32 hex digits' }),
  program_id: programId,
  name: Type.String({ description: 'Name of the file, for people' }),
  sha256: Type.String({ description: 'SHA-256 of the file, 64 hex digits' }),
  as_of: nullable(
    moment('The books as they were just after this time are compared; null for the books at the time of each request'),
  ),
  status: literals(
    ['comparing', 'equal', 'different', 'cut_over'],
    'comparing: cards are missing; equal: there is no difference; different: there are differences; cut_over: it was equal, ' +
      'and the card program was cut over',
  ),
  card_count: Type.Integer({ description: 'Number of cards in the file' }),
  cards_received: Type.Integer({
    description: 'Number of cards of the file that are compared. The next one has this number plus 1',
  }),
  difference_count: Type.Integer({ description: 'Number of differences found so far' }),
  differences: Type.Array(
    Type.Object({
      reason: literals(DIFFERENCE_REASONS, 'Probable reason'),
      count: Type.Integer({ description: 'Number of differences with this reason' }),
    }),
    { description: 'Differences by reason; reasons without one are omitted' },
  ),
  totals_here: MoveInTotals('Sums of the cards here that are compared so far, by currency'),
  totals_there: MoveInTotals('Sums of the cards of the file that are compared so far, by currency'),
  report: textOrNull(
    'One sentence that says whether every card has the balance that the old ledger has; null until all cards are compared',
  ),
  created_at: moment('When it was created'),
  created_by: Type.String({ description: 'Who created it: id of the API key or the person, or `sandbox`' }),
  compared_at: nullable(moment('When the last card was compared; null until then')),
  cut_over_at: nullable(moment('When the card program was cut over; null if it was not')),
  cut_over_by: textOrNull(
    'Who cut it over: id of the API key or the person, or `sandbox`; null if it was not cut over',
  ),
  note: textOrNull('Why it was cut over; null if it was not'),
});

/** A difference between a card here and in the balance file. */
export const DifferenceRecord = Type.Object({
  number: Type.Integer({ description: 'Number of the difference in its comparison, from 1' }),
  card_id: Type.String({ description: 'The card' }),
  reason: literals(
    DIFFERENCE_REASONS,
    'Probable reason. card_only_there: the file has a card that is missing, closed or at a processor here; card_only_here: the file does not have the ' +
      'card; other_currency; other_status; transfer_only_there: the balance differs, and no transfer here explains it; ' +
      'transfer_only_here: the balance differs by one transfer here; other_balance: the balance differs by another amount than that of one transfer here; ' +
      'hold_only_there: the hold is missing here; hold_released_there: the hold is open here and not in the file; ' +
      'hold_captured_there: the same, and the balance there is lower by at most its amount; other_hold_amount',
  ),
  currency,
  here: sumOrNull('The balance of the card, or the amount of the hold, here; null if it is missing'),
  there: sumOrNull('The same in the file; null if it is missing'),
  transfer_id: textOrNull('The transfer here that explains it, or the hold here; null if there is none'),
  reference: textOrNull('The reference of the hold; null without one'),
  message: Type.String({ description: 'The difference in one sentence, for people' }),
});

export const CreateComparisonBody = Type.Object(
  {
    program_id: idText('prog', 'The card program that the cards moved to'),
    name: line(255, 'Name of the file, for people'),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the file, 64 hex digits in lower case' }),
    card_count: Type.Integer({ minimum: 1, maximum: MAX_LINES_OF_MOVE_IN, description: 'Number of cards in the file' }),
    as_of: Type.Optional(
      pastMoment(
        60,
        'Compares the books as they were just after this time, at least a minute ago. If omitted, the books as they are: only such a comparison can be cut over',
      ),
    ),
  },
  { ...refuseEmpty({ as_of: 'to compare the books as they are' }) },
);

/** An open hold of a balance file. */
export const ComparedHold = Type.Object(
  {
    amount: amountFrom(1, 'Amount of the hold'),
    reference: Type.Optional(callersReference(255, 'Your reference for it')),
  },
  { additionalProperties: false },
);

/** A card of a balance file in a request, with all of its open holds. */
export const ComparedCard = Type.Object(
  {
    card_id: existing('Your id for the card', 255),
    balance: amountFrom(0, 'Its balance, including what is on hold'),
    currency: Type.Optional(currencyCode("ISO 4217 code; the program's currency if omitted")),
    status: Type.Optional(literals(MOVED_CARD_STATUSES, 'Its status; not compared if omitted')),
    // The type is loose, because the handler validates the holds one by one.
    holds: Type.Optional(
      Type.Unsafe<readonly JsonValue[]>({
        type: 'array',
        maxItems: MAX_COMPARED_HOLDS,
        items: ComparedHold,
        description: 'Its open holds; none if omitted',
      }),
    ),
  },
  { additionalProperties: false },
);

export const AddComparedCardsBody = Type.Object({
  first_card: Type.Integer({
    minimum: 1,
    maximum: MAX_LINES_OF_MOVE_IN + 1,
    description:
      'Number of the first of these cards in the order of the file, from 1: `cards_received` plus 1. Cards that are compared already are ignored',
  }),
  // The type is loose, because the handler validates the cards one by one.
  cards: Type.Unsafe<readonly JsonValue[]>({
    type: 'array',
    maxItems: MAX_MOVE_IN_LINES,
    items: ComparedCard,
    description:
      'The next cards, in the order of the bytes of `card_id`. Fewer than sent may be compared: send the others again. ' +
      'After the last card, send an empty list until `status` is not `comparing`',
  }),
});

export const CutOverBody = Type.Object({
  note: freeText(MAX_NOTE_CHARACTERS, 'Why; stored with the comparison, without card numbers and keys'),
});

const PATH = '/api/v0.1/operator/comparison';

const SUMS = [{ currency: 'USD', cards: 1, balance: 12_500, holds: 1, held: 2000 }];

const NEW = {
  name: 'cards-2026-01-31.csv',
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  as_of: null,
  status: 'comparing',
  card_count: 1,
  cards_received: 0,
  difference_count: 0,
  differences: [],
  totals_here: [],
  totals_there: [],
  report: null,
  compared_at: null,
  cut_over_at: null,
  cut_over_by: null,
  note: null,
} as const;
const EQUAL = {
  ...NEW,
  status: 'equal',
  cards_received: 1,
  totals_here: SUMS,
  totals_there: SUMS,
  report:
    "Every card has the balance and the holds that the old ledger has in 'cards-2026-01-31.csv': 1 card with 125.00 USD, of which 1 hold has 20.00 USD.",
  compared_at: EXAMPLE_LATER,
} as const;
const NOTE = 'Checked by finance.';

export const COMPARISONS = [
  operation({
    id: 'create_comparison',
    method: 'POST',
    path: PATH,
    summary: 'Create a comparison of a card program with a balance file of its old ledger, before its cards are added',
    reach: 'operator',
    scope: 'funding:write',
    body: CreateComparisonBody,
    reply: ComparisonRecord,
    status: 201,
    location: `${PATH}/{comparison_id}`,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists', 'program_not_found'],
    failure: 'The comparison could not be created',
    example: {
      body: { program_id: DEMO_PROGRAM, name: NEW.name, sha256: NEW.sha256, card_count: 1 },
      reply: NEW,
    },
  }),
  operation({
    id: 'add_compared_cards',
    method: 'POST',
    path: `${PATH}/{comparison_id}/card`,
    summary: 'Add the next cards to a comparison, and find their differences',
    reach: 'operator',
    scope: 'funding:write',
    body: AddComparedCardsBody,
    reply: ComparisonRecord,
    repeatable: true,
    audit: 'always',
    errors: ['comparison_not_found'],
    failure: 'The cards could not be compared',
    example: {
      body: { first_card: 1, cards: [{ card_id: 'card-4711', balance: 12_500, holds: [{ amount: 2000 }] }] },
      reply: EQUAL,
    },
  }),
  operation({
    id: 'list_comparisons',
    method: 'GET',
    path: PATH,
    summary: 'List the comparisons, newest first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      limit,
      cursor,
      program_id: Type.Optional(idText('prog', 'Only comparisons of this card program')),
    }),
    reply: pageOf(ComparisonRecord),
    failure: 'The comparisons could not be listed',
    example: { reply: EQUAL },
  }),
  operation({
    id: 'get_comparison',
    method: 'GET',
    path: `${PATH}/{comparison_id}`,
    summary: 'Get a comparison: how many cards are compared, its sums, its differences by reason, and its report',
    reach: 'operator',
    scope: 'operator:read',
    reply: ComparisonRecord,
    errors: ['comparison_not_found'],
    failure: 'The comparison could not be read',
    example: { reply: EQUAL },
  }),
  operation({
    id: 'list_differences',
    method: 'GET',
    path: `${PATH}/{comparison_id}/difference`,
    summary: 'List the differences that a comparison has found, in the order of the cards',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      limit,
      cursor,
      reason: Type.Optional(literals(DIFFERENCE_REASONS, 'Only differences with this reason')),
    }),
    reply: pageOf(DifferenceRecord),
    errors: ['comparison_not_found'],
    failure: 'The differences could not be listed',
    example: {
      reply: {
        number: 1,
        card_id: 'card-4711',
        reason: 'transfer_only_there',
        currency: 'USD',
        here: 12_500,
        there: 12_000,
        transfer_id: null,
        reference: null,
        message:
          'The card has 125.00 USD here and 120.00 USD in the file, and no transfer here explains the difference.',
      },
    },
  }),
  operation({
    id: 'cut_over',
    method: 'POST',
    path: `${PATH}/{comparison_id}/cut-over`,
    summary: 'Sign the report of an equal comparison, and enable the transfers of its card program',
    reach: 'operator',
    scope: 'funding:write',
    body: CutOverBody,
    reply: ComparisonRecord,
    repeatable: true,
    audit: 'always',
    errors: ['comparison_not_found', 'cut_over_refused'],
    failure: 'The card program could not be cut over',
    example: {
      body: { note: NOTE },
      reply: {
        ...EQUAL,
        status: 'cut_over',
        cut_over_at: EXAMPLE_LATER,
        cut_over_by: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
        note: NOTE,
      },
    },
  }),
] as const;

export type ComparisonRecord = Static<typeof ComparisonRecord>;
export type DifferenceRecord = Static<typeof DifferenceRecord>;
