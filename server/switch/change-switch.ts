import type { ChangeSwitchBody } from '../../contract/switch.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { SwitchSetting } from '../../domain/switch.ts';
import { actorOf } from '../audit/actor.ts';
import { auditOf } from '../audit/audit.ts';
import { transactUnderKey } from '../commit/under-key.ts';
import { newId } from '../ids.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toSwitchRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { loadProgram } from '../programs/program-funding.ts';
import { insertEvents } from '../store/event.ts';
import { NO_PROGRAM } from '../store/idempotency.ts';
import { HOLD_SWITCH } from '../store/locks.ts';
import { writeSwitch } from '../store/switch.ts';

/**
 * change_switch: disables or enables a scope. It waits until every transaction that moves money has ended and holds
 * the next ones back, so once it has answered nothing in scope completes any more.
 */
export async function changeSwitch(service: Service, call: Call): Promise<Reply> {
  const body = call.members as ChangeSwitchBody;
  checkBody(body);
  const { program_id: asked } = body;
  const program = asked === undefined ? undefined : await loadProgram(service, fromWireId('prog', asked), asked);
  return transactUnderKey(service, call, {
    hold: HOLD_SWITCH,
    load: {},
    decide: (_, { batchId, now }) => {
      const setting: SwitchSetting = {
        programId: program?.programId ?? null,
        transferType: body.type ?? null,
        disabled: body.disabled,
        reason: body.reason ?? null,
        actor: actorOf(call.caller),
        since: now,
        until: untilOf(body, now),
      };
      const changed = toSwitchRecord(setting, now);
      const record = JSON.stringify(changed);
      const { programId } = setting;
      const subjectId = changed.program_id ?? 'service';
      const writes = [
        writeSwitch(newId(), setting),
        insertEvents(batchId, [{ type: 'switch.changed' as const, programId, subjectId, payload: record }], now),
        auditOf(call, { programId, subjectId, details: record }),
      ];
      return { status: 200, body: record, subjectId: programId ?? NO_PROGRAM, writes };
    },
  });
}

function checkBody(body: ChangeSwitchBody): void {
  const refuse = (message: string, field: string): never => {
    throw new Refusal('change_switch_schema', message, { field });
  };
  if (body.disabled && body.reason === undefined) {
    refuse("The required field 'reason' is missing: say why the service is disabled.", '/reason');
  }
  if (body.type !== undefined && body.program_id === undefined) {
    refuse("The required field 'program_id' is missing: 'type' narrows a card program.", '/program_id');
  }
  if (!body.disabled && body.until !== undefined) {
    refuse("'until' goes with disabled: true only; what is enabled stays enabled.", '/until');
  }
}

function untilOf(body: ChangeSwitchBody, now: number): number | null {
  if (body.until === undefined) return null;
  const until = Date.parse(body.until);
  if (until > now) return until;
  throw new Refusal('change_switch_schema', `'until' is '${body.until}', which is not in the future.`, {
    field: '/until',
  });
}
