import { Refusal } from '../../domain/refusal.ts';
import { READINESS, type ReadinessReason } from '../../domain/service-status.ts';
import { type RunbookPage, runbookPath } from '../foundation/runbook.ts';

export const READINESS_PAGES: Readonly<Record<Exclude<ReadinessReason, 'ready'>, RunbookPage>> = {
  few_connections: 'few-connections',
  schema_newer: 'schema-newer',
  database_starting: 'database-starting',
  database_stopped: 'database-stopped',
  database_failed: 'embedded-postgres-failed',
  database_silent: 'database-silent',
  database_read_only: 'database-read-only',
  standby_not_set: 'standby-missing',
  disk_full: 'disk-full',
  no_connection: 'few-connections',
  write_failing: 'writes-failing',
  schema_older: 'schema-behind',
  schema_too_new: 'schema-too-new',
  service_closing: 'service-closing',
};

export function runbookOf(reason: ReadinessReason): string | null {
  return reason === 'ready' ? null : runbookPath(READINESS_PAGES[reason]);
}

export function notReady(reason: ReadinessReason): Refusal {
  const { sentence, retryAfterSeconds } = READINESS[reason];
  const runbook = runbookOf(reason);
  return new Refusal('service_unavailable', sentence, {
    endsIn: retryAfterSeconds * 1000,
    saw: { readiness: reason },
    ...(runbook === null ? {} : { readiness: { reason, runbook } }),
  });
}
