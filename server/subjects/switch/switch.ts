import type { SwitchChangeRecord } from '../../../contract/events/access.ts';
import type { ChangeSwitchBody, SwitchRecord } from '../../../contract/service/switch.ts';
import { type DomainEvent, EVERY_PROGRAM } from '../../../domain/event.ts';
import type { SwitchSetting } from '../../../domain/switch.ts';
import { type Call, type CallContext, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readFuture } from '../../calls/fields.ts';
import { requireConnector } from '../../calls/processors.ts';
import { loadProgram } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toSwitchRecord } from '../../calls/records/switch.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { newId } from '../../foundation/ids.ts';
import type { Row } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { NO_PROGRAM } from '../../store/idempotency.ts';
import { HOLD_SWITCH } from '../../store/locks.ts';
import { READ_WHOLE_SWITCH, toSwitchReading, writeSwitch } from '../../store/switch.ts';
import { actorOf, auditOf } from '../audit/audit.ts';

// Invariant: After the response to a request that disables a scope, nothing in that scope completes
// Kept by: the advisory lock on the switch
// Tested by: `test/store/locks.test.ts`, `test/api/processors/connector-switch.test.ts`

export async function getSwitch(service: Service): Promise<Reply<'get_switch'>> {
  const { now, settings } = toSwitchReading(await readRows(service.database, READ_WHOLE_SWITCH));
  return { record: { data: settings.map((setting) => toSwitchRecord(setting, now)) } };
}

/**
 * change_switch: disables or enables a scope. It waits until every transaction that moves money has ended, and blocks new ones in
 * the meantime. So nothing in a disabled scope completes after the response.
 */
export async function changeSwitch(service: Service, call: Call<'change_switch'>): Promise<Reply<'change_switch'>> {
  const { body } = call;
  checkScope(call, body);
  checkBody(call);
  const { program_id: sentId, connector_id: connectorId = null } = body;
  const program = sentId === undefined ? undefined : await loadProgram(service, sentId);
  return transactUnderKey(service, call, {
    hold: HOLD_SWITCH,
    load: { settings: connectorId === null ? null : READ_WHOLE_SWITCH },
    decide: ({ settings }, { batchId, now }) => {
      requireKnown(service, connectorId, settings);
      const setting: SwitchSetting = {
        programId: program?.programId ?? null,
        transferType: body.type ?? null,
        connectorId,
        disabled: body.disabled,
        reason: body.reason ?? null,
        actor: actorOf(call.caller),
        since: now,
        until: readFuture(call, 'until', body.until, now)?.getTime() ?? null,
      };
      const record = toSwitchRecord(setting, now);
      const json = JSON.stringify(record);
      const { programId } = setting;
      const subjectId = record.program_id ?? 'service';
      const writes = [
        writeSwitch(newId(), setting),
        insertEvents(batchId, changeEvents(record, programId), now, call),
        ...auditOf(call, { programId, subjectId, details: json }),
      ];
      return { record, json, subjectId: programId ?? NO_PROGRAM, writes };
    },
  });
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

/**
 * Refuses an unknown connector. A connector that was removed from the settings can still be enabled if the switch has a setting for
 * it.
 */
export function requireKnown({ processors }: Service, connectorId: string | null, rows: readonly Row[]): void {
  if (connectorId === null || rows.some((row) => row.connector_id === connectorId)) return;
  requireConnector(processors, connectorId);
}

/** Refuses an impossible scope: a type without a program or connector, or a type that connectors do not have. */
export function checkScope(
  call: CallContext,
  {
    type,
    program_id: programId,
    connector_id: connectorId,
  }: Pick<ChangeSwitchBody, 'type' | 'program_id' | 'connector_id'>,
): void {
  if (type !== undefined && programId === undefined && connectorId === undefined) {
    const message =
      "The required field 'program_id' is missing. 'type' is one transfer type of a card program, or of a connector.";
    throw schemaRefusal(call, message, '/program_id');
  }
  if (type === 'card_to_card' && connectorId !== undefined) {
    const message = "'type' is 'card_to_card', but with 'connector_id' it must be 'load' or 'unload'.";
    throw schemaRefusal(call, message, '/type');
  }
}

function checkBody(call: Call<'change_switch'>): void {
  const { disabled, reason, until } = call.body;
  if (disabled && reason === undefined) {
    throw schemaRefusal(call, "The required field 'reason' is missing. Say why the service is disabled.", '/reason');
  }
  if (!disabled && until !== undefined) {
    throw schemaRefusal(call, "'until' can only be sent with 'disabled': true.", '/until');
  }
}
