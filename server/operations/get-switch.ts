import { READ_WHOLE_SWITCH, toSwitchReading } from '../store/switch.ts';
import type { Reply } from './call.ts';
import { toSwitchRecord } from './records.ts';
import type { Service } from './service.ts';
import { readRows } from './transaction.ts';

/** get_switch: every setting that was ever made, the latest first. */
export async function getSwitch(service: Service): Promise<Reply> {
  const { now, settings } = toSwitchReading(await readRows(service.database, READ_WHOLE_SWITCH));
  const data = settings.map((setting) => toSwitchRecord(setting, now));
  return { status: 200, body: JSON.stringify({ data }) };
}
