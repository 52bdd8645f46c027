import { everyItem } from './paging.ts';
import type {
  Answered,
  CaptureTransferBody,
  CreateTransferBody,
  ExportTransfersQuery,
  ListTransfersQuery,
  Page,
  PageQuery,
  ReversalRecord,
  ReverseTransferBody,
  TransferBatchOutcomes,
  TransferBatchRow,
  TransferExplanation,
  TransferRecord,
  UpdateTransferBody,
} from './records.ts';
import type { CallOptions, KeyedCallOptions } from './request.ts';
import type { Send } from './send.ts';
import type { TextChunks } from './text-chunks.ts';

/** Transfers: loads, unloads, and money from card to card; their holds and their reversals. */
export class Transfers {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * create_transfer: moves `amount` minor units to, from or between cards (specification, section 4). With `capture`
   * `manual` it only holds them, until `expires_at` at the latest; with `scheduled_for` it waits until then.
   * Codes: `create_transfer_schema`, `invalid_amount`, `idempotency_key_exists`, `service_disabled`, `card_not_found`, those
   * of a card's state, `currency_mismatch`, `duplicate_reference`, `amount_too_small`, `amount_too_large`, `limit_exceeded`,
   * `insufficient_funds`, `unknown_create_transfer`.
   */
  create(body: CreateTransferBody, options?: KeyedCallOptions): Promise<Answered<TransferRecord>> {
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
  explain(body: CreateTransferBody, options?: KeyedCallOptions): Promise<Answered<TransferExplanation>> {
    return this.#send('explain_transfer', { body, options });
  }

  /**
   * capture_transfer: moves what a transfer holds, or `amount` minor units of it, and releases the rest for good.
   * Codes: `invalid_amount`, `idempotency_key_exists`, `service_disabled`, `transfer_not_found`, `invalid_transfer_status`,
   * `amount_too_large`, those of a card's state, `limit_exceeded`, `unknown_capture_transfer`.
   */
  capture(
    transferId: string,
    body: CaptureTransferBody = {},
    options?: KeyedCallOptions,
  ): Promise<Answered<TransferRecord>> {
    return this.#send('capture_transfer', { parameters: { transfer_id: transferId }, body, options });
  }

  /**
   * cancel_transfer: ends a scheduled or pending transfer; what it holds is released.
   * Codes: `idempotency_key_exists`, `transfer_not_found`, `invalid_transfer_status`, `unknown_cancel_transfer`.
   */
  cancel(transferId: string, options?: KeyedCallOptions): Promise<Answered<TransferRecord>> {
    return this.#send('cancel_transfer', { parameters: { transfer_id: transferId }, options });
  }

  /**
   * reverse_transfer: moves back what a completed transfer moved, or `amount` minor units of it; together at most what
   * was captured. Codes: `invalid_amount`, `idempotency_key_exists`, `service_disabled`, `transfer_not_found`,
   * `invalid_transfer_status`, `amount_too_large`, `card_closed`, `insufficient_funds`, `limit_exceeded`,
   * `unknown_reverse_transfer`.
   */
  reverse(
    transferId: string,
    body: ReverseTransferBody = {},
    options?: KeyedCallOptions,
  ): Promise<Answered<ReversalRecord>> {
    return this.#send('reverse_transfer', { parameters: { transfer_id: transferId }, body, options });
  }

  /**
   * update_transfer: sets the pairs of metadata that the body names, removes those that are null in it, and leaves all
   * others; `metadata: null` removes all pairs. A change is not sent again by itself.
   * Codes: `update_transfer_schema`, `transfer_not_found`.
   */
  update(transferId: string, body: UpdateTransferBody, options?: CallOptions): Promise<Answered<TransferRecord>> {
    return this.#send('update_transfer', { parameters: { transfer_id: transferId }, body, options });
  }

  /** list_reversals: one page of a transfer's reversals, newest first. Codes: `transfer_not_found`. */
  reversals(transferId: string, query: PageQuery = {}, options?: CallOptions): Promise<Answered<Page<ReversalRecord>>> {
    return this.#send('list_reversals', { parameters: { transfer_id: transferId }, query, options });
  }

  /** list_reversals, page after page, for `for await`. */
  reversalsAll(
    transferId: string,
    query: PageQuery = {},
    options?: CallOptions,
  ): AsyncGenerator<ReversalRecord, void, undefined> {
    return everyItem((cursor) => this.reversals(transferId, { ...query, cursor }, options), query.cursor);
  }

  /** get_reversal: by its own id, `rev_…`. Codes: `reversal_not_found`. */
  reversal(reversalId: string, options?: CallOptions): Promise<Answered<ReversalRecord>> {
    return this.#send('get_reversal', { parameters: { reversal_id: reversalId }, options });
  }

  /**
   * export_transfers: comma-separated values, a line of headings and a line per transfer, oldest first. Only a loop that
   * ends without throwing has read all of it. Codes: `export_transfers_schema`.
   */
  export(query: ExportTransfersQuery = {}, options?: CallOptions): Promise<Answered<TextChunks>> {
    return this.#send('export_transfers', { query, options });
  }

  /** list_transfers: one page, newest first. Look one up by `idempotency_key` or `reference`. */
  list(query: ListTransfersQuery = {}, options?: CallOptions): Promise<Answered<Page<TransferRecord>>> {
    return this.#send('list_transfers', { query, options });
  }

  /** list_transfers, page after page, for `for await`. */
  listAll(query: ListTransfersQuery = {}, options?: CallOptions): AsyncGenerator<TransferRecord, void, undefined> {
    return everyItem((cursor) => this.list({ ...query, cursor }, options), query.cursor);
  }

  /** get_transfer. Codes: `transfer_not_found`. */
  get(transferId: string, options?: CallOptions): Promise<Answered<TransferRecord>> {
    return this.#send('get_transfer', { parameters: { transfer_id: transferId }, options });
  }
}
