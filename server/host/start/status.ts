import { READINESS } from '../../../domain/service-status.ts';
import { VERSION } from '../../../installation.mjs';
import type { Configuration } from '../../foundation/configuration/configuration.ts';
import { runbookOf } from '../../foundation/runbook.ts';
import type { Log } from '../../observe/log/log.ts';
import { openReadiness, type ReadinessCheck } from '../../observe/readiness.ts';
import type { BackupJob } from '../../postgres/backup/backup-job.ts';
import { findSchemaState } from '../../store/migrations/compatibility.ts';
import { type ErrorRecorder, MAX_ERROR_SPOOL_BYTES } from '../../subjects/errors/error-recorder.ts';
import type { StatusSources } from '../../subjects/status/get-status.ts';
import type { OpenDatabase } from '../open-database.ts';

type ObservedParts = {
  readonly delivery: { readonly state: StatusSources['delivery'] };
  readonly backups: BackupJob | undefined;
  readonly readiness: ReadinessCheck;
  readonly errorLog: () => Pick<ErrorRecorder, 'figures'>;
};

export function statusOf(
  { mode }: Configuration,
  { databases, embedded, connections: { max } }: OpenDatabase,
  { readiness, delivery, backups, errorLog }: ObservedParts,
): StatusSources {
  return {
    version: VERSION,
    mode,
    readiness,
    embedded: embedded?.state,
    host: databases.host,
    connections: () => {
      const pools = databases.pools();
      const sum = (value: (pool: (typeof pools)[number]) => number): number =>
        pools.reduce((total, pool) => total + value(pool), 0);
      const inUse = sum(({ lent }) => lent);
      return { max, inUse, idle: databases.health().idle, waiting: sum(({ waiting }) => waiting) };
    },
    delivery: delivery.state,
    backups: backups?.readStatus,
    errors: () => {
      const { spoolBytes, dropped } = errorLog().figures();
      let count = 0;
      // Unauthenticated errors above their budget are dropped on purpose, so they do not count.
      for (const [reason, dropCount] of dropped) if (reason !== 'unauthenticated') count += dropCount;
      return { spoolBytes, maxSpoolBytes: MAX_ERROR_SPOOL_BYTES, dropped: count };
    },
  };
}

export function watchReadiness({ databases, embedded, connections }: OpenDatabase, log: Log): ReadinessCheck {
  return openReadiness({
    databases,
    ...(embedded === undefined ? {} : { embedded: () => (embedded.isDiskFull() ? 'disk_full' : embedded.state()) }),
    isLimited: connections.isLimited,
    findSchema: () => findSchemaState(databases.background),
    onChange: (reason, before) => {
      const { isReady, sentence } = READINESS[reason];
      const entry = { event: 'readiness' as const, reason, before, runbook: runbookOf(reason) ?? undefined };
      if (reason === 'ready') log.info(entry, sentence);
      else if (isReady) log.warn(entry, sentence);
      else log.error(entry, sentence);
    },
  });
}
