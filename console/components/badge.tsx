import type { ComponentChildren } from 'preact';

/** The meaning of a badge, shown by a sign and a colour: never by colour alone. */
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

/** Statuses of the API that people call by another word. */
const LABELS: Readonly<Record<string, string>> = { inactive: 'suspended' };

/** A status. Without a `tone`, it has the tone of its word. */
export function Badge({ children, tone }: { readonly children: ComponentChildren; readonly tone?: Tone | undefined }) {
  const known = tone ?? (typeof children === 'string' ? TONES[children] : undefined) ?? 'plain';
  return (
    <span class={`badge ${known}`}>
      {SIGNS[known] !== '' && <span aria-hidden="true">{SIGNS[known]}</span>}
      {typeof children === 'string' ? (LABELS[children] ?? children.replaceAll('_', ' ')) : children}
    </span>
  );
}
