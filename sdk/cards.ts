import { everyItem } from './paging.ts';
import type {
  Answered,
  CardLimitsRecord,
  CardRecord,
  CreateCardBody,
  ExportPostingsQuery,
  ListPostingsQuery,
  Page,
  PageQuery,
  PostingRecord,
  StatementPage,
  UpdateCardBody,
} from './records.ts';
import type { CallOptions, KeyedCallOptions } from './request.ts';
import type { Send } from './send.ts';
import type { TextChunks } from './text-chunks.ts';

/** Cards, what is on them and what they may do, in minor units. */
export class Cards {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * create_card: registers a card, under an id of your own if you name one. Codes: `idempotency_key_exists`,
   * `duplicate_card`.
   */
  create(body: CreateCardBody = {}, options?: KeyedCallOptions): Promise<Answered<CardRecord>> {
    return this.#send('create_card', { body, options });
  }

  /** get_card: a card and its balance. Codes: `card_not_found`. */
  get(cardId: string, options?: CallOptions): Promise<Answered<CardRecord>> {
    return this.#send('get_card', { parameters: { card_id: cardId }, options });
  }

  /** list_cards: one page, newest first. */
  list(query: PageQuery = {}, options?: CallOptions): Promise<Answered<Page<CardRecord>>> {
    return this.#send('list_cards', { query, options });
  }

  /** list_cards, page after page, for `for await`. */
  listAll(query: PageQuery = {}, options?: CallOptions): AsyncGenerator<CardRecord, void, undefined> {
    return everyItem((cursor) => this.list({ ...query, cursor }, options), query.cursor);
  }

  /**
   * update_card: changes what the body names, and removes what is null in it, also one limit alone. Closing a card with `balance_to` moves what is on it to funding first. A
   * change is not sent again by itself. Codes: `update_card_schema`, `service_disabled`, `card_not_found`,
   * `invalid_card_status`, `card_not_empty`, `limit_exceeded`, `unknown_update_card`.
   */
  update(cardId: string, body: UpdateCardBody, options?: CallOptions): Promise<Answered<CardRecord>> {
    return this.#send('update_card', { parameters: { card_id: cardId }, body, options });
  }

  /**
   * get_card_limits: what the card could do now: its limits and its program's, what was used of them, what is left and
   * when it frees. Codes: `card_not_found`.
   */
  limits(cardId: string, options?: CallOptions): Promise<Answered<CardLimitsRecord>> {
    return this.#send('get_card_limits', { parameters: { card_id: cardId }, options });
  }

  /**
   * list_postings: a page of the card's statement, newest line first, with the opening and the closing balance of the
   * whole time asked for. Codes: `list_postings_schema`, `card_not_found`.
   */
  postings(cardId: string, query: ListPostingsQuery = {}, options?: CallOptions): Promise<Answered<StatementPage>> {
    return this.#send('list_postings', { parameters: { card_id: cardId }, query, options });
  }

  /** list_postings, page after page, for `for await`. */
  postingsAll(
    cardId: string,
    query: ListPostingsQuery = {},
    options?: CallOptions,
  ): AsyncGenerator<PostingRecord, void, undefined> {
    return everyItem((cursor) => this.postings(cardId, { ...query, cursor }, options), query.cursor);
  }

  /**
   * export_postings: the card's statement as comma-separated values, a line of headings and a line per posting, oldest
   * first. Only a loop that ends without throwing has read all of it. Codes: `export_postings_schema`, `card_not_found`.
   */
  exportPostings(
    cardId: string,
    query: ExportPostingsQuery = {},
    options?: CallOptions,
  ): Promise<Answered<TextChunks>> {
    return this.#send('export_postings', { parameters: { card_id: cardId }, query, options });
  }
}
