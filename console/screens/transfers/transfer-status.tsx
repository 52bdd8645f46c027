import type { TransferRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';

/** The status of a transfer, and whether it was reversed, or its outcome is unknown. */
export function TransferStatus({ transfer }: { readonly transfer: TransferRecord }) {
  const { status, outcome, reversed_amount: reversed, captured_amount: captured } = transfer;
  if (outcome === 'unknown') return <Badge tone="waiting">outcome unknown</Badge>;
  if (reversed === 0) return <Badge>{status}</Badge>;
  return <Badge tone="quiet">{reversed === captured ? 'reversed' : 'partially reversed'}</Badge>;
}
