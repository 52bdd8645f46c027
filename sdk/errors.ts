import { everyItem } from './paging.ts';
import type {
  Answered,
  CountErrorsQuery,
  ErrorCounts,
  FoundErrors,
  InspectedErrorRecord,
  ListErrorsQuery,
  LoggedErrorRecord,
  Page,
  SearchErrorsQuery,
} from './records.ts';
import type { CallOptions } from './request.ts';
import type { Send } from './send.ts';

/** The error log: every answer that was an error, found by its request id within a second. */
export class Errors {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** get_error: an error of the card program, by the `requestId` of a TransferServiceError. Codes: `error_not_found`. */
  get(requestId: string, options?: CallOptions): Promise<Answered<LoggedErrorRecord>> {
    return this.#send('get_error', { parameters: { request_id: requestId }, options });
  }

  /** list_errors: one page of the card program's errors, newest first. Codes: `list_errors_schema`. */
  list(query: ListErrorsQuery = {}, options?: CallOptions): Promise<Answered<Page<LoggedErrorRecord>>> {
    return this.#send('list_errors', { query, options });
  }

  /** list_errors, page after page, for `for await`. */
  listAll(query: ListErrorsQuery = {}, options?: CallOptions): AsyncGenerator<LoggedErrorRecord, void, undefined> {
    return everyItem((cursor) => this.list({ ...query, cursor }, options), query.cursor);
  }

  /** inspect_error: any error, with its checks and causes; for operators. Codes: `error_not_found`. */
  inspect(requestId: string, options?: CallOptions): Promise<Answered<InspectedErrorRecord>> {
    return this.#send('inspect_error', { parameters: { request_id: requestId }, options });
  }

  /**
   * search_errors: one page of the errors of all card programs, and of none, newest first; for operators. `dropped` in
   * it counts those that could not be recorded. Codes: `search_errors_schema`.
   */
  search(query: SearchErrorsQuery = {}, options?: CallOptions): Promise<Answered<FoundErrors>> {
    return this.#send('search_errors', { query, options });
  }

  /** count_errors: errors by code and hour or day, for a chart; for operators. Codes: `count_errors_schema`. */
  count(query: CountErrorsQuery = {}, options?: CallOptions): Promise<Answered<ErrorCounts>> {
    return this.#send('count_errors', { query, options });
  }
}
