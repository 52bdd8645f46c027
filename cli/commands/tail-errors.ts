import type { Command } from 'commander';
import { printable, printableJson } from '../../domain/printable-text.ts';
import { jitteredBackoff, pause } from '../../sdk/backoff.ts';
import {
  ConnectionFailure,
  ERROR_TYPES,
  type ListErrorsQuery,
  type LoggedErrorRecord,
  type OperatorErrorRecord,
  type PageQuery,
  RequestError,
  TransferServiceError,
  UnexpectedResponse,
} from '../../sdk/client.ts';
import { addCommand, type OptionsFor, TIME_OPTIONS } from '../command.ts';
import { bad, warning } from '../paint.ts';
import { retryReporter } from '../read-events.ts';
import type { CommandContext, Session } from '../session.ts';
import { plainTime } from '../times.ts';

type Filters = Omit<ListErrorsQuery, 'limit' | 'cursor' | 'created_to'>;
type TailOptions = Filters & { readonly allPrograms?: boolean };
type Found = LoggedErrorRecord & Partial<OperatorErrorRecord>;

const OPTIONS: OptionsFor<TailOptions> = {
  code: { flag: '--code <code>', help: 'only this error code' },
  type: { flag: '--type <type>', help: 'only this type', choices: ERROR_TYPES },
  operation: { flag: '--operation <operation>', help: 'only this operation, such as create_transfer' },
  card_id: {
    flag: '--card <card_id>',
    help: 'only errors about this card; leaves out invalid request bodies',
  },
  created_from: { ...TIME_OPTIONS.created_from, help: 'print errors from this time on (default: from now on)' },
  allPrograms: { flag: '--all-programs', help: 'errors of all card programs and unknown callers; for operators' },
};

const NOTES = `
If the connection is lost or the service restarts, the command continues where
it stopped. Errors that are recorded late, such as after a database failure,
are printed late. Press Ctrl-C to stop.`;

const POLL_MILLISECONDS = 1_000;
/**
 * The error log is ordered by the time of the request. But an error is only recorded when the request ends, or when the
 * database is back. Every tenth poll therefore looks for new errors this far back, or back to the last outage.
 */
const LATE_MILLISECONDS = 600_000;
const POLLS_PER_LATE_POLL = 10;

export function addTailErrors(errors: Command, context: CommandContext): void {
  addCommand<TailOptions>(errors, context, {
    name: 'tail',
    description: 'print errors as they are recorded (with --json, one JSON record per line)',
    options: OPTIONS,
    notes: NOTES,
    run: async (session, { allPrograms = false, created_from, ...filters }) => {
      const { service, json, write } = session;
      const list = (query: Filters & PageQuery, signal: AbortSignal) =>
        allPrograms ? service.errors.search(query, { signal }) : service.errors.list(query, { signal });
      const print = (error: Found): void => write(json ? `${printableJson(error)}\n` : errorText(error));
      await new ErrorTail(session, (query, signal) => list({ ...filters, ...query }, signal), print).run(created_from);
    },
  });
}

type List = (
  query: PageQuery & { readonly created_from?: string | undefined },
  signal: AbortSignal,
) => Promise<{ readonly data: readonly Found[]; readonly next_cursor: string | null }>;

class ErrorTail {
  readonly #session: Session;
  readonly #list: List;
  readonly #print: (error: Found) => void;
  /** The times of errors that were printed or that existed at the start, by id. */
  readonly #known = new Map<string, number>();
  /** Errors before this time are not new. */
  #begin: string | undefined;
  /** The time of the newest error, by the clock of the service. */
  #newest: number | undefined;
  /** The time of the newest error before the last outage. */
  #beforeOutage: number | undefined;

  constructor(session: Session, list: List, print: (error: Found) => void) {
    this.#session = session;
    this.#list = list;
    this.#print = print;
  }

  async run(from: string | undefined): Promise<void> {
    const { untilEnded, writeError, command } = this.#session;
    const signal = untilEnded();
    const report = retryReporter(writeError, () => 'Trying again');
    try {
      await this.#begun(from, signal);
      writeError('Waiting for errors. Press Ctrl-C to stop.\n');
      let failures = 0;
      for (let look = 1; !signal.aborted; look += 1) {
        try {
          await this.#look(look % POLLS_PER_LATE_POLL === 0 || failures > 0, signal);
          failures = 0;
          await pause(POLL_MILLISECONDS, signal);
        } catch (error) {
          if (signal.aborted || !isTemporary(error)) throw error;
          failures += 1;
          if (failures === 1) this.#beforeOutage = this.#newest;
          const waitMilliseconds = Math.max(POLL_MILLISECONDS, jitteredBackoff(failures));
          report({ error, position: 0, waitMilliseconds });
          await pause(waitMilliseconds, signal);
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      const last = this.#newest === undefined ? this.#begin : new Date(this.#newest + 1).toISOString();
      if (last !== undefined) writeError(`To continue: ${command} errors tail --from ${last}\n`);
    }
  }

  /** Without a time to start from, all existing errors count as known. */
  async #begun(from: string | undefined, signal: AbortSignal): Promise<void> {
    if (from !== undefined) {
      this.#begin = from;
      return;
    }
    const { data } = await this.#list({ limit: 100 }, signal);
    for (const error of data) this.#note(error);
    this.#begin = data[0]?.created_at;
  }

  /** Prints new errors, oldest first. A quick poll stops at the first known error. A late poll continues. */
  async #look(isLate: boolean, signal: AbortSignal): Promise<void> {
    const found: Found[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#list({ limit: 100, cursor, created_from: this.#from() }, signal);
      const fresh = page.data.filter(({ request_id: id }) => !this.#known.has(id));
      found.push(...fresh);
      cursor = fresh.length < page.data.length && !isLate ? undefined : (page.next_cursor ?? undefined);
    } while (cursor !== undefined);
    for (const error of found.toReversed()) {
      this.#note(error);
      this.#print(error);
    }
    this.#forget();
  }

  /** The time from which a poll reads errors. */
  #from(): string | undefined {
    if (this.#newest === undefined) return this.#begin;
    const late = Math.min(this.#newest, this.#beforeOutage ?? this.#newest) - LATE_MILLISECONDS;
    const begin = this.#begin === undefined ? late : Math.max(late, Date.parse(this.#begin));
    return new Date(begin).toISOString();
  }

  #note({ request_id: id, created_at: time }: Found): void {
    const at = Date.parse(time);
    this.#known.set(id, at);
    this.#newest = Math.max(at, this.#newest ?? at);
  }

  #forget(): void {
    const newest = this.#newest;
    if (newest === undefined) return;
    if (this.#beforeOutage !== undefined && this.#beforeOutage < newest - LATE_MILLISECONDS)
      this.#beforeOutage = undefined;
    const from = Date.parse(this.#from() ?? '');
    for (const [id, at] of this.#known) if (at < from) this.#known.delete(id);
  }
}

/** Whether a failure is temporary: no connection, a service that is not ready, or a rate limit. */
function isTemporary(error: unknown): boolean {
  if (error instanceof ConnectionFailure || error instanceof UnexpectedResponse) return true;
  return error instanceof TransferServiceError && (!(error instanceof RequestError) || error.shouldRetry);
}

function errorText(error: Found): string {
  const { created_at, status, code, type, operation, request_id, program_id, message } = error;
  const paint = type === 'Request Error' ? warning : bad;
  const words = [
    plainTime(created_at),
    paint(`${status} ${code}`),
    operation ?? '-',
    ...(program_id === undefined ? [] : [program_id ?? '-']),
    request_id,
    printable(message),
  ];
  return `${words.join('  ')}\n`;
}
