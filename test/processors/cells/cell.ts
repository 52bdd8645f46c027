import { CONNECTORS, type Way } from '../stage.ts';
import type { End, Trial } from '../trial.ts';

/** What becomes of an attempt, from the request for its transfer to the money that the processor hands over. */
export const STEPS = [
  'commit',
  'claim',
  'connect',
  'write',
  'execute',
  'read',
  'record',
  'notice',
  'inquire',
  'reverse',
  'settle',
] as const;

/** What goes wrong. */
export const FAULTS = [
  'kill service',
  'kill PostgreSQL',
  'cut',
  'silence',
  'slow',
  'twice',
  'reordered',
  'malformed',
  'wrong amount',
  'clock',
] as const;

export type Step = (typeof STEPS)[number];
export type Fault = (typeof FAULTS)[number];

/** A step and what goes wrong there. */
export type Pair = `${Step}: ${Fault}`;

/** What happens to the service, or to its connections to the database, while the transfers of a cell are at a step. */
export const INCIDENTS = [
  'kill service',
  'kill PostgreSQL',
  'clock',
  'connections cut',
  'connections silent',
  'connections slow',
  'second service',
] as const;

export type Incident = (typeof INCIDENTS)[number];

/** Steps of an attempt, and what goes wrong there: a load and an unload that end well all the same. */
export type Cell = {
  readonly name: string;
  /** The places of the matrix that it fills. */
  readonly pairs: readonly Pair[];
  readonly way: Way;
  /** The true ends: two where the machine decides which comes first. */
  readonly ends: readonly End[];
  /** Without it, what the processor or the way to it does is the fault. */
  readonly incident?: Incident;
  /** Whether the incident comes while the service waits at a gate where no transfer passes. */
  readonly isAtGate?: boolean;
  /** Brings the transfers to the step, or as far as other transfers may still be made. */
  readonly arrive: (trial: Trial) => Promise<void>;
  /** Brings them on to the step when those of other cells have arrived, because they hold up all transfers there. */
  readonly approach?: (trial: Trial) => Promise<void>;
  /** What happens after the fault. */
  readonly after?: (trial: Trial) => Promise<void>;
};

/** Incidents that need the connection to the database to go through the test. */
const WIRED: readonly (Incident | undefined)[] = [
  'connections cut',
  'connections silent',
  'connections slow',
  'second service',
];

/** Whether a cell needs a stage whose connections go through the test. */
export function isWired({ way, incident }: Cell): boolean {
  return way === 'lined' || way === 'stopped' || WIRED.includes(incident);
}

/** Cells that may be beside each other, because they have the same incident while the service waits for the same. */
export type Group = {
  readonly name: string;
  readonly isWired: boolean;
  readonly cells: readonly Cell[];
};

/** All groups of some cells. */
export function groupsOf(cells: readonly Cell[]): readonly Group[] {
  const groups = new Map<string, { readonly name: string; readonly isWired: boolean; readonly cells: Cell[] }>();
  for (const cell of cells) {
    const step = cell.isAtGate === true ? 'while something is written' : 'on the way to the processor';
    const name = `${cell.incident ?? 'no incident'} ${step}${isWired(cell) ? ', wired' : ''}`;
    const group = groups.get(name) ?? { name, isWired: isWired(cell), cells: [] };
    groups.set(name, group);
    group.cells.push(cell);
  }
  return [...groups.values()];
}

/** Whether cells can be beside each other without sharing a connector. */
export function fits(cells: readonly Cell[], isWired: boolean): boolean {
  const counts = CONNECTORS[isWired ? 'wired' : 'embedded'];
  const ways = Object.keys(counts) as Way[];
  return ways.every((way) => cells.filter((cell) => cell.way === way).length <= counts[way]);
}
