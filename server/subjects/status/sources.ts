import type { ReadinessReason } from '../../../domain/readiness.ts';
import type { DatabaseState, DeliveryState } from '../../../domain/service-status.ts';
import type { UsedHost } from '../../store/connection/hosts/hosts.ts';

/** What the process knows of itself, without asking the database. */
export type StatusSources = {
  readonly version: string;
  readonly mode: 'sandbox' | 'live';
  readonly readiness: {
    readonly find: () => Promise<ReadinessReason>;
    readonly latest: () => { readonly reason: ReadinessReason; readonly since: Date };
  };
  /** The state of the embedded server according to its supervisor; undefined for an external server. */
  readonly embedded: (() => Exclude<DatabaseState, 'up' | 'silent'> | 'running') | undefined;
  /** The host of DATABASE_URL that is used; undefined for the embedded PostgreSQL. */
  readonly host: () => UsedHost | undefined;
  /** The maximum number of connections, those in use, idle ones, and the requests that wait for one. */
  readonly connections: () => {
    readonly max: number;
    readonly inUse: number;
    readonly idle: number;
    readonly waiting: number;
  };
  readonly delivery: () => DeliveryState;
  /** The backups of the embedded database; undefined if the service takes none. */
  readonly backups:
    | (() => { readonly lastCopyAt: Date | undefined; readonly coveredUntil: Date | undefined })
    | undefined;
  /** The size of the error spool, and how many errors could not be recorded. */
  readonly errors: () => { readonly spoolBytes: number; readonly maxSpoolBytes: number; readonly dropped: number };
};
