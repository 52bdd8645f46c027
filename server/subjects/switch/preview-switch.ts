import type { SwitchPreview } from '../../../contract/service/switch.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { allDisabling, scopeOf } from '../../../domain/switch.ts';
import { type Call, type Reply, schemaRefusal } from '../../calls/call.ts';
import { loadProgram } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import type { Service } from '../../calls/service.ts';
import { databaseTime, hourOf } from '../../foundation/database-clock.ts';
import type { Row } from '../../store/connection/database.ts';
import {
  countScheduled,
  readProgramsInScope,
  toProgramsInScope,
  toScheduledInScope,
} from '../../store/overview/switch-preview.ts';
import { type HourlyCount, readTransferCounts, toHourlyCount } from '../../store/overview/transfer-count.ts';
import { READ_WHOLE_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { toSwitchRecord } from './switch.ts';

const HOUR_MILLISECONDS = 3_600_000;
const DAY_MILLISECONDS = 24 * HOUR_MILLISECONDS;

const STOPS: SwitchPreview['stops'] = [
  'New transfers, captures and reversals are refused with service_disabled (424), and no money moves.',
  'Scheduled transfers that become due wait. They are executed when transfers are enabled again.',
];

const GOES_ON: SwitchPreview['goes_on'] = [
  'Holds can be canceled, and expire.',
  'A request with the idempotency key of an earlier one gets the response of that one.',
  'Reads, statements and exports, events and webhooks, changes of cards, and deposits and withdrawals of funding.',
];

/** preview_switch: what a change of the switch would affect. Changes nothing, and the state may differ by the time of the change. */
export async function previewSwitch(service: Service, call: Call<'preview_switch'>): Promise<Reply<'preview_switch'>> {
  const { program_id: sentId, type = null } = call.query;
  if (type !== null && sentId === undefined) {
    const message = "The required field 'program_id' is missing. 'type' is one transfer type of a card program.";
    throw schemaRefusal(call, message, '/program_id');
  }
  const programId = sentId === undefined ? null : (await loadProgram(service, sentId)).programId;
  const scope = { programId, type };
  const now = databaseTime();
  const [hour, day] = [hourOf(now - HOUR_MILLISECONDS), hourOf(now - DAY_MILLISECONDS)];
  const { database } = service;
  const [switches, programs, counts, scheduled] = await Promise.all([
    readRows(database, READ_WHOLE_SWITCH),
    readRows(database, readProgramsInScope(programId)),
    readRows(database, readTransferCounts(new Date(day), scope)),
    readRows(database, countScheduled(scope)),
  ]);
  const { now: switchTime, settings } = toSwitchReading(switches);
  const { count, named } = toProgramsInScope(onlyRow(programs));
  const { transfers, atLeast, withinDay, nextAt } = toScheduledInScope(onlyRow(scheduled));
  const hourly = counts.map(toHourlyCount);
  const setting = { programId, transferType: type };
  const record: SwitchPreview = {
    scope: scopeOf(setting),
    program_id: programId === null ? null : toWireId('prog', programId),
    type,
    in_force: allDisabling(settings, setting, switchTime).map((one) => toSwitchRecord(one, switchTime)),
    programs: { count, data: named.map((one) => ({ program_id: toWireId('prog', one.programId), name: one.name })) },
    last_hour: countSince(hourly, hour),
    last_day: countSince(hourly, day),
    scheduled: {
      transfers,
      at_least: atLeast,
      within_day: withinDay,
      next_at: nextAt === null ? null : new Date(nextAt).toISOString(),
    },
    stops: STOPS,
    goes_on: GOES_ON,
  };
  return { record };
}

function countSince(counts: readonly HourlyCount[], since: number): SwitchPreview['last_hour'] {
  const transfers = counts.reduce((sum, { hour, count }) => (hour < since ? sum : sum + count), 0);
  return { since: new Date(since).toISOString(), transfers };
}

/** Each of these statements returns exactly one row, whatever the ledger contains. */
function onlyRow([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('the statement returned no row');
  return row;
}
