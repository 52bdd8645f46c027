import type { Resources } from '../bench/resources.ts';
import { Random } from '../test/harness/random.ts';
import type { MutantOfCommits } from './mutants/mutants.ts';

/** Whether commits on the primary wait for the standby. If not, a failover can lose acknowledged transfers. */
export type Replication = 'synchronous' | 'asynchronous';

export type Scale = 'small' | 'medium' | 'large';

/** The settings and tools for a run of a campaign. */
export type Setting = {
  readonly seed: number;
  /** The number of kills, cuts, faults, reads and so on. */
  readonly count: number;
  /** Everything to stop and remove at the end, and after Ctrl-C. */
  readonly resources: Resources;
  readonly progress: (done: number, remark?: string) => void;
  /** The main file to run instead of the service's: the mutant of the negative control. */
  readonly main: string | undefined;
  /** `asynchronous` in a negative control that must lose transfers. */
  readonly replication?: Replication | undefined;
  /** Whether to shorten loads and pauses. */
  readonly isQuick?: boolean;
};

/**
 * Returns the bound of a time or a count, given the bound on an idle machine. The small forms run alongside other tests on any
 * machine, so their bounds are loose. They only detect work that never finishes.
 */
export function boundOf({ isQuick }: Setting, onQuietMachine: number): number {
  return isQuick === true ? 12 * onQuietMachine : onQuietMachine;
}

export type Findings = {
  readonly figures: Readonly<Record<string, number | string>>;
  /** A sentence for each violation. */
  readonly violations: readonly string[];
  /** Why the campaign could not run on this machine. */
  readonly notRun?: string;
};

/** A checker of a campaign. It is in `checkers/`, or belongs to the campaign or its environment. */
type Checker =
  | 'transfers'
  | 'snapshots'
  | 'events'
  | 'deliveries'
  | 'serial order'
  | 'responses'
  | 'approvals'
  | 'readiness'
  | 'its own';

/** A campaign's row in the table of docs/reliability.md. */
type Described = {
  readonly name: string;
  readonly environment: string;
  readonly nemesis: string;
  readonly generator: string;
  readonly proves: string;
  /** The command that also runs the small form of the campaign. Without it, the campaign is only run by hand. */
  readonly ring?: 'npm test' | 'npm run verify' | 'npm run verify -- citus';
};

/** A campaign of `npm run campaigns`. */
export type Campaign = Described & {
  readonly checkers: readonly Checker[];
  /** The count for each scale. `npm run verify` uses `inVerify` instead of `small` if each attack takes ten seconds or more. */
  readonly counts: Readonly<Record<Scale, number>> & { readonly unit: string; readonly inVerify?: number };
  /** The negative control, a mutant of the service or a kind of replication. With it, the campaign must find violations. */
  readonly control?: MutantOfCommits | 'asynchronous';
  readonly run: (setting: Setting) => Promise<Findings>;
};

/** A campaign that is a suite or a separate script. */
export type OtherCampaign = Described & { readonly checkers: string; readonly command: string };

/** The maximum number of stored violations. */
const MAX_VIOLATIONS = 50;

/** Collects the findings of a running campaign. */
export class Tally {
  readonly violations: string[] = [];
  readonly #counts = new Map<string, number>();
  readonly #times = new Map<string, number[]>();

  add(what: string, count = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
  }

  /** Adds a measured time. */
  time(what: string, milliseconds: number): void {
    this.#times.set(what, [...(this.#times.get(what) ?? []), milliseconds]);
  }

  violate(where: string, problems: readonly string[]): void {
    this.add('violations', problems.length);
    for (const problem of problems.slice(0, MAX_VIOLATIONS - this.violations.length)) {
      this.violations.push(`${where}: ${problem}`);
    }
  }

  /** Adds the findings of another tally. */
  take(part: Tally): void {
    for (const [what, count] of part.#counts) this.add(what, count);
    for (const [what, times] of part.#times) this.#times.set(what, [...(this.#times.get(what) ?? []), ...times]);
    this.violations.push(...part.violations.slice(0, MAX_VIOLATIONS - this.violations.length));
  }

  get isFull(): boolean {
    return this.violations.length >= MAX_VIOLATIONS;
  }

  count(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  spread(what: string): { readonly p50: number; readonly p99: number; readonly most: number } {
    const sorted = [...(this.#times.get(what) ?? [])].sort((left, right) => left - right);
    const at = (share: number): number => Math.round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0);
    return { p50: at(0.5), p99: at(0.99), most: at(1) };
  }

  /** Checks the p99 of a time against its bound on an idle machine, in milliseconds. */
  bound(setting: Setting, what: string, onQuietMachine: number): void {
    const [taken, most] = [this.spread(what).p99, boundOf(setting, onQuietMachine)];
    if (taken > most) this.violate('times', [`p99 of ${what} is ${taken} ms, the maximum is ${most} ms`]);
  }

  /** Returns the violations, all counts, the spread of each time in milliseconds, and `more` figures. */
  findings(more: Findings['figures']): Findings {
    return { figures: { ...more, ...this.#figures() }, violations: this.violations };
  }

  #figures(): Record<string, number> {
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

/** Returns a stream of pseudorandom numbers in [0, 1) that depends only on the path. */
export function streamOf(...path: readonly number[]): () => number {
  const random = new Random(...path);
  return () => random.below(0x4000_0000) / 0x4000_0000;
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((wake) => setTimeout(wake, milliseconds));
}
