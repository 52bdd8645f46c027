import { everyItem } from './paging.ts';
import type { Answered, CreateProgramBody, Page, PageQuery, ProgramRecord, UpdateProgramBody } from './records.ts';
import type { CallOptions, KeyedCallOptions } from './request.ts';
import type { Send } from './send.ts';

/** Card programs; for operators. */
export class Programs {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /** create_program: a card program with an empty funding account. Codes: `idempotency_key_exists`. */
  create(body: CreateProgramBody, options?: KeyedCallOptions): Promise<Answered<ProgramRecord>> {
    return this.#send('create_program', { body, options });
  }

  /** get_program: a card program and its funding, in minor units. Codes: `program_not_found`. */
  get(programId: string, options?: CallOptions): Promise<Answered<ProgramRecord>> {
    return this.#send('get_program', { parameters: { program_id: programId }, options });
  }

  /** list_programs: one page, newest first. */
  list(query: PageQuery = {}, options?: CallOptions): Promise<Answered<Page<ProgramRecord>>> {
    return this.#send('list_programs', { query, options });
  }

  /** list_programs, page after page, for `for await`. */
  listAll(query: PageQuery = {}, options?: CallOptions): AsyncGenerator<ProgramRecord, void, undefined> {
    return everyItem((cursor) => this.list({ ...query, cursor }, options), query.cursor);
  }

  /**
   * update_program: changes the name and the limits of a program, in minor units of its currency; null lifts a limit. A
   * change is not sent again by itself. Codes: `update_program_schema`, `program_not_found`.
   */
  update(programId: string, body: UpdateProgramBody, options?: CallOptions): Promise<Answered<ProgramRecord>> {
    return this.#send('update_program', { parameters: { program_id: programId }, body, options });
  }
}
