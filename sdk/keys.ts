import { everyItem } from './paging.ts';
import type { Answered, CreateKeyBody, KeyRecord, NewKeyRecord, Page, PageQuery, RollKeyBody } from './records.ts';
import type { CallOptions, KeyedCallOptions } from './request.ts';
import type { Send } from './send.ts';

/** API keys; for operators. */
export class Keys {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * create_key: the only answer that ever holds the secret, as `key`. Names the scopes, and either the card program or
   * `all_programs`. When the first answer was lost and the client sent the request again, the answer is a replay without
   * the secret: `key` is null, and `key_omitted` says what to do.
   * Codes: `create_key_schema`, `program_not_found`, `idempotency_key_exists`.
   */
  create(body: CreateKeyBody, options?: KeyedCallOptions): Promise<Answered<NewKeyRecord>> {
    return this.#send('create_key', { body, options });
  }

  /** list_keys: one page, newest first, without secrets. */
  list(query: PageQuery = {}, options?: CallOptions): Promise<Answered<Page<KeyRecord>>> {
    return this.#send('list_keys', { query, options });
  }

  /** list_keys, page after page, for `for await`. */
  listAll(query: PageQuery = {}, options?: CallOptions): AsyncGenerator<KeyRecord, void, undefined> {
    return everyItem((cursor) => this.list({ ...query, cursor }, options), query.cursor);
  }

  /**
   * roll_key: a new key in the place of one that works on for a while; its secret is only in the first answer, as with
   * {@link create}. Codes: `idempotency_key_exists`, `key_not_found`.
   */
  roll(keyId: string, body: RollKeyBody = {}, options?: KeyedCallOptions): Promise<Answered<NewKeyRecord>> {
    return this.#send('roll_key', { parameters: { key_id: keyId }, body, options });
  }

  /** revoke_key: the key stops working for good. Codes: `idempotency_key_exists`, `key_not_found`. */
  revoke(keyId: string, options?: KeyedCallOptions): Promise<Answered<KeyRecord>> {
    return this.#send('revoke_key', { parameters: { key_id: keyId }, options });
  }
}
