import { statusAt, type Transfer } from '../../../domain/transfers/transfer.ts';
import { OperationFailure } from '../../calls/call.ts';
import { newId } from '../../foundation/ids.ts';
import type { Row } from '../../store/connection/database.ts';
import { REFERENCE_TAKER, takerId } from '../../store/transfers/transfer.ts';
import type { CreateRequest, DueRequest, TransferRequest } from './request.ts';
import type { Outcome } from './respond.ts';

type Taker = Pick<Transfer, 'transferId' | 'status' | 'expiresAt'> & { readonly movedIn?: boolean };

/** Returned instead of an outcome if the reference belongs to an expired hold whose expiry is not stored yet. */
export class AwaitsExpiry {
  /** Inner UUID of the transfer with the hold. */
  readonly transferId: string;

  constructor(transferId: string) {
    this.transferId = transferId;
  }
}

/** The references that a group needs and that are already taken, including by the group's decisions so far. */
export class References {
  readonly #takers: Map<string, Taker>;

  constructor(rows: readonly Row[]) {
    this.#takers = new Map(rows.map((row) => REFERENCE_TAKER.read(row)).map((taker) => [keyOf(taker), taker]));
  }

  take(transfer: Transfer): void {
    if (transfer.reference !== null) this.#takers.set(keyOf(transfer), transfer);
  }

  /** Returns the id on the wire of what has the request's reference (see {@link takerId}), or undefined if the reference is free. */
  takenBy(request: Pick<CreateRequest, 'programId' | 'terms'>, now: number): string | undefined {
    const taker = this.#takerFor(request);
    return taker === undefined || statusAt(taker, now) === 'expired' ? undefined : takerId(taker);
  }

  /** Returns the expiry that must be stored before the request's transfer, or undefined. */
  expiryBefore(request: TransferRequest, now: number): AwaitsExpiry | undefined {
    const taker = request.command === 'create' ? this.#takerFor(request) : undefined;
    const isOver = taker !== undefined && taker.status === 'pending' && statusAt(taker, now) === 'expired';
    return isOver ? new AwaitsExpiry(taker.transferId) : undefined;
  }

  #takerFor({ programId, terms: { reference } }: Pick<CreateRequest, 'programId' | 'terms'>): Taker | undefined {
    return reference === null ? undefined : this.#takers.get(keyOf({ programId, reference }));
  }
}

function keyOf({ programId, reference }: { readonly programId: string; readonly reference: string | null }): string {
  return `${programId}\n${reference}`;
}

type Submit = (request: TransferRequest, deadline: number) => Promise<Outcome | AwaitsExpiry>;

/**
 * Submits a request. If an expired hold still has the request's reference, first stores the expiry. The database allows each
 * reference only once among the transfers that hold money, have moved it or may still move it.
 */
export async function submitAfterExpiry(request: TransferRequest, deadline: number, submit: Submit): Promise<Outcome> {
  for (;;) {
    const outcome = await submit(request, deadline);
    if (!(outcome instanceof AwaitsExpiry)) return outcome;
    const { transferId } = outcome;
    const { programId } = request;
    const expiry: DueRequest = {
      command: 'expire',
      ...{ programId, transferId, requestId: newId(), key: null, operator: null },
    };
    try {
      // The expiry is refused if the job or another request has stored it in the meantime.
      await submit(expiry, deadline);
    } catch (cause) {
      const busy = cause instanceof OperationFailure && cause.busy;
      const message = 'the expired hold that has the reference could not be ended';
      throw new OperationFailure(message, { busy, moneyMoved: 'no', cause });
    }
  }
}
