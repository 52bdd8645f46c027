import type { TransferType } from './transfers/transfer.ts';

/**
 * One setting of the switch. Its scope is the whole service (`programId` null), one program, or one transfer type of a program.
 * With a `connectorId`, the scope is all orders to that connector, optionally of only one program, only one transfer type, or
 * both. Times are milliseconds since 1970 by the database's clock.
 */
export type SwitchSetting = {
  readonly programId: string | null;
  readonly transferType: TransferType | null;
  /** The connector whose orders the setting is about, or null for all transfers, with and without a processor. */
  readonly connectorId: string | null;
  readonly disabled: boolean;
  readonly reason: string | null;
  readonly actor: string;
  readonly since: number;
  /** When a disabled scope is automatically enabled again, or null if an operator must enable it. */
  readonly until: number | null;
};

/** The scope of a setting, or the scopes that a transfer belongs to. */
export type SwitchReach = Pick<SwitchSetting, 'programId' | 'transferType' | 'connectorId'>;

/**
 * Returns every setting that disables the whole of the given scope at `now`, widest first. A `programId` of null means the whole
 * service. With a `transferType` of null, settings for a single transfer type are ignored, because they disable only part of the
 * scope. The same holds for a `connectorId` of null and settings for a single connector.
 */
export function allDisabling(
  settings: readonly SwitchSetting[],
  { programId, transferType, connectorId }: SwitchReach,
  now: number,
): readonly SwitchSetting[] {
  return settings
    .filter((setting) => isInForce(setting, now))
    .filter((setting) => setting.programId === null || setting.programId === programId)
    .filter((setting) => setting.transferType === null || setting.transferType === transferType)
    .filter((setting) => setting.connectorId === null || setting.connectorId === connectorId)
    .sort((left, right) => width(left) - width(right));
}

/** Every setting that disables orders to this connector at `now`, widest first. Excludes settings for all transfers. */
export function allAtConnector(
  settings: readonly SwitchSetting[],
  connectorId: string,
  now: number,
): readonly SwitchSetting[] {
  return settings
    .filter((setting) => setting.connectorId === connectorId && isInForce(setting, now))
    .sort((left, right) => width(left) - width(right));
}

/** Whether a setting disables its scope at `now`. A setting whose `until` has passed does not. */
export function isInForce({ disabled, until }: Pick<SwitchSetting, 'disabled' | 'until'>, now: number): boolean {
  return disabled && (until === null || until > now);
}

export type SwitchScope = (typeof SWITCH_SCOPES)[number];

/**
 * The scopes of settings. A connector's setting may apply to all its orders, to those of one program or one type, or to those of
 * one type of one program.
 */
export const SWITCH_SCOPES = ['service', 'program', 'transfer_type', 'connector'] as const;

/** The scope of a setting in a word. */
export function scopeOf(setting: SwitchReach): SwitchScope {
  if (setting.connectorId !== null) return 'connector';
  if (setting.programId === null) return 'service';
  return setting.transferType === null ? 'program' : 'transfer_type';
}

function width(setting: SwitchSetting): number {
  if (setting.connectorId === null) return SWITCH_SCOPES.indexOf(scopeOf(setting));
  return SWITCH_SCOPES.length + (setting.programId === null ? 0 : 2) + (setting.transferType === null ? 0 : 1);
}
