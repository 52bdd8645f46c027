import { type Options, runSchedule, type ScheduleResult } from './schedule.ts';
import { inSimulatedTime, realTime } from './simulated-time.ts';

/** The limits of a campaign: a number of schedules and a time. At least one schedule runs. */
export type Extent = { readonly schedules?: number; readonly milliseconds?: number };

export type Campaign = {
  readonly schedules: number;
  readonly steps: number;
  /** The first schedule that failed, with its trace. The campaign stops there. */
  readonly failed: ScheduleResult | undefined;
};

/** Runs schedules one after another, starting with a seed, until one fails. */
export function runCampaign(firstSeed: number, extent: Extent, options: Options = {}): Promise<Campaign> {
  return inSimulatedTime(() => runSchedules(firstSeed, extent, options));
}

async function runSchedules(
  firstSeed: number,
  { schedules: most = Number.POSITIVE_INFINITY, milliseconds = Number.POSITIVE_INFINITY }: Extent,
  options: Options,
): Promise<Campaign> {
  const startedAt = realTime();
  let schedules = 0;
  let steps = 0;
  while (schedules === 0 || (schedules < most && realTime() - startedAt < milliseconds)) {
    const seed = firstSeed + schedules;
    const result = await runSchedule(seed, options);
    schedules += 1;
    steps += result.steps;
    if (result.problems.length > 0) {
      return { schedules, steps, failed: await runSchedule(seed, { ...options, traced: true }) };
    }
  }
  return { schedules, steps, failed: undefined };
}

/** The report of a failed schedule: its problems, its trace, and how to run it again. */
export function describeFailure({ seed, problems, trace }: ScheduleResult): string {
  return [
    ...trace,
    '',
    ...problems,
    '',
    `Again: node tools/run.mjs verification/environments/memory/main.ts --schedules 1 --seed ${seed}`,
  ].join('\n');
}
