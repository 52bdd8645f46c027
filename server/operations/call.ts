import type { OperationId } from '../../contract/operations.ts';
import type { JsonValue } from '../../contract/reading/json.ts';
import type { MoneyMoved } from '../../domain/refusal.ts';

/**
 * Who is calling. A keyless sandbox caller may do everything, in the demo program unless it names another. `host` is a
 * command on the host of the service; `operator_key` any key that is bound to no card program, whatever its scopes.
 */
export type Caller =
  | { readonly kind: 'sandbox' }
  | { readonly kind: 'host' }
  | (Bearer & { readonly kind: 'program_key'; readonly programId: string })
  | (Bearer & { readonly kind: 'operator_key' });

type Bearer = { readonly keyId: string; readonly scopes: readonly string[] };

/** A credential that was sent and refused. */
export type RefusedCredential = {
  /** Where the request came from, past trusted proxies: an IPv4 address, or the first 64 bits of an IPv6 address. */
  readonly address: string;
  /** The Authorization header, or what of it was taken for a key. */
  readonly sent: string;
  /** What stood against it, in a few words. */
  readonly reason: string;
};

/** A request after http has authenticated, parsed and read it: everything in it is trusted. */
export type Call = {
  readonly operation: OperationId;
  /** Inner UUID of the request; `Request-Id` on the wire. */
  readonly requestId: string;
  readonly caller: Caller;
  /** Inner UUID of the card program; empty for operations that act in none. */
  readonly programId: string;
  /** Path parameters, by name, as sent. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Members of the body or the query, read against the operation's schema. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The body as sent, for the fingerprint of an idempotency key. */
  readonly sent: JsonValue;
  readonly idempotencyKey: string | null;
  /** When the caller must have an answer, by `performance.now()`, in milliseconds. */
  readonly deadline: number;
};

/** A success. `body` is JSON text, so that a replay is the first answer to the letter. */
export type Reply = {
  readonly status: 200 | 201;
  readonly body: string;
  /** Path of what was made, for `Location`. */
  readonly location?: string;
  /** Set when this is the first answer to an idempotency key, given again. */
  readonly replayed?: boolean;
  /** Set when the answer is an export: `body` is how it begins, and the rest comes piece by piece. */
  readonly csv?: CsvExport;
  /** The gravest refusal or fault among the rows of a success that has rows, for the error log. */
  readonly refusedRow?: RefusedRow;
};

/**
 * Comma-separated values, of any length. What `rest` throws comes too late for an error record: the answer is cut off,
 * so that nobody takes it for whole.
 */
export type CsvExport = {
  /** Letters, digits, hyphens and dots. */
  readonly fileName: string;
  /** Pieces of text, read one after the other as they are sent; an empty one is nothing. */
  readonly rest: AsyncIterator<string, void, undefined>;
};

/** A row that was answered with an error record inside a success. */
export type RefusedRow = {
  readonly thrown: unknown;
  readonly idempotencyKey: string | null;
  /** Place of the row, from 0, and how many rows were refused or failed. */
  readonly index: number;
  readonly refused: number;
};

/** One operation. Throws a Refusal (domain) for no, {@link OperationFailure} for a fault; anything else is a bug. */
export type Handler = (call: Call) => Promise<Reply>;

/**
 * A fault that is not the caller's and whose effect on money is known, or known to be unknown.
 * `busy` becomes `service_unavailable` (nothing was begun), everything else `unknown_<operation>`.
 */
export class OperationFailure extends Error {
  override readonly name = 'OperationFailure';
  readonly busy: boolean;
  readonly moneyMoved: MoneyMoved;
  /** Id on the wire of the transfer that may exist, when it is not known whether it does. */
  readonly transferId: string | undefined;

  constructor(
    message: string,
    facts: {
      readonly busy?: boolean;
      readonly moneyMoved: MoneyMoved;
      readonly transferId?: string;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: facts.cause });
    this.busy = facts.busy ?? false;
    this.moneyMoved = facts.moneyMoved;
    this.transferId = facts.transferId;
  }
}

/** What http asks of the rest of the house. `main.ts` builds it. */
export type Gateway = {
  readonly mode: 'sandbox' | 'live';
  /** Whether requests without a key are taken (a sandbox that listens on loopback only). */
  readonly keyless: boolean;
  /** How customers reach support, quoted in messages; such as an e-mail address. */
  readonly supportContact: string;
  readonly handlers: Readonly<Record<OperationId, Handler>>;
  /** The caller that a Bearer key stands for; throws a Refusal `unauthenticated` when it stands for none. */
  readonly authenticate: (key: string, deadline: number) => Promise<Caller>;
  /** Told of every credential that was sent and refused, once for each request; must not throw. */
  readonly onRefusedCredential: (refused: RefusedCredential) => void;
  /** Inner UUID of the program that a call without a bound key is about; throws a Refusal `program_not_found`. */
  readonly findProgram: (programId: string, deadline: number) => Promise<string>;
  /** Inner UUID of the sandbox's demo program. */
  readonly demoProgramId: string;
  /** Whether operations can be served; never throws. */
  readonly ready: () => Promise<Readiness>;
};

/**
 * Whether the database takes writes, or why not: it does not respond, is a standby or read-only, has no disk space, has no
 * connection left, or fails to write or commit for another reason.
 */
export type Readiness = 'ready' | 'silent' | 'read_only' | 'disk_full' | 'no_connection' | 'unwritable';
