import { readRows } from '../commit/transaction.ts';
import type { Reply } from '../operations/call.ts';
import { toSwitchRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { READ_WHOLE_SWITCH, toSwitchReading } from '../store/switch.ts';

/** get_switch: every setting that was ever made, the latest first. */
export async function getSwitch(service: Service): Promise<Reply> {
  const { now, settings } = toSwitchReading(await readRows(service.database, READ_WHOLE_SWITCH));
  const data = settings.map((setting) => toSwitchRecord(setting, now));
  return { status: 200, body: JSON.stringify({ data }) };
}
