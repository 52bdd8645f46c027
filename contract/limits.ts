import { type Static, Type } from 'typebox';
import { LIMIT_NAMES, type LimitName } from '../domain/ledger/limits.ts';
import { MAXIMUM_BALANCE } from '../domain/ledger/money.ts';
import {
  Amount,
  amountFrom,
  currency,
  described,
  describedOrNull,
  literals,
  moment,
  nullable,
  programId,
  sumOrNull,
} from './schema-parts.ts';

const DESCRIPTIONS: Readonly<Record<LimitName, string>> = {
  minimum_amount: 'Minimum amount of one transfer, in minor units',
  maximum_amount: 'Maximum amount of one transfer, in minor units',
  daily_amount: 'Maximum total amount per day, in minor units',
  daily_count: 'Maximum number of transfers per day',
  weekly_amount: 'Maximum total amount per week, in minor units; weeks begin on Monday',
  weekly_count: 'Maximum number of transfers per week',
  monthly_amount: 'Maximum total amount per month, in minor units',
  monthly_count: 'Maximum number of transfers per month',
};

const PATCH_OF_LIMITS =
  'Limits to change: a number sets a limit, null removes it (or all limits of in or out), omitted limits keep their values';

const value = (name: LimitName) => amountFrom(0, DESCRIPTIONS[name]);
const bound = (name: LimitName) => Type.Optional(value(name));
const changed = (name: LimitName) => Type.Optional(nullable(value(name)));

const NAMES = Object.keys(LIMIT_NAMES) as readonly LimitName[];

const forEachName = <Field>(make: (name: LimitName) => Field) =>
  Object.fromEntries(NAMES.map((name) => [name, make(name)])) as { [Name in LimitName]: Field };

/** The limits of one direction. Days begin in the time zone of the program. */
export const DirectionLimits = Type.Object(forEachName(bound), {
  additionalProperties: false,
  description:
    'Limits of one direction: in for money that is received, out for money that is sent. An omitted limit does not apply',
});

/** A change of the limits of one direction (RFC 7396). */
export const DirectionLimitsPatch = Type.Object(forEachName(changed), {
  additionalProperties: false,
  description:
    'Limits of one direction to change: in for money that is received, out for money that is sent; null removes them all',
});

const maximumBalance = Type.Integer({
  minimum: 0,
  maximum: Number(MAXIMUM_BALANCE),
  description: 'Maximum balance of a card, including pending incoming money, in minor units',
});

const BOTH = { in: Type.Optional(DirectionLimits), out: Type.Optional(DirectionLimits) };
const BOTH_CHANGED = {
  in: Type.Optional(nullable(DirectionLimitsPatch)),
  out: Type.Optional(nullable(DirectionLimitsPatch)),
};

export const CardLimits = Type.Object(
  { ...BOTH, maximum_balance: Type.Optional(maximumBalance) },
  { additionalProperties: false, description: 'Limits; an omitted limit does not apply' },
);

/** A change of the limits of a card, or of each card of a program (RFC 7396). */
export const CardLimitsPatch = Type.Object(
  { ...BOTH_CHANGED, maximum_balance: Type.Optional(nullable(maximumBalance)) },
  { additionalProperties: false, description: PATCH_OF_LIMITS },
);

/** The limits of a program: on the total of its loads (in) and of its unloads (out). */
export const ProgramLimits = Type.Object(BOTH, {
  additionalProperties: false,
  description: 'Limits; an omitted limit does not apply',
});

/** A change of the limits of a program (RFC 7396). */
export const ProgramLimitsPatch = Type.Object(BOTH_CHANGED, {
  additionalProperties: false,
  description: PATCH_OF_LIMITS,
});

const integerOrNull = (description: string) => nullable(Type.Integer({ description }));

/** A limit that applies to a card, and its use. */
const LimitState = Type.Object({
  name: literals(NAMES, 'Name of the limit'),
  set_by: literals(
    ['card', 'program_card', 'program'],
    'card: set on the card; program_card: set on the program, for each card; program: set on the program, for the total of its cards',
  ),
  value: Type.Integer({ description: 'The limit: minor units, or a number of transfers' }),
  used: sumOrNull(
    'Used in the current period: minor units, or a number of transfers; null for a limit of a single transfer',
  ),
  left: integerOrNull(
    'Left in the current period: minor units, or a number of transfers; null for a limit of a single transfer',
  ),
  frees_at: nullable(moment('When the next period begins, with nothing used; null for a limit of a single transfer')),
});

/** What a card can send or receive now. */
const DirectionState = Type.Object({
  allowed: Type.Boolean({ description: "Whether the card's status allows transfers in this direction" }),
  code: nullable(
    Type.String({ description: 'Error code of a transfer in this direction; null if the status allows it' }),
  ),
  most: Amount('Maximum amount of one transfer between funding and the card now (0 for none)'),
  least: Amount('Minimum amount of one transfer'),
  limits: Type.Array(LimitState, { description: 'Every limit that applies, and how much of it was used' }),
});

export const CardLimitsRecord = Type.Object({
  card_id: Type.String({ description: 'The card' }),
  program_id: programId,
  currency,
  balance: Amount('Balance of the card'),
  available: Amount('Part of the balance that can be spent: the balance without what is on hold'),
  incoming: Amount('Amount on hold in other accounts for the card'),
  in: described(DirectionState, 'What the card can receive'),
  out: described(DirectionState, 'What the card can send'),
  maximum_balance: describedOrNull(
    Type.Object({
      value: Amount('Maximum balance of the card'),
      set_by: literals(
        ['card', 'program_card'],
        'card: set on the card; program_card: set on the program, for each card',
      ),
      left: Amount('Amount that the card can still receive'),
    }),
    'The maximum balance of the card; null without a limit',
  ),
  evaluated_at: moment('When the limits were evaluated'),
});

export type CardLimits = Static<typeof CardLimits>;
export type DirectionLimitsPatch = Static<typeof DirectionLimitsPatch>;
export type CardLimitsPatch = Static<typeof CardLimitsPatch>;
export type ProgramLimitsPatch = Static<typeof ProgramLimitsPatch>;
export type ProgramLimits = Static<typeof ProgramLimits>;
export type CardLimitsRecord = Static<typeof CardLimitsRecord>;
