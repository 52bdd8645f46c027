import { everyItem } from './paging.ts';
import type { Answered, AuditEntryRecord, ListAuditEntriesQuery, Page } from './records.ts';
import type { CallOptions } from './request.ts';
import type { Send } from './send.ts';

/** The audit log; for operators. */
export class Audit {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** list_audit_entries: one page, newest first. */
  list(query: ListAuditEntriesQuery = {}, options?: CallOptions): Promise<Answered<Page<AuditEntryRecord>>> {
    return this.#send('list_audit_entries', { query, options });
  }

  /** list_audit_entries, page after page, for `for await`. */
  listAll(query: ListAuditEntriesQuery = {}, options?: CallOptions): AsyncGenerator<AuditEntryRecord, void, undefined> {
    return everyItem((cursor) => this.list({ ...query, cursor }, options), query.cursor);
  }
}
