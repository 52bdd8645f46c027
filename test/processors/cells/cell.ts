import type { Way } from '../stage.ts';
import type { End, Trial } from '../trial.ts';

/** The steps of an attempt, from the request for its transfer to the money from the processor. */
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

/** A fault at a step. */
export type Pair = `${Step}: ${Fault}`;

/** Events in the service, or on its connections to the database, that happen while a cell's transfers are at a step. */
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

/** A fault at a step of an attempt. Even so, a load and an unload must have a correct outcome. */
export type Cell = {
  readonly name: string;
  /** The pairs of the matrix that this cell covers. */
  readonly pairs: readonly Pair[];
  readonly way: Way;
  /** The correct outcomes. If the machine's speed decides the outcome, there are two. */
  readonly ends: readonly End[];
  /** If missing, the fault comes from the processor or from the connection to it. */
  readonly incident?: Incident;
  /** Whether the incident happens while the service waits at a gate that no transfer passes. */
  readonly isAtGate?: boolean;
  /** Brings the transfers to the step, or to the last point where other transfers can still be created. */
  readonly arrive: (trial: Trial) => Promise<void>;
  /**
   * Brings the transfers to the step after the transfers of other cells have arrived, because they block all transfers
   * there.
   */
  readonly approach?: (trial: Trial) => Promise<void>;
  readonly after?: (trial: Trial) => Promise<void>;
};

/** Incidents for which the connection to the database must go through the test. */
const WIRED: readonly (Incident | undefined)[] = [
  'connections cut',
  'connections silent',
  'connections slow',
  'second service',
];

/** Returns whether a cell needs a stage whose connections go through the test. */
export function isWired({ way, incident }: Cell): boolean {
  return way === 'lined' || way === 'stopped' || WIRED.includes(incident);
}

/** Cells that can run together, because they have the same incident while the service waits at the same place. */
export type Group = {
  readonly name: string;
  readonly isWired: boolean;
  readonly cells: readonly Cell[];
};

/** Returns the groups of the cells. */
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
