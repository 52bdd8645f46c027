import type { TransferType } from './transfers/transfer.ts';

/**
 * One setting of the switch. Scope: the whole service (`programId` null), a program, or one transfer type of a
 * program. Times are milliseconds since 1970 by the database's clock.
 */
export type SwitchSetting = {
  readonly programId: string | null;
  readonly transferType: TransferType | null;
  readonly disabled: boolean;
  readonly reason: string | null;
  readonly actor: string;
  readonly since: number;
  /** When a disabled scope is enabled again by itself; null if it waits for an operator. */
  readonly until: number | null;
};

/**
 * The setting that stops transfers of this program and type at `now`, widest scope first. If the type is not known
 * (null), settings for one type are ignored.
 */
export function disabledBy(
  settings: readonly SwitchSetting[],
  programId: string,
  transferType: TransferType | null,
  now: number,
): SwitchSetting | undefined {
  return allDisabling(settings, { programId, transferType }, now)[0];
}

/** Every setting that disables a whole scope at `now`, widest first. A `programId` of null is the whole service. */
export function allDisabling(
  settings: readonly SwitchSetting[],
  { programId, transferType }: Pick<SwitchSetting, 'programId' | 'transferType'>,
  now: number,
): readonly SwitchSetting[] {
  return settings
    .filter((setting) => setting.disabled && (setting.until === null || setting.until > now))
    .filter((setting) => setting.programId === null || setting.programId === programId)
    .filter((setting) => setting.transferType === null || setting.transferType === transferType)
    .sort((left, right) => width(left) - width(right));
}

/** How wide a setting of the switch reaches. */
export type SwitchScope = 'service' | 'program' | 'transfer_type';

/** The scope of a setting in a word. */
export function scopeOf(setting: Pick<SwitchSetting, 'programId' | 'transferType'>): SwitchScope {
  if (setting.programId === null) return 'service';
  return setting.transferType === null ? 'program' : 'transfer_type';
}

function width(setting: SwitchSetting): number {
  return ['service', 'program', 'transfer_type'].indexOf(scopeOf(setting));
}
