import type { Options } from '../command-line.ts';
import type { Settings } from '../ledger/server.ts';
import type { Machine } from '../machine.ts';
import type { Outcome } from '../outcome.ts';
import type { Profile } from '../profile.ts';
import type { StoredLedger } from '../rows/stored-ledger.ts';

/** All results of a run of the bench, in the format of latest.json. */
export type Results = {
  readonly measuredOn: string;
  readonly form: 'full' | 'quick' | 'partial';
  readonly options: Omit<Options, 'out'>;
  readonly machine: Machine;
  readonly pgbench: string | null;
  /** Settings of the embedded PostgreSQL and of the distribution's own. */
  readonly settings: Settings;
  readonly ownSettings: Settings | null;
  readonly outcomes: readonly Outcome[];
  readonly omitted: readonly string[];
  /** Parts that failed, with the reason, such as a refused request or books that do not balance. */
  readonly failed: readonly string[];
  readonly stored: Pick<StoredLedger, 'reads'> | null;
  readonly profile: Profile | null;
  readonly elapsedSeconds: number;
};
