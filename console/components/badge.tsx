import { CircleCheck, CircleSlash, CircleX, Clock } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import type { CardRecord, TransferRecord, WebhookRecord } from '../../sdk/client.ts';
import type { StateOfKey } from '../format/operators/keys.ts';

/** The meaning of a badge. Each meaning has an icon and a color, because color alone is not accessible. */
export type Tone = 'good' | 'waiting' | 'bad' | 'quiet' | 'plain';

const ICONS = { good: CircleCheck, waiting: Clock, bad: CircleX, quiet: CircleSlash, plain: undefined } as const;

type Status = TransferRecord['status'] | CardRecord['status'] | WebhookRecord['status'] | StateOfKey;

const TONES: Readonly<Record<string, Tone> & Record<Status, Tone>> = {
  completed: 'good',
  active: 'good',
  enabled: 'good',
  pending: 'waiting',
  scheduled: 'waiting',
  paused: 'waiting',
  inactive: 'waiting',
  preactive: 'waiting',
  failed: 'bad',
  disabled: 'bad',
  lost: 'bad',
  stolen: 'bad',
  rolled: 'plain',
  revoked: 'bad',
  fraud: 'bad',
  canceled: 'quiet',
  expired: 'quiet',
  closed: 'quiet',
};

/** The words for statuses that have a different name in the API. */
const LABELS: Readonly<Record<string, string>> = { inactive: 'suspended' };

/** Shows a status. The default tone follows from the status. */
export function Badge({ children, tone }: { readonly children: ComponentChildren; readonly tone?: Tone | undefined }) {
  const known = tone ?? (typeof children === 'string' ? TONES[children] : undefined) ?? 'plain';
  const Icon = ICONS[known];
  return (
    <span class={`badge ${known}`}>
      {Icon !== undefined && <Icon />}
      {typeof children === 'string' ? (LABELS[children] ?? children.replaceAll('_', ' ')) : children}
    </span>
  );
}

/** Shows the status of a transfer, whether it was reversed, and whether its outcome is unknown. */
export function TransferStatus({ transfer }: { readonly transfer: TransferRecord }) {
  const { status, outcome, reversed_amount: reversed, captured_amount: captured } = transfer;
  if (outcome === 'unknown') return <Badge tone="waiting">outcome unknown</Badge>;
  if (reversed === 0) return <Badge>{status}</Badge>;
  return <Badge tone="quiet">{reversed === captured ? 'reversed' : 'partially reversed'}</Badge>;
}
