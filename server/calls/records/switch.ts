import type { SwitchChangeRecord } from '../../../contract/events/access.ts';
import type { SwitchRecord } from '../../../contract/service/switch.ts';
import { type DomainEvent, EVERY_PROGRAM } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { isInForce, type SwitchSetting, scopeOf } from '../../../domain/switch.ts';
import { newId } from '../../foundation/ids.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { writeSwitch } from '../../store/switch.ts';
import type { CallContext } from '../call.ts';

/** Returns a setting of the switch as defined by the contract. A setting that has ended is no longer disabled. */
export function toSwitchRecord(setting: SwitchSetting, now: number): SwitchRecord {
  return {
    scope: scopeOf(setting),
    program_id: setting.programId === null ? null : toWireId('prog', setting.programId),
    type: setting.transferType,
    connector_id: setting.connectorId,
    disabled: isInForce(setting, now),
    reason: setting.reason,
    actor: setting.actor,
    since: new Date(setting.since).toISOString(),
    until: setting.until === null ? null : new Date(setting.until).toISOString(),
  };
}

/** Returns a setting as defined by the contract, and the writes that store it with its events. The switch must be held. */
export function settingWrites(
  call: CallContext,
  setting: SwitchSetting,
  { batchId, now }: { readonly batchId: string; readonly now: number },
) {
  const record = toSwitchRecord(setting, now);
  const events = insertEvents(batchId, changeEvents(record, setting.programId), now, call);
  return { record, writes: [writeSwitch(newId(), setting), events] };
}

/** Returns an event for operators, and an event without reason and actor for the card program or for every program. */
function changeEvents(record: SwitchRecord, programId: string | null): readonly DomainEvent[] {
  const { reason: _reason, actor: _actor, ...shown }: SwitchChangeRecord & SwitchRecord = record;
  const event = { type: 'switch.changed' as const, subjectId: record.program_id ?? 'service' };
  return [
    { ...event, programId: null, payload: JSON.stringify(record) },
    { ...event, programId: programId ?? EVERY_PROGRAM, payload: JSON.stringify(shown) },
  ];
}
