import { everyItem } from './paging.ts';
import type { Answered, CardRecord, CreateCardBody, Page, PageQuery } from './records.ts';
import type { CallOptions } from './request.ts';
import type { Send } from './send.ts';

/** Cards and what is on them, in minor units. */
export class Cards {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** create_card: registers a card, under an id of your own if you name one. Codes: `duplicate_card`. */
  create(body: CreateCardBody = {}, options?: CallOptions): Promise<Answered<CardRecord>> {
    return this.#send('create_card', { body, options });
  }

  /** get_card: a card and its balance. Codes: `card_dne`. */
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
}
