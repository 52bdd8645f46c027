import { everyItem } from './paging.ts';
import type {
  Answered,
  CreateTransferBody,
  ListTransfersQuery,
  Page,
  TransferBatchOutcomes,
  TransferBatchRow,
  TransferExplanation,
  TransferRecord,
} from './records.ts';
import type { CallOptions, MoneyCallOptions } from './request.ts';
import type { Send } from './send.ts';

/** Transfers: loads, unloads, and money from card to card. */
export class Transfers {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * create_transfer: moves `amount` minor units to, from or between cards (specification, section 4).
   * Codes: `create_transfer_schema`, `invalid_amount`, `idempotency_key_exists`, `service_disabled`, `card_dne`, those
   * of a card's state, `currency_mismatch`, `duplicate_reference`, `limit_exceeded`, `insufficient_funds`,
   * `unknown_create_transfer`.
   */
  create(body: CreateTransferBody, options?: MoneyCallOptions): Promise<Answered<TransferRecord>> {
    return this.#send('create_transfer', { body, options });
  }

  /**
   * create_transfer_batch: up to 1,000 transfers, each with a key of its own; sending the same rows again moves nothing
   * twice. Resolves with an outcome for each row, in their order: look at each `error`. Codes of the whole call:
   * `create_transfer_batch_schema`, `payload_too_large`.
   */
  createBatch(rows: readonly TransferBatchRow[], options?: CallOptions): Promise<Answered<TransferBatchOutcomes>> {
    return this.#send('create_transfer_batch', { body: { transfers: rows }, options });
  }

  /**
   * explain_transfer: every check of create_transfer with what it saw; moves nothing. With the idempotency key of an
   * earlier request it says what that key means now. Codes: `explain_transfer_schema`.
   */
  explain(body: CreateTransferBody, options?: MoneyCallOptions): Promise<Answered<TransferExplanation>> {
    return this.#send('explain_transfer', { body, options });
  }

  /** list_transfers: one page, newest first. Look one up by `idempotency_key` or `reference`. */
  list(query: ListTransfersQuery = {}, options?: CallOptions): Promise<Answered<Page<TransferRecord>>> {
    return this.#send('list_transfers', { query, options });
  }

  /** list_transfers, page after page, for `for await`. */
  listAll(query: ListTransfersQuery = {}, options?: CallOptions): AsyncGenerator<TransferRecord, void, undefined> {
    return everyItem((cursor) => this.list({ ...query, cursor }, options), query.cursor);
  }

  /** get_transfer. Codes: `transfer_dne`. */
  get(transferId: string, options?: CallOptions): Promise<Answered<TransferRecord>> {
    return this.#send('get_transfer', { parameters: { transfer_id: transferId }, options });
  }
}
