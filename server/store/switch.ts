import type { SwitchSetting } from '../../domain/switch.ts';
import type { TransferType } from '../../domain/transfers/transfer.ts';
import type { Row, Statement } from './connection/database.ts';
import { BOOLEAN, columns, nullable, statement, TEXT, TIME, UUID, word } from './sql.ts';

/** The settings of the switch and the time, by the database's clock in milliseconds since 1970. */
export type SwitchReading = { readonly now: number; readonly settings: readonly SwitchSetting[] };

const SWITCH = columns({
  programId: nullable(UUID),
  transferType: nullable(word<TransferType>()),
  disabled: BOOLEAN,
  reason: nullable(TEXT),
  actor: TEXT,
  since: TIME,
  until: nullable(TIME),
});

/**
 * The clock is truncated to milliseconds: if it were rounded, a moment in the next half millisecond would not be in the
 * future.
 */
const COLUMNS = `(extract(epoch from date_trunc('milliseconds', service_now())) * 1000)::bigint as now, switch_id, ${SWITCH.names}`;

/** SQL: a row of `switch` as JSON. */
export const DISABLED_SCOPE = `json_build_object('programId', switch.program_id, 'transferType', switch.transfer_type,
    'disabled', switch.disabled, 'reason', switch.reason, 'actor', switch.actor,
    'since', (extract(epoch from switch.since) * 1000)::bigint,
    'until', (extract(epoch from switch.until) * 1000)::bigint)`;

/** The settings from an aggregate of {@link DISABLED_SCOPE}; null stands for none. */
export function toDisabledScopes(found: unknown): readonly SwitchSetting[] {
  return (found ?? []) as readonly SwitchSetting[];
}

/** Reads what is disabled, and the clock. Must come after the switch was locked, in a separate statement. */
export const READ_SWITCH: Statement = {
  name: 'read_switch',
  text: `select ${COLUMNS} from (select) as always left join switch on disabled`,
  values: [],
};

/** Reads every setting of the switch, and the clock. */
export const READ_WHOLE_SWITCH: Statement = {
  name: 'read_whole_switch',
  text: `select ${COLUMNS} from (select) as always left join switch on true order by since desc`,
  values: [],
};

/** The clock and the settings from the rows of {@link READ_SWITCH}. */
export function toSwitchReading(rows: readonly Row[]): SwitchReading {
  return { now: Number(rows[0]?.now), settings: rows.filter((row) => row.switch_id !== null).map(SWITCH.read) };
}

const WRITE_SWITCH = statement(
  'write_switch',
  { ...SWITCH.columns, switchId: UUID },
  `insert into switch (switch_id, ${SWITCH.names})
    values (:switchId, :programId, :transferType, :disabled, :reason, :actor, :since, :until)
    on conflict (program_id, transfer_type) do update set disabled = excluded.disabled, reason = excluded.reason,
      actor = excluded.actor, since = excluded.since, until = excluded.until`,
);

/** Stores one setting; the switch must be locked exclusively. */
export function writeSwitch(switchId: string, setting: SwitchSetting): Statement {
  return WRITE_SWITCH({ switchId, ...setting });
}
