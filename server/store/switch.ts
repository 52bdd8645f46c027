import type { SwitchSetting } from '../../domain/switch.ts';
import type { TransferType } from '../../domain/transfers/transfer.ts';
import type { Row, Statement } from './connection/database.ts';

/** What the switch says and what time it is, by the database's clock in milliseconds since 1970. */
export type SwitchReading = { readonly now: number; readonly settings: readonly SwitchSetting[] };

const NOW = '(extract(epoch from service_now()) * 1000)::bigint';
const COLUMNS = 'switch_id, program_id, transfer_type, disabled, reason, actor, since, until';

/** Reads what is disabled, and the clock. Must come after the switch was locked, in a statement of its own. */
export const READ_SWITCH: Statement = {
  name: 'read_switch',
  text: `select ${NOW} as now, ${COLUMNS} from (select) as always left join switch on disabled`,
  values: [],
};

/** Reads every setting of the switch, and the clock. */
export const READ_WHOLE_SWITCH: Statement = {
  name: 'read_whole_switch',
  text: `select ${NOW} as now, ${COLUMNS} from (select) as always left join switch on true order by since desc`,
  values: [],
};

/** The clock and the settings from the rows of {@link READ_SWITCH}. */
export function toSwitchReading(rows: readonly Row[]): SwitchReading {
  return {
    now: Number(rows[0]?.now),
    settings: rows
      .filter((row) => row.switch_id !== null)
      .map((row) => ({
        programId: row.program_id as string | null,
        transferType: row.transfer_type as TransferType | null,
        disabled: row.disabled as boolean,
        reason: row.reason as string | null,
        actor: row.actor as string,
        since: (row.since as Date).getTime(),
        until: (row.until as Date | null)?.getTime() ?? null,
      })),
  };
}

/** Writes one setting; the switch must be held. */
export function writeSwitch(switchId: string, setting: SwitchSetting): Statement {
  return {
    name: 'write_switch',
    text: `insert into switch (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8)
      on conflict (program_id, transfer_type) do update set disabled = excluded.disabled, reason = excluded.reason,
        actor = excluded.actor, since = excluded.since, until = excluded.until`,
    values: [
      switchId,
      setting.programId,
      setting.transferType,
      setting.disabled,
      setting.reason,
      setting.actor,
      new Date(setting.since),
      setting.until === null ? null : new Date(setting.until),
    ],
  };
}
