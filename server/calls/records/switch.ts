import type { SwitchRecord } from '../../../contract/service/switch.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { isInForce, type SwitchSetting, scopeOf } from '../../../domain/switch.ts';

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
