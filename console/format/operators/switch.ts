import type { SwitchRecord } from '../../../sdk/client.ts';

export type SwitchScope = Pick<SwitchRecord, 'scope' | 'type' | 'program_id' | 'connector_id'>;

const TYPES = { load: 'loads', unload: 'unloads', card_to_card: 'transfers between cards' } as const;

/**
 * Describes the scope of a setting, to follow a verb: `loads for Lumen Gift Cards`, `everything`, `all transfers at the
 * connector increase`. `programName` is used only if the setting has a card program.
 */
export function scopeText(
  { scope, type, program_id: programId, connector_id: connectorId }: SwitchScope,
  programName: string,
): string {
  if (scope === 'service') return 'everything';
  const where = connectorId === null ? '' : ` at the connector ${connectorId}`;
  return `${kindText(type)}${where}${programId === null ? '' : ` for ${programName}`}`;
}

/** Returns a string that is unique to the scope of a setting. */
export function settingKey({
  program_id: programId,
  type,
  connector_id: connectorId,
}: Omit<SwitchScope, 'scope'>): string {
  return `${connectorId} ${programId} ${type}`;
}

/** Names the transfers: `loads`, or `all transfers`. */
export function kindText(type: SwitchRecord['type']): string {
  return type === null ? 'all transfers' : TYPES[type];
}

/** Formats a count with its noun: `1 card program`, `12,345 transfers`. */
export function formatNumber(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? singular : plural}`;
}
