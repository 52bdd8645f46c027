import type { SwitchRecord } from '../../../sdk/client.ts';

const TYPES = { load: 'loads', unload: 'unloads', card_to_card: 'transfers between cards' } as const;

/** What a setting of the switch is about, to follow a verb: `loads for Lumen Gift Cards`, `everything`. */
export function scopeText({ scope, type }: Pick<SwitchRecord, 'scope' | 'type'>, programName: string): string {
  if (scope === 'service') return 'everything';
  return `${kindText(type)} for ${programName}`;
}

/** Which transfers of a program: `loads`, or `all transfers`. */
export function kindText(type: SwitchRecord['type']): string {
  return type === null ? 'all transfers' : TYPES[type];
}

/** A number of things: `1 card program`, `12,345 transfers`. */
export function formatNumber(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? singular : plural}`;
}
