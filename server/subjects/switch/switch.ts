import type { ChangeSwitchBody, SwitchPreview } from '../../../contract/service/switch.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { allDisabling, type SwitchSetting, scopeOf } from '../../../domain/switch.ts';
import { type Call, type CallContext, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readFuture } from '../../calls/fields.ts';
import { requireConnector } from '../../calls/processors.ts';
import { loadProgram } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { settingWrites, toSwitchRecord } from '../../calls/records/switch.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { databaseTime, hourOf } from '../../foundation/database-clock.ts';
import { lowestIdAt } from '../../foundation/ids.ts';
import type { Row } from '../../store/connection/database.ts';
import { NO_PROGRAM } from '../../store/idempotency.ts';
import { HOLD_SWITCH } from '../../store/locks.ts';
import {
  countOrders,
  countScheduled,
  type PreviewedScope,
  readProgramsInScope,
  toOrdersInScope,
  toProgramsInScope,
  toScheduledInScope,
} from '../../store/overview/switch-preview.ts';
import { readTransferCounts, toHourlyCount } from '../../store/overview/transfer-count.ts';
import { READ_WHOLE_SWITCH, toSwitchReading } from '../../store/switch.ts';
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
      const { record, writes } = settingWrites(call, setting, { batchId, now });
      const json = JSON.stringify(record);
      const { programId } = setting;
      const audited = auditOf(call, { programId, subjectId: record.program_id ?? 'service', details: json });
      return { record, json, subjectId: programId ?? NO_PROGRAM, writes: [...writes, ...audited] };
    },
  });
}

/**
 * Refuses an unknown connector. A connector that was removed from the settings can still be enabled if the switch has a setting for
 * it.
 */
function requireKnown({ processors }: Service, connectorId: string | null, rows: readonly Row[]): void {
  if (connectorId === null || rows.some((row) => row.connector_id === connectorId)) return;
  requireConnector(processors, connectorId);
}

/** Refuses an impossible scope: a type without a program or connector, or a type that connectors do not have. */
function checkScope(
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

const HOUR_MILLISECONDS = 3_600_000;
const DAY_MILLISECONDS = 24 * HOUR_MILLISECONDS;

const SCHEDULED_WAIT = 'Scheduled transfers that become due wait. They are executed when transfers are enabled again.';

const ORDERS_WAIT =
  'Orders that have not been sent to their processor yet must wait. They fail after the time-out of their connector ' +
  '(ready_seconds), and their money is released.';

const ORDERS_GO_ON =
  'Orders that were sent to a processor: the service asks about their outcome, repeats reversals and handles notices.';

const GOES_ON: SwitchPreview['goes_on'] = [
  'Holds can still be canceled or expire.',
  'A request with a used idempotency key gets the stored response again.',
  'Reads, statements and exports, events and webhooks, changes of cards, and deposits and withdrawals of funding.',
];

/** preview_switch: returns the effects that a change of the switch would have now. Changes nothing. */
export async function previewSwitch(service: Service, call: Call<'preview_switch'>): Promise<Reply<'preview_switch'>> {
  const { program_id: sentId, type = null, connector_id: connectorId = null } = call.query;
  checkScope(call, call.query);
  const programId = sentId === undefined ? null : (await loadProgram(service, sentId)).programId;
  const scope = { programId, type, connectorId };
  const { database } = service;
  const [switches, scheduled, traffic] = await Promise.all([
    readRows(database, READ_WHOLE_SWITCH),
    readRows(database, countScheduled(scope)),
    connectorId === null ? readTraffic(service, scope) : readOrders(service, scope),
  ]);
  requireKnown(service, connectorId, switches);
  const { now: switchTime, settings } = toSwitchReading(switches);
  const { transfers, atLeast, withinDay, nextAt } = toScheduledInScope(onlyRow(scheduled));
  const setting = { programId, transferType: type, connectorId };
  const record: SwitchPreview = {
    scope: scopeOf(setting),
    program_id: programId === null ? null : toWireId('prog', programId),
    type,
    connector_id: connectorId,
    in_force: allDisabling(settings, setting, switchTime).map((one) => toSwitchRecord(one, switchTime)),
    ...traffic,
    scheduled: {
      transfers,
      at_least: atLeast,
      within_day: withinDay,
      next_at: nextAt === null ? null : new Date(nextAt).toISOString(),
    },
    ...effectsOf(service, connectorId),
  };
  return { record };
}

/** Describes in sentences which activities stop and which continue. */
function effectsOf({ processors }: Service, connectorId: string | null): Pick<SwitchPreview, 'stops' | 'goes_on'> {
  if (connectorId !== null) {
    const refused =
      'New loads and unloads of cards of the connector are refused with service_disabled (424), and no money moves.';
    const others = 'Transfers of cards of other connectors, and of cards whose money is in this ledger.';
    return { stops: [refused, ORDERS_WAIT, SCHEDULED_WAIT], goes_on: [ORDERS_GO_ON, others, ...GOES_ON] };
  }
  const refused = 'New transfers, captures and reversals are refused with service_disabled (424), and no money moves.';
  if (processors.connectorIds.length === 0) return { stops: [refused, SCHEDULED_WAIT], goes_on: GOES_ON };
  return { stops: [refused, ORDERS_WAIT, SCHEDULED_WAIT], goes_on: [ORDERS_GO_ON, ...GOES_ON] };
}

type Traffic = Pick<SwitchPreview, 'programs' | 'last_hour' | 'last_day'>;

/** Reads the card programs of a scope, and the transfers of all processes in the scope. */
async function readTraffic({ database }: Service, scope: PreviewedScope): Promise<Traffic> {
  const { hour, day } = begins();
  const [programs, counts] = await Promise.all([
    readRows(database, readProgramsInScope(scope.programId)),
    readRows(database, readTransferCounts(new Date(day), scope)),
  ]);
  const hourly = counts.map(toHourlyCount);
  const since = (begin: number) => {
    const transfers = hourly.reduce((sum, { hour: at, count }) => (at < begin ? sum : sum + count), 0);
    return countSince(begin, transfers, false);
  };
  return {
    programs: shownPrograms(toProgramsInScope(onlyRow(programs))),
    last_hour: since(hour),
    last_day: since(day),
  };
}

/** Reads the figures for one connector. Transfers are not counted by connector, so this counts its orders. */
async function readOrders({ database }: Service, scope: PreviewedScope): Promise<Traffic> {
  const { hour, day } = begins();
  const found = toOrdersInScope(
    onlyRow(await readRows(database, countOrders(scope, lowestIdAt(new Date(day)), lowestIdAt(new Date(hour))))),
  );
  return {
    programs: shownPrograms(found),
    last_hour: countSince(hour, found.lately, found.latelyAtLeast),
    last_day: countSince(day, found.inAll, found.inAllAtLeast),
  };
}

function begins(): { readonly hour: number; readonly day: number } {
  const now = databaseTime();
  return { hour: hourOf(now - HOUR_MILLISECONDS), day: hourOf(now - DAY_MILLISECONDS) };
}

function shownPrograms({ count, named }: ReturnType<typeof toProgramsInScope>): SwitchPreview['programs'] {
  return { count, data: named.map((one) => ({ program_id: toWireId('prog', one.programId), name: one.name })) };
}

function countSince(since: number, transfers: number, atLeast: boolean): SwitchPreview['last_hour'] {
  return { since: new Date(since).toISOString(), transfers, at_least: atLeast };
}

/** Returns the row of a statement that must return exactly one row. */
function onlyRow([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('the statement returned no row');
  return row;
}
