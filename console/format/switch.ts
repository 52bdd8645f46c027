import type { SwitchRecord } from '../../sdk/client.ts';

const TYPES = { load: 'Loads', unload: 'Unloads', card_to_card: 'Transfers from card to card' } as const;

/** What a setting of the switch is about: `Loads of one program`. */
export function scopeText({ scope, type }: Pick<SwitchRecord, 'scope' | 'type'>): string {
  if (scope === 'service') return 'The whole service';
  return type === null ? 'One program' : `${TYPES[type]} of one program`;
}

/** A number of things: `1 card program`, `12,345 transfers`. */
export function formatNumber(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? singular : plural}`;
}
