import type { ClockRecord, MoveClockBody } from '../../contract/operator-schemas.ts';
import { HOLD_SWITCH } from '../store/locks.ts';
import { READ_TIME_OF_DAY, setClockAhead } from '../store/sandbox-clock.ts';
import { auditOf } from './audit.ts';
import type { Call, Reply } from './call.ts';
import type { Service } from './service.ts';
import { transact } from './transaction.ts';

/**
 * move_clock: sets how far the sandbox's time is ahead of the time of day. It holds the switch, so that every decision
 * has one time from its beginning to its end. Going back is allowed and tells stories that cannot be: what was done
 * "later" stays done, with its times.
 */
export async function moveClock(service: Service, call: Call): Promise<Reply> {
  const { seconds_ahead: seconds } = call.members as MoveClockBody;
  const load = { hold: HOLD_SWITCH, clock: READ_TIME_OF_DAY };
  const record = await transact(service.database, call.deadline, load, (loaded) => {
    const now = Number(loaded.clock[0]?.now) + seconds * 1000;
    const moved: ClockRecord = { now: new Date(now).toISOString(), seconds_ahead: seconds };
    const details = JSON.stringify(moved);
    const audited = auditOf(call, { programId: null, subjectId: null, details });
    return { result: moved, writes: [setClockAhead(seconds), audited] };
  });
  return { status: 200, body: JSON.stringify(record) };
}
