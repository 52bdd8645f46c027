import type { EventFigures } from '../events.ts';
import { short, whole } from '../figures.ts';
import type { Outcome } from '../outcome.ts';

/** What the relay must manage, and how old an event may be when its reader has it. */
const MIN_PER_SECOND = 20_000;
const MAX_LAG_MILLISECONDS = 200;

/** What all callers together can pull: as much as the relay gives. */
const MIN_PULLED_PER_SECOND = 20_000;

/** Row 16, which has two targets: the relay between two writers and eight readers. */
export function relayRows({
  count,
  ratePerSecond,
  medianMilliseconds,
  lagMilliseconds,
}: EventFigures): readonly Outcome[] {
  const row = { row: 16, unit: '', aim: null, runs: {} } as const;
  return [
    {
      ...row,
      title: 'events a second through the relay, from two writers to eight readers',
      measured: `${whole(ratePerSecond)}/s`,
      against: `${whole(MIN_PER_SECOND)}/s`,
      value: ratePerSecond / MIN_PER_SECOND,
      target: { at: 'least', value: 1 },
      notes: [`${whole(count)} events: none missed, none twice, none out of place.`],
    },
    {
      ...row,
      title: 'from the creation of an event to its reader, 99th percentile',
      measured: `${whole(lagMilliseconds)} ms`,
      against: `${MAX_LAG_MILLISECONDS} ms`,
      value: lagMilliseconds / MAX_LAG_MILLISECONDS,
      target: { at: 'most', value: 1 },
      notes: [`The median was ${short(medianMilliseconds)} ms.`],
    },
  ];
}

/** Row 17: events that callers pull over HTTP. */
export function pullRow({ pulledPerSecond }: EventFigures): Outcome {
  return {
    row: 17,
    title: 'events a second that four callers pull over HTTP, a hundred at a time',
    measured: `${whole(pulledPerSecond)}/s`,
    against: `${whole(MIN_PULLED_PER_SECOND)}/s`,
    value: pulledPerSecond / MIN_PULLED_PER_SECOND,
    unit: '',
    target: { at: 'least', value: 1 },
    aim: null,
    runs: {},
    notes: [],
  };
}
