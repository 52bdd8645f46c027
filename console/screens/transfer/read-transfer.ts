import type { CallOptions, ProcessorAttemptRecord, TransferService, TransferTimeline } from '../../../sdk/client.ts';
import { backgroundClient } from '../../data/client.ts';

/** A transfer with everything that happened to it, also at the processor of its card. */
export type ShownTransfer = TransferTimeline & {
  /** The newest first; none if the money of its cards is in this ledger. */
  readonly attempts: readonly ProcessorAttemptRecord[];
};

/** Reads a transfer with everything that happened to it. */
export async function readTransfer(api: TransferService, id: string, options: CallOptions): Promise<ShownTransfer> {
  const [timeline, { data: attempts }] = await Promise.all([
    api.transfers.timeline(id, options),
    // If there is no such transfer, the timeline says so.
    backgroundClient.transfers.attempts(id, options),
  ]);
  return { ...timeline, attempts };
}
