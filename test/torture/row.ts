import type { Resources } from '../../bench/resources.ts';
import { Random } from '../harness/random.ts';

/** How much of a row is run. */
export type Scale = 'small' | 'middle' | 'large';

/** The context of a row. */
export type Setting = {
  readonly seed: number;
  /** How often: kills, cuts, faults, reads … */
  readonly count: number;
  /** Everything started or made, to be ended and removed, also after Ctrl-C. */
  readonly resources: Resources;
  /** Shows the progress. */
  readonly progress: (done: number, remark?: string) => void;
  /** A program in place of the service: the mutant of the negative control. */
  readonly main: string | undefined;
  /** Whether a row with a control of its own is to lose what it promises to keep. */
  readonly isControl?: boolean;
  /** Whether loads and pauses are shortened, for a quick form. */
  readonly inHaste?: boolean;
};

/**
 * The bound of a time or a count, given that for an idle machine. The small forms run beside other tests, on any machine:
 * there the bound only distinguishes slow from never.
 */
export function boundOf({ inHaste }: Setting, onQuietMachine: number): number {
  return inHaste === true ? 12 * onQuietMachine : onQuietMachine;
}

/** The result of a row. */
export type Findings = {
  readonly figures: Readonly<Record<string, number | string>>;
  /** A sentence for each violation. */
  readonly violations: readonly string[];
  /** Why it could not run on this machine; never because of its findings. */
  readonly notRun?: string;
};

/** A row of the table in docs/reliability.md. */
export type Row = {
  readonly name: string;
  /** The unit of `count`. */
  readonly unit: string;
  readonly counts: Readonly<Record<Scale, number>>;
  /** Whether `isControl` makes it lose transfers; other rows are run against a service that lies. */
  readonly hasOwnControl?: boolean;
  readonly run: (setting: Setting) => Promise<Findings>;
};

/** The maximum of stored violations: a thousand are no more useful. */
const ENOUGH = 50;

/** Collects the findings of a running row. */
export class Tally {
  readonly violations: string[] = [];
  readonly #counts = new Map<string, number>();
  readonly #times = new Map<string, number[]>();

  add(what: string, count = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
  }

  /** One measured time, in milliseconds. */
  time(what: string, milliseconds: number): void {
    this.#times.set(what, [...(this.#times.get(what) ?? []), milliseconds]);
  }

  violate(where: string, problems: readonly string[]): void {
    this.add('violations', problems.length);
    for (const problem of problems.slice(0, ENOUGH - this.violations.length)) {
      this.violations.push(`${where}: ${problem}`);
    }
  }

  /** Adds the findings of a part of the row. */
  take(part: Tally): void {
    for (const [what, count] of part.#counts) this.add(what, count);
    for (const [what, times] of part.#times) this.#times.set(what, [...(this.#times.get(what) ?? []), ...times]);
    this.violations.push(...part.violations.slice(0, ENOUGH - this.violations.length));
  }

  get isEnough(): boolean {
    return this.violations.length >= ENOUGH;
  }

  count(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  /** The median, the 99th percentile and the maximum of the measured times. */
  spread(what: string): { readonly p50: number; readonly p99: number; readonly most: number } {
    const sorted = [...(this.#times.get(what) ?? [])].sort((left, right) => left - right);
    const at = (share: number): number => Math.round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0);
    return { p50: at(0.5), p99: at(0.99), most: at(1) };
  }

  /** Everything that was counted and measured; times in milliseconds. */
  figures(): Record<string, number> {
    const figures: Record<string, number> = Object.fromEntries(this.#counts);
    for (const what of this.#times.keys()) {
      const { p50, p99, most } = this.spread(what);
      Object.assign(figures, {
        [`${what}_p50_milliseconds`]: p50,
        [`${what}_p99_milliseconds`]: p99,
        [`${what}_max_milliseconds`]: most,
      });
    }
    return figures;
  }
}

/** A stream of pseudorandom numbers in [0, 1), the same for the same path. */
export function streamOf(...path: readonly number[]): () => number {
  const random = new Random(...path);
  return () => random.below(0x4000_0000) / 0x4000_0000;
}

/** Waits for some milliseconds. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, milliseconds));
}
