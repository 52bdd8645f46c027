import type { SwitchSetting } from '../../domain/switch.ts';
import type { TransferType } from '../../domain/transfers/transfer.ts';
import type { Row, Statement } from './connection/database.ts';
import { BOOLEAN, columns, nullable, statement, TEXT, TIME, UUID, word } from './sql.ts';

/** The settings of the switch, and the time by the database's clock in milliseconds since 1970. */
export type SwitchReading = { readonly now: number; readonly settings: readonly SwitchSetting[] };

const SWITCH = columns({
  programId: nullable(UUID),
  transferType: nullable(word<TransferType>()),
  connectorId: nullable(TEXT),
  disabled: BOOLEAN,
  reason: nullable(TEXT),
  actor: TEXT,
  since: TIME,
  until: nullable(TIME),
});

/**
 * Settings of connectors are in a separate table, because earlier versions would mistake them for settings of a program or of the
 * whole service.
 */
type SwitchTable = 'switch' | 'connector_switch';

const connectorIn = (table: SwitchTable): string => (table === 'switch' ? 'null' : `${table}.connector_id`);

const columnsOf = (table: SwitchTable): string =>
  `switch_id, program_id, transfer_type, ${connectorIn(table)} as connector_id, disabled, reason, actor, since, until`;

/**
 * SQL: the clock, truncated to milliseconds. If it were rounded, a time in the next half millisecond would not be in the future.
 */
const NOW = `(extract(epoch from date_trunc('milliseconds', service_now())) * 1000)::bigint as now`;

const disabledIn = (table: SwitchTable): string => `(
      select json_agg(json_build_object('programId', ${table}.program_id, 'transferType', ${table}.transfer_type,
        'connectorId', ${connectorIn(table)}, 'disabled', ${table}.disabled, 'reason', ${table}.reason,
        'actor', ${table}.actor, 'since', (extract(epoch from ${table}.since) * 1000)::bigint,
        'until', (extract(epoch from ${table}.until) * 1000)::bigint))
      from ${table} where disabled
    )`;

/** SQL: the disabled scopes, as two columns for {@link toDisabledScopes}. Must come after the switch was locked. */
export const DISABLED_SCOPES = `${disabledIn('switch')} as disabled,
    ${disabledIn('connector_switch')} as disabled_at_connectors`;

/** Returns the settings from the columns of {@link DISABLED_SCOPES}. Null means none. */
export function toDisabledScopes(row: Row): readonly SwitchSetting[] {
  const found = [row.disabled, row.disabled_at_connectors] as readonly (readonly SwitchSetting[] | null)[];
  return found.flatMap((settings) => settings ?? []);
}

/** SQL expressions for a scope that may be disabled, and for the time. */
type Scope = Readonly<Record<'programId' | 'type' | 'connectorId' | 'now', string>>;

const noneIn = (table: SwitchTable, { programId, type, connectorId, now }: Scope): string => `not exists (
        select from ${table} where ${table}.disabled and (${table}.until is null or ${table}.until > ${now})
          and (${table}.program_id is null or ${table}.program_id = ${programId})
          and (${table}.transfer_type is null or ${table}.transfer_type = ${type})
          ${table === 'switch' ? '' : `and ${table}.connector_id = ${connectorId}`}
      )`;

/** SQL: whether no setting of the switch disables a scope. `connectorId` is used only if a setting disables a connector. */
export function isEnabled(scope: Scope): string {
  return `${noneIn('switch', scope)} and ${noneIn('connector_switch', scope)}`;
}

/** SQL: the settings that are in force at `now`: `program_id`, `transfer_type`, `connector_id`, `reason`, `since`, `until`. */
export function settingsInForce(now: string): string {
  const inForce = (
    table: SwitchTable,
  ): string => `select program_id, transfer_type, ${connectorIn(table)} as connector_id, reason, since, until
      from ${table} where disabled and (until is null or until > ${now})`;
  return `${inForce('switch')} union all ${inForce('connector_switch')}`;
}

/** Reads the clock and the disabled scopes, except connectors. Must come after the switch was locked, in a separate statement. */
export const READ_SWITCH: Statement = {
  name: 'read_switch',
  text: `select ${NOW}, ${columnsOf('switch')} from (select) as always left join switch on disabled`,
  values: [],
};

export const READ_WHOLE_SWITCH: Statement = {
  name: 'read_whole_switch',
  text: `select ${NOW}, setting.* from (select) as always
    left join (
      select ${columnsOf('switch')} from switch
      union all select ${columnsOf('connector_switch')} from connector_switch
    ) as setting on true order by since desc`,
  values: [],
};

export function toSwitchReading(rows: readonly Row[]): SwitchReading {
  return { now: Number(rows[0]?.now), settings: rows.filter((row) => row.switch_id !== null).map(SWITCH.read) };
}

const { connectorId: CONNECTOR_ID, ...OF_ALL } = SWITCH.columns;

const CHANGED = `disabled = excluded.disabled, reason = excluded.reason, actor = excluded.actor, since = excluded.since,
      until = excluded.until`;

const WRITE_SWITCH = statement(
  'write_switch',
  { ...OF_ALL, switchId: UUID },
  `insert into switch (switch_id, program_id, transfer_type, disabled, reason, actor, since, until)
    values (:switchId, :programId, :transferType, :disabled, :reason, :actor, :since, :until)
    on conflict (program_id, transfer_type) do update set ${CHANGED}`,
);

const WRITE_CONNECTOR_SWITCH = statement(
  'write_connector_switch',
  { ...OF_ALL, connectorId: CONNECTOR_ID, switchId: UUID },
  `insert into connector_switch (switch_id, connector_id, program_id, transfer_type, disabled, reason, actor, since, until)
    values (:switchId, :connectorId, :programId, :transferType, :disabled, :reason, :actor, :since, :until)
    on conflict (connector_id, program_id, transfer_type) do update set ${CHANGED}`,
);

/** Stores one setting. The switch must be locked exclusively. */
export function writeSwitch(switchId: string, setting: SwitchSetting): Statement {
  const { connectorId, ...ofAll } = setting;
  return connectorId === null ? WRITE_SWITCH({ switchId, ...ofAll }) : WRITE_CONNECTOR_SWITCH({ switchId, ...setting });
}
