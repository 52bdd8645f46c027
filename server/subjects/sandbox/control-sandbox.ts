import { type Call, type CallContext, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { NO_PROGRAM } from '../../store/idempotency.ts';
import { READ_TIME_OF_DAY, setClockAhead } from '../../store/ledger-mode.ts';
import { HOLD_SWITCH } from '../../store/locks.ts';
import { prepareEventDays } from '../../store/partition.ts';
import { auditOf } from '../audit/audit.ts';

/**
 * move_clock: sets how far the sandbox's time is ahead of the real time. It holds the switch, so the clock never moves during a
 * decision. If the clock is moved back, records that were created before keep their later times.
 */
export async function moveClock(service: Service, call: Call<'move_clock'>): Promise<Reply<'move_clock'>> {
  const { seconds_ahead: seconds } = call.body;
  // Creates the partitions for the new time. Otherwise its events would be stored in the default partition.
  await prepareEventDays(service.database, new Date(databaseTime() + seconds * 1000)).catch(() => undefined);
  return transactUnderKey(service, call, {
    hold: HOLD_SWITCH,
    load: { clock: READ_TIME_OF_DAY },
    decide: ({ clock }) => {
      const now = Number(clock[0]?.now) + seconds * 1000;
      const record = { now: new Date(now).toISOString(), seconds_ahead: seconds };
      const json = JSON.stringify(record);
      const audited = auditOf(call, { programId: null, subjectId: null, details: json });
      return { record, json, subjectId: NO_PROGRAM, writes: [setClockAhead(seconds), ...audited] };
    },
  });
}

export type SandboxDatabase = {
  readonly pause: () => Promise<void>;
  readonly resume: () => Promise<void>;
  readonly state: () => 'running' | 'starting' | 'stopped' | 'failed';
};

export async function stopDatabase(
  database: SandboxDatabase | undefined,
  call: Call<'stop_database'>,
): Promise<Reply<'stop_database'>> {
  const own = requireOwn(database, call);
  await own.pause();
  return { record: { state: own.state() } };
}

/** start_database: starts the database again. The response is sent when the server accepts connections. */
export async function startDatabase(
  database: SandboxDatabase | undefined,
  call: Call<'start_database'>,
): Promise<Reply<'start_database'>> {
  const own = requireOwn(database, call);
  await own.resume();
  return { record: { state: own.state() } };
}

function requireOwn(database: SandboxDatabase | undefined, call: CallContext): SandboxDatabase {
  if (database !== undefined) return database;
  const message =
    'This sandbox uses the database of DATABASE_URL, which it cannot stop or start. ' +
    'Start it without DATABASE_URL to have an embedded one.';
  throw schemaRefusal(call, message);
}
