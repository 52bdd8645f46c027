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
  sumOrNull,
  textOrNull,
} from './schema-parts.ts';

/** Fields with sums, from their descriptions. */
const sumFields = <Name extends string>(fields: Readonly<Record<Name, string>>) =>
  Object.fromEntries(Object.entries<string>(fields).map(([name, text]) => [name, Sum(text)])) as Record<
    Name,
    ReturnType<typeof Sum>
  >;

/** Fields with sums, for lines that may lack them. `missing` names the lines that lack them. */
const sumFieldsOrNull = <Name extends string>(fields: Readonly<Record<Name, string>>, missing: string) =>
  Object.fromEntries(
    Object.entries<string>(fields).map(([name, text]) => [name, sumOrNull(`${text}; null in ${missing}`)]),
  ) as Record<Name, ReturnType<typeof sumOrNull>>;

const day = (description: string) => Type.String({ format: 'date', description });

/** The schema of a day in a request that must be in the past. `seconds` is how long ago the day must have ended, or begun. */
const pastDay = (seconds: number, description: string) =>
  Type.String({ format: 'date', description, 'x-checked': { 'x-seconds-ago': seconds } });

const LINE = {
  funding: 'Funding of the card program',
  cards:
    'All cards together, including the money that processors have for cards: the negative of the sum of all other accounts',
  suspense: 'Money of late approvals, until their breaks are closed',
  loss: 'Losses that the operator bears',
};

/** The balances of a card program's accounts at an instant, in minor units. */
export const DayBalances = Type.Object(sumFields(LINE));

/** The changes that the postings of one purpose made on a day, in minor units. */
export const DayMovement = Type.Object({
  purpose: Type.String({
    description:
      'deposit, withdrawal, load, unload, reversal, correction or opening. Late approvals are loads or unloads against suspense, and the last transfer of a closed card is an unload',
  }),
  postings: Type.Integer({ description: 'Number of postings' }),
  ...sumFields(LINE),
});

const ORDERS = {
  opening: 'Approved before the day, and still open when it began: in no file, and not resolved',
  approved: 'Approved on the day',
  settled: 'In files that were compared on the day',
  resolved: 'Resolved by a break on the day: the order was booked as missing, or has another break',
  closing: 'Open when the day ended',
};

const FEES =
  "Sum of the processor's fees in the lines that settled orders on the day. They move no money, because the processor charges them " +
  'outside the service. Fees in other lines are only in the totals of their settlement file';

/** Approved orders at a processor over a day, in minor units. */
export const DayOrders = Type.Object({
  ...sumFields(ORDERS),
  fees: sumOrNull(`${FEES}; null if the day was closed before reports had fees`),
});

const STATUS = literals(
  ['running', 'open', 'closed'],
  'running: postings can still be added, until a minute after its end; open: it is over, and can be closed; closed: a person has closed it',
);

/** A line of a day's report as comma-separated values. */
const DayLineRecord = Type.Object({
  program_id: programId,
  day: day('The day, such as 2026-01-31'),
  status: STATUS,
  adds_up: Type.Boolean({ description: 'Whether the day adds up' }),
  currency,
  line: Type.String({
    description: 'opening, closing, or the purpose of the postings; pushed or pulled for orders at a processor',
  }),
  postings: nullable(Type.Integer({ description: 'Number of postings; null in other lines' })),
  ...sumFieldsOrNull(LINE, 'lines of orders'),
  connector_id: textOrNull('The connector of the orders; null in other lines'),
  ...sumFieldsOrNull({ ...ORDERS, fees: FEES }, 'other lines'),
});

/** A day of a card program, from its first millisecond to its last in the time zone of the program. */
export const DayRecord = Type.Object({
  program_id: programId,
  day: day('The day, such as 2026-01-31'),
  time_zone: Type.String({ description: 'Time zone of the card program. The day begins and ends in this time zone' }),
  begins_at: moment('When the day begins'),
  ends_at: moment('When the next day begins'),
  status: STATUS,
  adds_up: Type.Boolean({
    description:
      'Whether funding, suspense, losses and the outside world each end with their opening balance plus the postings of the day, ' +
      'and begin with the closing balances of the previous day, if that day is closed. `verify-books` checks each card',
  }),
  currencies: Type.Array(
    Type.Object({
      currency,
      opening: described(DayBalances, 'The balances when the day began'),
      movements: Type.Array(DayMovement, {
        description:
          'The postings of the day, by purpose. Transfers between cards, and their reversals, change no sum and are left out',
      }),
      closing: described(DayBalances, 'The balances when the day ended'),
      adds_up: Type.Boolean({ description: 'Whether the currency adds up' }),
    }),
    { description: 'The money, by currency; empty if the card program had none' },
  ),
  settlements: Type.Array(
    Type.Object({
      connector_id: Type.String({ description: 'The connector of the processor' }),
      currency,
      pushed: described(DayOrders, 'Orders of money to cards'),
      pulled: described(DayOrders, 'Orders of money from cards'),
    }),
    {
      description:
        'The approved orders at processors that no settlement file has yet, for connectors that have sent a file. Orders from before the ' +
        'first file count only if a file has them. Late approvals do not count, because they have breaks',
    },
  ),
  open_breaks: Type.Integer({
    description:
      'Number of differences between processors and the books that are open now, or were when the day was closed. Differences whose card program is not known do not count',
  }),
  last_closed_day: nullable(day('The last day before this one that was closed; null if there is none')),
  closed_at: nullable(moment('When it was closed; null if it is not')),
  closed_by: textOrNull('Who closed it: id of the API key or the person, or `sandbox`; null if it is not closed'),
  note: textOrNull('What they checked; null if it is not closed, and in events'),
});

export const CloseDayBody = Type.Object({
  day: pastDay(60, 'The day to close, such as 2026-01-31. It must be over in the time zone of the card program'),
  note: freeText(
    MAX_NOTE_CHARACTERS,
    'What you checked; kept forever, without card numbers and keys. Do not name a card holder',
  ),
});

const dayQuery = Type.Optional(
  pastDay(0, "The day, such as 2026-01-31; yesterday in the card program's time zone if omitted"),
);

const PATH = '/api/v0.1/operator/program/{program_id}/day';
const NOTE = 'Compared with the statement of the bank, their ticket 4711.';

const OPENING = { funding: 5_000_000, cards: 0, suspense: 0, loss: 0 } as const;
export const EXAMPLE_DAY = {
  day: '2026-01-30',
  begins_at: '2026-01-30T00:00:00.000Z',
  ends_at: '2026-01-31T00:00:00.000Z',
  status: 'closed',
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
  settlements: [
    {
      connector_id: 'increase',
      currency: 'USD',
      pushed: { opening: 70_000, approved: 1000, settled: 60_000, resolved: 0, closing: 11_000, fees: 600 },
      pulled: { opening: 0, approved: 0, settled: 0, resolved: 0, closing: 0, fees: 0 },
    },
  ],
  open_breaks: 0,
  last_closed_day: '2026-01-29',
  closed_at: EXAMPLE_LATER,
  closed_by: 'key_0196f5c2d9a37d11b6e4f2a90c8d5e72',
  note: NOTE,
} as const;

export const DAYS = [
  operation({
    id: 'get_day',
    method: 'GET',
    path: PATH,
    summary: "Get the report of a card program's day: balances, movements, and whether they add up",
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ day: dayQuery }),
    reply: DayRecord,
    errors: ['program_not_found'],
    failure: 'The day could not be read',
    example: { reply: EXAMPLE_DAY },
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
    example: {
      reply: {
        ...{
          day: EXAMPLE_DAY.day,
          status: EXAMPLE_DAY.status,
          adds_up: true,
          line: 'opening',
          postings: null,
          ...OPENING,
        },
        ...{ connector_id: null, opening: null, approved: null, settled: null, resolved: null, closing: null },
        fees: null,
      },
    },
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
    example: { body: { day: EXAMPLE_DAY.day, note: NOTE }, reply: EXAMPLE_DAY },
  }),
] as const;

export type DayRecord = Static<typeof DayRecord>;
