import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { MAX_NOTE_CHARACTERS } from './processors/attempts.ts';
import { EXAMPLE_LATER } from './samples.ts';
import {
  currency,
  described,
  freeText,
  literals,
  moment,
  nullable,
  programId,
  raw,
  Sum,
  textOrNull,
} from './schema-parts.ts';

const day = (description: string) => Type.String({ format: 'date', description });

const LINE = {
  funding: Sum('Funding of the card program'),
  cards: Sum('All cards together, with the money that processors have for cards'),
  suspense: Sum('Money of late approvals, until their breaks are closed'),
  loss: Sum('Losses that the operator bears'),
};

/** What the accounts of a card program have at an instant, in minor units. */
export const DayBalances = Type.Object(LINE);

/** What the postings of one purpose have changed on a day, in minor units. */
export const DayMovement = Type.Object({
  purpose: Type.String({ description: 'deposit, withdrawal, load, unload, reversal or correction' }),
  postings: Type.Integer({ description: 'Number of postings' }),
  ...LINE,
});

/** A line of a day's report as comma-separated values. */
export const DayLineRecord = Type.Object({
  day: day('The day, such as 2026-01-31'),
  currency,
  line: Type.String({ description: 'opening, closing, or the purpose of the postings' }),
  postings: nullable(Type.Integer({ description: 'Number of postings; null for balances' })),
  ...LINE,
});

/** A day of a card program, from its first millisecond to its last in the time zone of the program. */
export const DayRecord = Type.Object({
  program_id: programId,
  day: day('The day, such as 2026-01-31'),
  time_zone: Type.String({ description: 'Time zone of the card program, in which the day begins and ends' }),
  begins_at: moment('When the day begins'),
  ends_at: moment('When the next day begins'),
  status: literals(
    ['running', 'open', 'closed'],
    'running: postings can still be added; open: it is over, and can be closed; closed: a person has closed it',
  ),
  adds_up: Type.Boolean({
    description: 'Whether each account has its opening balance plus the postings of the day at the end',
  }),
  currencies: Type.Array(
    Type.Object({
      currency,
      opening: described(DayBalances, 'The balances when the day began'),
      movements: Type.Array(DayMovement, {
        description: 'The postings of the day, by purpose. Transfers between cards change no sum and are left out',
      }),
      closing: described(DayBalances, 'The balances when the day ended'),
      adds_up: Type.Boolean({ description: 'Whether the currency adds up' }),
    }),
    { description: 'The money, by currency; empty if the card program had none' },
  ),
  breaks: Type.Object(
    {
      opening: Type.Integer({ description: 'Number of breaks that were open when the day began' }),
      opened: Type.Integer({ description: 'Number of breaks found on the day' }),
      closed: Type.Integer({ description: 'Number of breaks closed on the day' }),
      closing: Type.Integer({ description: 'Number of breaks that were open when the day ended' }),
    },
    { description: 'Differences between processors and the books' },
  ),
  last_closed_day: nullable(day('The last day before this one that was closed; null if there is none')),
  closed_at: nullable(moment('When it was closed; null if it is not')),
  closed_by: textOrNull('Who closed it: id of the API key or the person, or `sandbox`; null if it is not closed'),
  note: textOrNull('What they checked; null if it is not closed'),
});

export const CloseDayBody = Type.Object({
  day: day('The day to close, such as 2026-01-31. It must be over in the time zone of the card program'),
  note: freeText(MAX_NOTE_CHARACTERS, 'What you checked; stored with the day, without card numbers and keys'),
});

const dayQuery = Type.Optional(
  day("The day, such as 2026-01-31; yesterday in the card program's time zone if omitted"),
);

const PATH = '/api/v0.1/operator/program/{program_id}/day';
const NOTE = 'Compared with the statement of the bank, their ticket 4711.';

const OPENING = { funding: 5_000_000, cards: 0, suspense: 0, loss: 0 } as const;
const OPEN = {
  day: '2026-01-30',
  begins_at: '2026-01-30T00:00:00.000Z',
  ends_at: '2026-01-31T00:00:00.000Z',
  status: 'open',
  adds_up: true,
  currencies: [
    {
      currency: 'USD',
      opening: OPENING,
      movements: [{ purpose: 'load', postings: 1, funding: -1000, cards: 1000, suspense: 0, loss: 0 }],
      closing: { ...OPENING, funding: 4_999_000, cards: 1000 },
      adds_up: true,
    },
  ],
  breaks: { opening: 0, opened: 0, closed: 0, closing: 0 },
  last_closed_day: '2026-01-29',
  closed_at: null,
  closed_by: null,
  note: null,
} as const;

export const DAYS = [
  operation({
    id: 'get_day',
    method: 'GET',
    path: PATH,
    summary: "Get the report of a card program's day: what its accounts had, what moved, and whether it adds up",
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ day: dayQuery }),
    reply: DayRecord,
    errors: ['program_not_found'],
    failure: 'The day could not be read',
    example: { reply: OPEN },
  }),
  operation({
    id: 'export_day',
    method: 'GET',
    path: `${PATH}/export`,
    summary: "Export the report of a card program's day as comma-separated values",
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ day: dayQuery, raw }),
    csv: true,
    reply: DayLineRecord,
    errors: ['program_not_found'],
    failure: 'The day could not be exported',
    example: { reply: { day: OPEN.day, line: 'opening', postings: null, ...OPENING } },
  }),
  operation({
    id: 'close_day',
    method: 'POST',
    path: `${PATH}/close`,
    summary: 'Close a day of a card program. Its report never changes after that',
    reach: 'operator',
    scope: 'funding:write',
    body: CloseDayBody,
    reply: DayRecord,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists', 'program_not_found'],
    failure: 'The day could not be closed',
    example: {
      body: { day: OPEN.day, note: NOTE },
      reply: {
        ...OPEN,
        status: 'closed',
        closed_at: EXAMPLE_LATER,
        closed_by: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
        note: NOTE,
      },
    },
  }),
] as const;

export type DayRecord = Static<typeof DayRecord>;
