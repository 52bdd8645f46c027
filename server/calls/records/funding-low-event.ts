import type { FundingLowRecord } from '../../../contract/events/programs.ts';
import type { DomainEvent } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';

/** How low the funding of a program has become, in minor units, and what caused it; ids as on the wire. */
export type LowFunding = {
  /** Inner UUID. */
  readonly programId: string;
  readonly currency: string;
  readonly available: bigint;
  readonly threshold: bigint;
  readonly transferId?: string;
  readonly movementId?: string;
};

/** The event funding.low. It belongs in the transaction of its cause, after the event of the cause. */
export function fundingLowEvent({ programId, currency, available, threshold, ...cause }: LowFunding): DomainEvent {
  const record: FundingLowRecord = {
    program_id: toWireId('prog', programId),
    currency,
    available: toWire(available),
    threshold: toWire(threshold),
    transfer_id: cause.transferId ?? null,
    movement_id: cause.movementId ?? null,
  };
  return { type: 'funding.low', programId, subjectId: record.program_id, payload: JSON.stringify(record) };
}
