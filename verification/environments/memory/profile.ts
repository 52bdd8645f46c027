import type { DirectionLimits, Limits } from '../../../domain/ledger/limits.ts';
import { Random } from '../../../test/harness/random.ts';
import { aheadInSeconds, DAY, HOUR, type Kind, type Workload, weighed } from '../../generators/commands.ts';
import { SCALE } from '../../generators/openings.ts';
import { nextPeriodAfter } from '../../model/calendar.ts';
import { drawProcessor, type ProcessorProfile } from './processor-profile.ts';
import type { ProgramLimits } from './world.ts';

/** The subjects of requests, in addition to transfers, cards and webhooks. */
export type Subjects = {
  /** Whether holds end and transfers are scheduled. */
  readonly due: boolean;
  readonly limits: boolean;
  readonly programs: boolean;
  readonly switch: boolean;
};

export const EVERY_SUBJECT: Subjects = { due: true, limits: true, programs: true, switch: true };

/** Draws the requests of a schedule. Each kind appears in proportion to its weight. With `asksAll`, no kind is left out. */
export function drawWorkload(
  random: Random,
  { due, limits, programs, switch: throwsSwitch }: Subjects,
  { asksAll = false, findResolvable }: Pick<Workload, 'findResolvable'> & { readonly asksAll?: boolean } = {},
): Workload {
  const hasProcessor = findResolvable !== undefined;
  const chance = (from: number): number => (asksAll || random.chance(0.6) ? random.below(from) + 1 : 0);
  const weights: readonly (readonly [Kind, number])[] = [
    ['create', 4],
    ['capture', chance(4)],
    ['cancel', chance(3)],
    ['reverse', chance(3)],
    ['update_transfer', chance(5)],
    ['update_card', chance(2)],
    ['limit_card', limits ? 1 : 0],
    ['update_program', limits || programs ? 2 : 0],
    ['deposit', programs ? 1 : 0],
    ['withdraw', programs ? 2 : 0],
    ['change_switch', throwsSwitch ? 3 : 0],
    ['resolve', hasProcessor ? 2 : 0],
  ];
  // Few requests are about webhooks, and in many schedules none.
  const ofWebhooks = [
    'create_webhook',
    'update_webhook',
    'update_webhook',
    'update_webhook',
    'delete_webhook',
  ] as const;
  const ofLimits = ['limit', 'cardLimit', 'limit', 'cardLimit'] as const;
  const ofPrograms = ['name', 'threshold', 'name', 'threshold'] as const;
  const kinds = weights.flatMap(([kind, weight]) => new Array<Kind>(weight).fill(kind));
  return {
    kinds: [...kinds, ...(asksAll || random.chance(0.4) ? ofWebhooks : [])],
    members: [...(limits ? ofLimits : []), ...(programs ? ofPrograms : [])],
    // A processor cannot hold money until a caller captures it, so with a processor fewer transfers are manual.
    ...{ scale: 1, manual: hasProcessor ? 0.15 : 0.5, namesMovements: true, findResolvable },
    times: due ? { scheduled: 0.4, ending: 0.6, ahead: aheadInSeconds } : null,
  };
}

/** The commands of a story. Times are hours and days ahead. */
export const STORY: Workload = {
  kinds: weighed({
    ...{ create: 30, capture: 24, cancel: 4, reverse: 11, update_transfer: 1, wait_until: 22 },
    ...{ update_card: 12, limit_card: 12, update_program: 3, change_switch: 2, deposit: 3 },
  }),
  ...{ scale: SCALE, manual: 0.5, members: ['limit', 'cardLimit'], namesMovements: false },
  times: {
    scheduled: 0.25,
    ending: 0.5,
    ahead: (random) => {
      if (random.chance(0.05)) return random.pick([-1, 0, 1, 90 * DAY, 90 * DAY + 1, 366 * DAY, 366 * DAY + 1]);
      return (1 + random.below(3 * 24)) * HOUR;
    },
  },
};

/** The parameters of a schedule, drawn from its seed. Some schedules have many faults, and some have none. */
export type Profile = {
  readonly processes: number;
  readonly wishes: number;
  /** The chance of each fault at each step. */
  readonly cuts: number;
  readonly freezes: number;
  readonly deaths: number;
  /** The chance that time advances while other steps are possible. */
  readonly hurry: number;
  /** Whether events are delivered to webhooks. */
  readonly delivers: boolean;
  /** The chance at each step that a lease of a shard is taken away. */
  readonly expiries: number;
  /** The chance that a receiver fails. */
  readonly failing: number;
  /**
   * Whether this is a story, which is a long scenario: one process carries out one request after another without faults. The
   * clock moves by hours and days in between, and each request suits the state.
   */
  readonly isStory: boolean;
  /** Whether callers mostly wait for each other's responses. */
  readonly isPatient: boolean;
  /** The chance that a listener of the lane throws. */
  readonly throws: number;
  /** The longest pause between two requests, in milliseconds. Zero in most schedules. */
  readonly pace: number;
  /** The subjects of requests, in addition to transfers, cards and webhooks. */
  readonly subjects: Subjects;
  /** The processor of some cards. Undefined in most schedules. */
  readonly processor: ProcessorProfile | undefined;
};

/** The days on which schedules begin. Most are the last days of a week or a month. */
export const EVES = ['2026-01-14', '2026-03-01', '2026-06-30', '2026-05-31'] as const;

/** A time shortly before the end of a day in a time zone. */
export function endOf(day: string, zone: string): number {
  return nextPeriodAfter(Date.parse(`${day}T05:00:00Z`), 'day', zone) - 1_200;
}

function drawSubjects(random: Random): Subjects & Pick<Profile, 'pace'> {
  const drawn = {
    due: random.chance(0.35),
    limits: random.chance(0.3),
    programs: random.chance(0.25),
    switch: random.chance(0.25),
  };
  const isAboutTime = drawn.due || drawn.limits || drawn.switch;
  return { ...drawn, pace: isAboutTime && random.chance(0.6) ? MAX_PACE_MILLISECONDS : 0 };
}

/**
 * The longest pause between two requests in schedules about time, in milliseconds. The requests then take a few
 * seconds. During this time, transfers become due and a day ends.
 */
const MAX_PACE_MILLISECONDS = 250;

/** The initial limits of programs in schedules about limits. A few transfers use them up. */
export const LIMITS: readonly ProgramLimits[] = [
  { limits: null, cardLimits: limits({ daily_amount: 40n, weekly_count: 4n }, { daily_count: 2n }) },
  { limits: limits({ daily_amount: 60n }, { daily_count: 3n }), cardLimits: limits({}, {}, 55n) },
  { limits: limits({ weekly_amount: 80n, daily_count: 4n }, {}), cardLimits: limits({ daily_count: 2n }, {}, 60n) },
  { limits: limits({}, { monthly_amount: 50n }), cardLimits: limits({}, { daily_amount: 25n, monthly_count: 4n }) },
];

function limits(incoming: DirectionLimits, out: DirectionLimits, maximumBalance: bigint | null = null): Limits {
  return { in: incoming, out, maximumBalance };
}

/** The share of schedules with a processor. They take longer than the others. */
const WITH_PROCESSOR = 0.1;

/** The longest pause between two requests with a processor. Some requests then arrive while attempts are unknown. */
const MAX_PACE_WITH_PROCESSOR = 8_000;

/** A schedule with a processor has few processes and requests, and no webhooks. */
function withProcessor(profile: Profile, processor: ProcessorProfile | undefined, random: Random): Profile {
  if (processor === undefined) return profile;
  const few = { processes: 1 + random.below(2), wishes: 2 + random.below(7), delivers: false };
  return { ...profile, ...few, processor, pace: random.chance(0.5) ? MAX_PACE_WITH_PROCESSOR : profile.pace };
}

function draw(random: Random, { pace, ...subjects }: ReturnType<typeof drawSubjects>): Profile {
  const rate = (chance: number, most: number): number =>
    random.chance(chance) ? random.below(1000) * most * 0.001 : 0;
  return {
    processes: 1 + random.below(3),
    wishes: 4 + random.below(20),
    cuts: rate(0.5, 0.02),
    freezes: rate(0.2, 0.004),
    deaths: rate(0.3, 0.004),
    hurry: rate(0.7, 0.05),
    delivers: random.chance(0.4),
    expiries: rate(0.5, 0.01),
    isPatient: random.chance(0.3),
    throws: rate(0.3, 0.5),
    failing: rate(0.5, 0.4),
    ...{ pace, subjects, isStory: false, processor: undefined },
  };
}

/** The share of schedules that are stories. */
const STORIES = 0.2;

/** Whether a schedule must be of a certain kind. */
export type Forced = { readonly hasProcessor?: boolean; readonly isStory?: boolean };

/** Draws the parameters of a schedule. The steps continue with `random`. */
export function drawProfile(seed: number, random: Random, { hasProcessor = false, isStory = false }: Forced): Profile {
  const own = new Random(seed, 8);
  if (isStory || (!hasProcessor && new Random(seed, 61).chance(STORIES))) {
    const wishes = 5 + random.below(random.chance(0.25) ? 16 : 36);
    const calm = { processes: 1, cuts: 0, freezes: 0, deaths: 0, hurry: 0, delivers: false, expiries: 0, failing: 0 };
    const story = { isStory: true, isPatient: false, throws: 0, processor: undefined };
    return { ...calm, ...story, wishes, pace: random.pick([1, 100, 500]), subjects: EVERY_SUBJECT };
  }
  // With this series of random numbers, no seed of `verification/mutants/simulation/` gets a processor. A processor would change
  // the schedules of these seeds.
  const isDrawn = new Random(seed, 59).chance(WITH_PROCESSOR);
  const processor = drawProcessor(own, hasProcessor || isDrawn ? 1 : 0);
  return withProcessor(draw(random, drawSubjects(new Random(seed, 6))), processor, own);
}
