import type { CallOptions, ProcessorAttemptRecord, TransferService, TransferTimeline } from '../../../sdk/client.ts';
import { backgroundClient } from '../../data/client.ts';

export type ShownTransfer = TransferTimeline & {
  /** Newest first. Empty if the money of its cards is in this ledger. */
  readonly attempts: readonly ProcessorAttemptRecord[];
};

export async function readTransfer(api: TransferService, id: string, options: CallOptions): Promise<ShownTransfer> {
  const [timeline, { data: attempts }] = await Promise.all([
    api.transfers.timeline(id, options),
    // If the transfer does not exist, the timeline reports it.
    backgroundClient.transfers.attempts(id, options),
  ]);
  return { ...timeline, attempts };
}
