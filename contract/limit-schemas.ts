import { type Static, Type } from 'typebox';
import { LIMIT_NAMES, type LimitName } from '../domain/ledger/limits.ts';
import { MAXIMUM_BALANCE } from '../domain/ledger/money.ts';
import { Amount, literals, moment, removable } from './schema-parts.ts';

const AMOUNT_MOST = 999_999_999_999;

const DESCRIPTIONS: Readonly<Record<LimitName, string>> = {
  minimum_amount: 'The least that one transfer may be, in minor units',
  maximum_amount: 'The most that one transfer may be, in minor units',
  daily_amount: 'What the transfers of a day may come to, in minor units',
  daily_count: 'How many transfers a day may have',
  weekly_amount: 'What the transfers of a week may come to, in minor units; weeks begin on Monday',
  weekly_count: 'How many transfers a week may have',
  monthly_amount: 'What the transfers of a month may come to, in minor units',
  monthly_count: 'How many transfers a month may have',
};

const PATCH_OF_LIMITS =
  'Limits to change: a number sets one, null lifts it (or all of in, of out), what is omitted stays';

const value = (name: LimitName) => Type.Integer({ minimum: 0, maximum: AMOUNT_MOST, description: DESCRIPTIONS[name] });
const bound = (name: LimitName) => Type.Optional(value(name));
const changed = (name: LimitName) => Type.Optional(removable(value(name)));

/** The limits of one direction; days begin in the time zone of the program. What is left out is not limited. */
export const DirectionLimits = Type.Object(
  {
    minimum_amount: bound('minimum_amount'),
    maximum_amount: bound('maximum_amount'),
    daily_amount: bound('daily_amount'),
    daily_count: bound('daily_count'),
    weekly_amount: bound('weekly_amount'),
    weekly_count: bound('weekly_count'),
    monthly_amount: bound('monthly_amount'),
    monthly_count: bound('monthly_count'),
  },
  { additionalProperties: false },
);

/** A change of the limits of one direction: a number sets a limit, null lifts it, and what is omitted stays. */
export const DirectionLimitsPatch = Type.Object(
  {
    minimum_amount: changed('minimum_amount'),
    maximum_amount: changed('maximum_amount'),
    daily_amount: changed('daily_amount'),
    daily_count: changed('daily_count'),
    weekly_amount: changed('weekly_amount'),
    weekly_count: changed('weekly_count'),
    monthly_amount: changed('monthly_amount'),
    monthly_count: changed('monthly_count'),
  },
  { additionalProperties: false },
);

const maximumBalance = Type.Integer({
  minimum: 0,
  maximum: Number(MAXIMUM_BALANCE),
  description: 'The most that a card may hold, pending incoming money included, in minor units',
});

/** The limits of a card, or of each card of a program. */
export const CardLimits = Type.Object(
  {
    in: Type.Optional(DirectionLimits),
    out: Type.Optional(DirectionLimits),
    maximum_balance: Type.Optional(maximumBalance),
  },
  { additionalProperties: false, description: 'Limits; what is omitted is not limited' },
);

/** A change of the limits of a card, or of each card of a program (RFC 7396). */
export const CardLimitsPatch = Type.Object(
  {
    in: Type.Optional(removable(DirectionLimitsPatch)),
    out: Type.Optional(removable(DirectionLimitsPatch)),
    maximum_balance: Type.Optional(removable(maximumBalance)),
  },
  { additionalProperties: false, description: PATCH_OF_LIMITS },
);

/** The limits of a program as a whole: what its loads (in) and its unloads (out) come to together. */
export const ProgramLimits = Type.Object(
  { in: Type.Optional(DirectionLimits), out: Type.Optional(DirectionLimits) },
  { additionalProperties: false, description: 'Limits; what is omitted is not limited' },
);

/** A change of the limits of a program as a whole (RFC 7396). */
export const ProgramLimitsPatch = Type.Object(
  {
    in: Type.Optional(removable(DirectionLimitsPatch)),
    out: Type.Optional(removable(DirectionLimitsPatch)),
  },
  { additionalProperties: false, description: PATCH_OF_LIMITS },
);

const whole = (description: string) => Type.Integer({ description });

/** One limit, how much of it was used and when it frees. */
const LimitState = Type.Object({
  name: literals(Object.keys(LIMIT_NAMES) as LimitName[], 'Which limit'),
  set_by: literals(
    ['card', 'program_card', 'program'],
    'card: the card itself; program_card: the program, for each card; program: the program, for all cards together',
  ),
  value: whole('The limit: minor units, or a number of transfers'),
  used: Type.Union([whole('What was used of it in the running period'), Type.Null()]),
  left: Type.Union([whole('What is left of it in the running period'), Type.Null()]),
  frees_at: Type.Union([moment('When the next period begins'), Type.Null()]),
});

/** What a card could do in one direction at this moment. */
const DirectionState = Type.Object({
  allowed: Type.Boolean({ description: 'Whether the state of the card lets money through this way' }),
  code: Type.Union([Type.String({ description: 'Code of the refusal when it does not' }), Type.Null()]),
  most: Amount('The most that one transfer between funding and the card could be now; 0 for none'),
  least: Amount('The least that one transfer may be'),
  limits: Type.Array(LimitState, { description: 'Every limit that applies, with what was used of it' }),
});

/** What get_card_limits answers: what this card could do now. */
export const CardLimitsRecord = Type.Object({
  card_id: Type.String({ description: 'The card' }),
  program_id: Type.String({ description: 'Its card program' }),
  currency: Type.String({ description: 'ISO 4217 code' }),
  balance: Amount('What is on the card'),
  available: Amount('What of it can be spent'),
  incoming: Amount('What is on hold for it'),
  in: DirectionState,
  out: DirectionState,
  maximum_balance: Type.Union([
    Type.Object({
      value: Amount('The most that the card may hold'),
      set_by: literals(['card', 'program_card'], 'card: the card itself; program_card: the program, for each card'),
      left: Amount('What may still come'),
    }),
    Type.Null(),
  ]),
  evaluated_at: moment('When'),
});

/** Limits of a card after reading, and on the wire. */
export type CardLimits = Static<typeof CardLimits>;
/** A change of the limits of one direction after reading. */
export type DirectionLimitsPatch = Static<typeof DirectionLimitsPatch>;
/** A change of the limits of a card after reading. */
export type CardLimitsPatch = Static<typeof CardLimitsPatch>;
/** A change of the limits of a program after reading. */
export type ProgramLimitsPatch = Static<typeof ProgramLimitsPatch>;
/** Limits of a program after reading, and on the wire. */
export type ProgramLimits = Static<typeof ProgramLimits>;
/** What a card could do now, on the wire. */
export type CardLimitsRecord = Static<typeof CardLimitsRecord>;
