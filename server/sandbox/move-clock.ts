import type { ClockRecord, MoveClockBody } from '../../contract/sandbox.ts';
import { auditOf } from '../audit/audit.ts';
import { transactUnderKey } from '../commit/under-key.ts';
import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { NO_PROGRAM } from '../store/idempotency.ts';
import { HOLD_SWITCH } from '../store/locks.ts';
import { READ_TIME_OF_DAY, setClockAhead } from '../store/sandbox-clock.ts';

/**
 * move_clock: sets how far the sandbox's time is ahead of the time of day. It holds the switch, so that every decision
 * has one time from its beginning to its end. Going back is allowed and tells stories that cannot be: what was done
 * "later" stays done, with its times.
 */
export async function moveClock(service: Service, call: Call): Promise<Reply> {
  const { seconds_ahead: seconds } = call.members as MoveClockBody;
  return transactUnderKey(service, call, {
    hold: HOLD_SWITCH,
    load: { clock: READ_TIME_OF_DAY },
    decide: ({ clock }) => {
      const now = Number(clock[0]?.now) + seconds * 1000;
      const moved: ClockRecord = { now: new Date(now).toISOString(), seconds_ahead: seconds };
      const body = JSON.stringify(moved);
      const audited = auditOf(call, { programId: null, subjectId: null, details: body });
      return { status: 200, body, subjectId: NO_PROGRAM, writes: [setClockAhead(seconds), audited] };
    },
  });
}
