import { type Static, Type } from 'typebox';
import { MOVE_IN_LINE_KINDS, MOVED_CARD_STATUSES } from '../domain/move-in.ts';
import { operation } from './operation.ts';
import { MAX_NOTE_CHARACTERS } from './processors/attempts.ts';
import type { JsonValue } from './reading/json.ts';
import { DEMO_PROGRAM, EXAMPLE_LATER, EXAMPLE_TIME } from './samples.ts';
import {
  amountFrom,
  callersReference,
  checkedTogether,
  currency,
  currencyCode,
  cursor,
  describedOrNull,
  freeText,
  idPattern,
  idText,
  ifThen,
  is,
  limit,
  line,
  literals,
  literalsOr,
  Metadata,
  moment,
  needs,
  nullable,
  pageOf,
  pastMoment,
  programId,
  refuseEmpty,
  Sum,
  textOrNull,
  visible,
  visibleId,
} from './schema-parts.ts';

/** Maximum number of lines in one request. */
export const MAX_MOVE_IN_LINES = 1000;

/** Maximum number of lines of a move-in. */
export const MAX_LINES_OF_MOVE_IN = 10_000_000;

const SUMS = {
  currency,
  cards: Type.Integer({ minimum: 0, description: 'Number of cards' }),
  balance: Sum('Sum of their opening balances'),
  holds: Type.Integer({ minimum: 0, description: 'Number of holds' }),
  held: Sum('Sum of the holds'),
};

/** The sums of cards and their holds, one object for each currency. */
export const MoveInTotals = (description: string) => Type.Array(Type.Object(SUMS), { description });

/** Cards that move in from another ledger, with their balances and open holds. */
export const MoveInRecord = Type.Object({
  move_in_id: Type.String({ description: 'Id of the move-in: mvi_ and 32 hex digits' }),
  program_id: programId,
  name: Type.String({ description: 'Name of the file, for people' }),
  sha256: Type.String({ description: 'SHA-256 of the file, 64 hex digits' }),
  as_of: moment('When the old ledger had these balances and holds'),
  status: literals(
    ['receiving', 'moved', 'undoing', 'undone'],
    'receiving: lines are missing; moved: all lines have taken effect; undoing: it is being undone, from its last line on; ' +
      'undone: nothing of it is left',
  ),
  line_count: Type.Integer({ description: 'Number of lines of the file' }),
  lines_received: Type.Integer({
    description: 'Number of lines that have taken effect. The next one has this number plus 1',
  }),
  lines_undone: Type.Integer({ description: 'Number of lines that are undone, counted from the last one' }),
  totals: MoveInTotals('Sums of the lines that have taken effect and are not undone, by currency'),
  adds_up: describedOrNull(
    Type.Boolean(),
    'Whether the sums of all lines are those that the file states; null until all lines have taken effect, and without such sums',
  ),
  created_at: moment('When it was created'),
  created_by: Type.String({ description: 'Who created it: id of the API key or the person, or `sandbox`' }),
  moved_at: nullable(moment('When the last line took effect; null until then')),
  undone_at: nullable(moment('When the undo began; null if it did not')),
  undone_by: textOrNull('Who undid it: id of the API key or the person, or `sandbox`; null if it was not undone'),
  note: textOrNull('Why it was undone; null if it was not'),
});

const statedSum = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: `${description}, in minor units` });
const statedCount = (description: string) => Type.Integer({ minimum: 0, maximum: MAX_LINES_OF_MOVE_IN, description });

/** The sums of a currency, as the old ledger states them. */
export const StatedTotal = Type.Object(
  {
    currency: currencyCode('ISO 4217 code'),
    cards: statedCount('Number of cards'),
    balance: statedSum('Sum of their balances'),
    holds: statedCount('Number of open holds'),
    held: statedSum('Sum of the open holds'),
  },
  { additionalProperties: false },
);

export const CreateMoveInBody = Type.Object(
  {
    program_id: idText('prog', 'The card program that the cards move to'),
    name: line(255, 'Name of the file, for people'),
    sha256: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description:
        'SHA-256 of the file, 64 hex digits in lower case. If the program has a move-in of the same file, it is returned',
    }),
    as_of: pastMoment(0, 'When the old ledger had these balances and holds'),
    line_count: Type.Integer({ minimum: 1, maximum: MAX_LINES_OF_MOVE_IN, description: 'Number of lines of the file' }),
    // The type is loose, because the handler validates the sums one by one.
    totals: Type.Optional(
      Type.Unsafe<readonly JsonValue[]>({
        type: 'array',
        minItems: 1,
        maxItems: 50,
        items: StatedTotal,
        description:
          'Sums that the old ledger states, one object for each currency. The move-in is compared with them, and lines that exceed them or lower a balance are refused',
      }),
    ),
  },
  { ...refuseEmpty({ totals: 'to move in without stated sums' }) },
);

/**
 * A line of a move-in in a request: a card with its balance, an open hold, a finished transfer, another balance of a card, or a hold
 * that was released.
 */
export const MoveInLine = Type.Object(
  {
    kind: literals(
      MOVE_IN_LINE_KINDS,
      'card: a card and its balance; hold: an open hold on a card that has moved in; transfer: a finished transfer of the old ledger, ' +
        'so that a repetition of it is refused here; change: another balance of a card that has moved in; release: a hold of a move-in that was ' +
        'released in the old ledger',
    ),
    card_id: {
      ...visibleId(
        'Id that you choose for the card: 1 to 255 visible ASCII characters, not of the form of a generated id',
      ),
      'x-checked': { not: { pattern: idPattern('card') } },
    },
    currency: Type.Optional(
      currencyCode("Only for a card: currency as an ISO 4217 code; the program's currency if omitted"),
    ),
    balance: Type.Optional(
      amountFrom(0, 'For a card or a change: its balance, including what is on hold, in minor units'),
    ),
    balance_before: Type.Optional(
      amountFrom(0, 'For a change: the balance that the card has here, so that it changes only once, in minor units'),
    ),
    status: Type.Optional(literalsOr('active', MOVED_CARD_STATUSES, 'Only for a card: its status; active if omitted')),
    holder_reference: Type.Optional(
      callersReference(255, 'Only for a card: your reference for the holder; must not contain a card number'),
    ),
    last_four: Type.Optional(
      Type.String({ pattern: '^[0-9]{4}$', description: 'Only for a card: last four digits of its number' }),
    ),
    expires_on: Type.Optional(
      Type.String({ format: 'date', description: 'Only for a card: last day that it can be used, YYYY-MM-DD' }),
    ),
    metadata: Type.Optional(Metadata),
    amount: Type.Optional(amountFrom(1, 'For a hold: its amount, in minor units')),
    expires_at: Type.Optional(moment('For a hold: when it expires, at most 90 days from now')),
    reference: Type.Optional(
      callersReference(
        255,
        'Only for a hold or a transfer: your reference for it, which no other transfer of the program may have',
      ),
    ),
    idempotency_key: Type.Optional(
      visible('Only for a transfer: the Idempotency-Key of the request that created it. It is kept for 30 days'),
    ),
    transfer_id: Type.Optional(idText('tr', 'For a release: the hold here')),
    description: Type.Optional(line(255, 'Only for a hold: text for people')),
  },
  {
    additionalProperties: false,
    ...checkedTogether({
      allOf: [
        ifThen(is('kind', 'card'), needs('balance')),
        ifThen(is('kind', 'hold'), needs('amount', 'expires_at')),
        ifThen(is('kind', 'transfer'), { anyOf: [needs('reference'), needs('idempotency_key')] }),
        ifThen(is('kind', 'change'), needs('balance_before', 'balance')),
        ifThen(is('kind', 'release'), needs('transfer_id')),
      ],
    }),
  },
);

export const AddMoveInLinesBody = Type.Object({
  first_line: Type.Integer({
    minimum: 1,
    maximum: MAX_LINES_OF_MOVE_IN,
    description:
      'Number of the first of these lines, from 1: `lines_received` plus 1. Lines that have taken effect already are ignored',
  }),
  // The type is loose, because the handler validates the lines one by one.
  lines: Type.Unsafe<readonly JsonValue[]>({
    type: 'array',
    minItems: 1,
    maxItems: MAX_MOVE_IN_LINES,
    items: MoveInLine,
    description: 'The next lines of the file, 1 to 1,000. All of them take effect, or none',
  }),
});

export const UndoMoveInBody = Type.Object({
  note: freeText(MAX_NOTE_CHARACTERS, 'Why; stored with the move-in, without card numbers and keys'),
});

const PATH = '/api/v0.1/operator/move-in';

const NEW = {
  name: 'cards-2026-01-31.ndjson',
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  as_of: EXAMPLE_TIME,
  status: 'receiving',
  line_count: 2,
  lines_received: 0,
  lines_undone: 0,
  totals: [],
  adds_up: null,
  moved_at: null,
  undone_at: null,
  undone_by: null,
  note: null,
} as const;
const MOVED = {
  ...NEW,
  status: 'moved',
  lines_received: 2,
  totals: [{ currency: 'USD', cards: 1, balance: 12_500, holds: 1, held: 2000 }],
  adds_up: true,
  moved_at: EXAMPLE_LATER,
} as const;
const NOTE = 'The file was from the wrong day.';

export const MOVE_INS = [
  operation({
    id: 'create_move_in',
    method: 'POST',
    path: PATH,
    summary: 'Create a move-in of cards from another ledger, before its lines are added',
    reach: 'operator',
    scope: 'funding:write',
    body: CreateMoveInBody,
    reply: MoveInRecord,
    status: 201,
    existing: true,
    location: `${PATH}/{move_in_id}`,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists', 'program_not_found'],
    failure: 'The move-in could not be created',
    example: {
      body: { program_id: DEMO_PROGRAM, name: NEW.name, sha256: NEW.sha256, as_of: EXAMPLE_TIME, line_count: 2 },
      reply: NEW,
    },
  }),
  operation({
    id: 'add_move_in_lines',
    method: 'POST',
    path: `${PATH}/{move_in_id}/line`,
    summary: 'Add the next lines to a move-in: create cards with their balances, and hold money',
    reach: 'operator',
    scope: 'funding:write',
    body: AddMoveInLinesBody,
    reply: MoveInRecord,
    movesMoney: true,
    repeatable: true,
    audit: 'always',
    errors: [
      'move_in_not_found',
      'move_in_undone',
      'duplicate_card',
      'card_not_found',
      'duplicate_reference',
      'insufficient_funds',
      'limit_exceeded',
    ],
    failure: 'The lines could not be added',
    example: {
      body: {
        first_line: 1,
        lines: [
          { kind: 'card', card_id: 'example-add-move-in-lines', balance: 12_500 },
          { kind: 'hold', card_id: 'example-add-move-in-lines', amount: 2000, expires_at: '2026-02-05T09:30:00.000Z' },
        ],
      },
      reply: MOVED,
    },
  }),
  operation({
    id: 'list_move_ins',
    method: 'GET',
    path: PATH,
    summary: 'List the move-ins, newest first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      limit,
      cursor,
      program_id: Type.Optional(idText('prog', 'Only move-ins of this card program')),
    }),
    reply: pageOf(MoveInRecord),
    failure: 'The move-ins could not be listed',
    example: { reply: MOVED },
  }),
  operation({
    id: 'get_move_in',
    method: 'GET',
    path: `${PATH}/{move_in_id}`,
    summary: 'Get a move-in: how many lines have taken effect, and its sums',
    reach: 'operator',
    scope: 'operator:read',
    reply: MoveInRecord,
    errors: ['move_in_not_found'],
    failure: 'The move-in could not be read',
    example: { reply: MOVED },
  }),
  operation({
    id: 'undo_move_in',
    method: 'POST',
    path: `${PATH}/{move_in_id}/undo`,
    summary: 'Undo up to 1,000 lines of a move-in, from its last one on; repeat it until nothing is left',
    reach: 'operator',
    scope: 'funding:write',
    body: UndoMoveInBody,
    reply: MoveInRecord,
    movesMoney: true,
    repeatable: true,
    audit: 'always',
    errors: ['move_in_not_found', 'move_in_used'],
    failure: 'The move-in could not be undone',
    example: {
      body: { note: NOTE },
      reply: {
        ...MOVED,
        status: 'undone',
        lines_undone: 2,
        totals: [],
        undone_at: EXAMPLE_LATER,
        undone_by: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
        note: NOTE,
      },
    },
  }),
] as const;

export type MoveInRecord = Static<typeof MoveInRecord>;
