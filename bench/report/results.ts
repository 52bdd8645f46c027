import type { Options } from '../command-line.ts';
import type { Concurrency } from '../concurrency.ts';
import type { Machine } from '../machine.ts';
import type { Outcome } from '../outcome.ts';
import type { Profile } from '../profile.ts';
import type { HalfRateLatencies } from '../targets/half-rate.ts';
import type { StoredLedger } from '../targets/stored-ledger.ts';

/** All that a run of the bench found, as latest.json has it. */
export type Results = {
  readonly measuredOn: string;
  readonly form: 'full' | 'quick' | 'partial';
  readonly options: Omit<Options, 'out'>;
  readonly machine: Machine;
  readonly tools: { readonly pgbench: string | null; readonly wrk: string | null };
  /** Settings of PostgreSQL, the same for all that is compared. */
  readonly settings: Readonly<Record<string, string>>;
  readonly outcomes: readonly Outcome[];
  readonly leftOut: readonly string[];
  /** Parts that failed, with the reason: a request that was refused, books that do not balance. */
  readonly failed: readonly string[];
  readonly latencies: HalfRateLatencies | null;
  readonly stored: StoredLedger | null;
  readonly concurrency: Concurrency | null;
  readonly profile: Profile | null;
  readonly elapsed_s: number;
};
