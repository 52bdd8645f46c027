import type { ComponentChildren } from 'preact';

/** What a badge says about its text, besides the text: never by colour alone. */
export type Tone = 'good' | 'waiting' | 'bad' | 'quiet' | 'plain';

const SIGNS: Readonly<Record<Tone, string>> = { good: '●', waiting: '◐', bad: '■', quiet: '○', plain: '' };

/** The tone of each status of transfers, cards, webhooks and keys. */
const TONES: Readonly<Record<string, Tone>> = {
  completed: 'good',
  captured: 'good',
  active: 'good',
  enabled: 'good',
  succeeded: 'good',
  delivered: 'good',
  pending: 'waiting',
  scheduled: 'waiting',
  paused: 'waiting',
  inactive: 'waiting',
  suspended: 'waiting',
  preactive: 'waiting',
  retrying: 'waiting',
  failed: 'bad',
  dead: 'bad',
  disabled: 'bad',
  lost: 'bad',
  stolen: 'bad',
  revoked: 'bad',
  fraud: 'bad',
  canceled: 'quiet',
  expired: 'quiet',
  closed: 'quiet',
  reversed: 'quiet',
};

/** Words of the API for which people say another. */
const SPOKEN: Readonly<Record<string, string>> = { inactive: 'suspended' };

/** A short word about a state. Without a tone, that of the word. */
export function Badge({ children, tone }: { readonly children: ComponentChildren; readonly tone?: Tone | undefined }) {
  const known = tone ?? (typeof children === 'string' ? TONES[children] : undefined) ?? 'plain';
  return (
    <span class={`badge ${known}`}>
      {SIGNS[known] !== '' && <span aria-hidden="true">{SIGNS[known]}</span>}
      {typeof children === 'string' ? (SPOKEN[children] ?? children.replaceAll('_', ' ')) : children}
    </span>
  );
}
