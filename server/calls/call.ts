import type { BodyOf, MoneyOperationId, OperationId, ParamsOf, QueryOf, ReplyOf } from '../../contract/operations.ts';
import type { JsonValue } from '../../contract/reading/json.ts';
import { includesScope, type KeyScope } from '../../contract/scope.ts';
import type { ReadinessReason } from '../../domain/readiness.ts';
import { type MoneyMoved, Refusal } from '../../domain/refusal.ts';
import type { Covered } from '../../domain/support/incident.ts';
import type { Database } from '../store/connection/database.ts';
import type { Processors, VerifyNotice } from './processors.ts';
import type { RequestTrace } from './trace.ts';

/**
 * Who is calling. A keyless sandbox caller may do everything, in the demo program unless it names another. `host` is a
 * command on the host of the service; `connector` is the adapter of a processor, which has signed its request; `operator_key` is any key that belongs to no card program, whatever its scopes.
 */
export type Caller =
  | { readonly kind: 'sandbox' }
  | { readonly kind: 'host' }
  | { readonly kind: 'connector'; readonly connectorId: string }
  | (Bearer & { readonly kind: 'program_key'; readonly programId: string })
  | (Bearer & { readonly kind: 'operator_key' });

type Bearer = {
  readonly keyId: string;
  readonly scopes: readonly string[];
  /** Inner UUID of the session; undefined if the key itself was sent. */
  readonly sessionId?: string;
};

/** Whether a caller may use operations with this scope: callers without a key may use all. */
export function hasScope(caller: Caller, scope: KeyScope): boolean {
  return !('keyId' in caller) || includesScope(caller.scopes, scope);
}

/** A credential that was sent and refused. */
export type RefusedCredential = {
  /** Where the request came from, past trusted proxies: an IPv4 address, or the first 64 bits of an IPv6 address. */
  readonly address: string;
  /** The Authorization header, or the part of it that was read as a key. */
  readonly sent: string;
  /** Why it was refused, in a few words. */
  readonly reason: string;
};

/** What every call has, whatever its operation. */
export type CallContext = {
  readonly operation: OperationId;
  /** Inner UUID of the request; `Request-Id` on the wire. */
  readonly requestId: string;
  /** The caller's trace, where it sent a valid `traceparent`. */
  readonly traceparent?: string | undefined;
  /** Set if the spans of the request are sent to a collector. */
  readonly trace?: RequestTrace | undefined;
  readonly caller: Caller;
  /** Inner UUID of the card program; empty for operations outside card programs. */
  readonly programId: string;
  /** The case (id on the wire) that the caller says it works on, for the audit log. Whether it exists is not known. */
  readonly caseId?: string | undefined;
  /** Path parameters as sent. */
  readonly params: Readonly<Record<string, string>>;
  /** The body as sent, for the fingerprint of an idempotency key. */
  readonly sent: JsonValue;
  readonly idempotencyKey: string | null;
  /** The versions of the record that the change accepts (`If-Match`); undefined for any. Only for operations that compare them. */
  readonly ifMatch?: readonly string[] | undefined;
  /** For create_transfer: how long the caller prefers to wait for the end of the transfer, in seconds (`Prefer: wait`). */
  readonly waitSeconds?: number | undefined;
  /** For create_transfer and explain_transfer in a sandbox: what the simulated processor is to do with it (`Sandbox-Processor`), validated. */
  readonly sandboxBehavior?: string | undefined;
  /** Set where the caller asked for a stream of Server-Sent Events, and the operation has one. */
  readonly stream?: StreamRequest | undefined;
  /** When the response is due, by `performance.now()`, in milliseconds. */
  readonly deadline: number;
  /**
   * Whether the caller is known to be gone: it has disconnected, or was told that the response comes too late. With
   * `isWaiting`, for work that has to wait for its turn, also whether the caller has ended its input, which hardly any
   * caller does that still reads. Omitted if that cannot happen.
   */
  readonly isGone?: ((isWaiting: boolean) => boolean) | undefined;
};

/** What a request for a stream contains besides its query. */
export type StreamRequest = {
  /** The Last-Event-ID header: where to resume. */
  readonly lastEventId: string | undefined;
};

/** A request that http has authenticated, parsed and validated against the definition of its operation. */
export type Call<Id extends OperationId> = CallContext & {
  readonly operation: Id;
  readonly params: ParamsOf<Id>;
  readonly query: QueryOf<Id>;
  readonly body: BodyOf<Id>;
};

/**
 * A success. A handler returns the record; http takes the status and the template of `Location` from the definition,
 * and writes the JSON text.
 */
export type Reply<Id extends OperationId> = Id extends MoneyOperationId
  ? (JsonReply<ReplyOf<Id>> & Moved) | WaitReply
  : JsonReply<ReplyOf<Id>> | CsvReply | LiveReply;

/** Whether an operation that can move money did so; a replay repeats what the first response said. */
export type Moved = {
  readonly moneyMoved: MoneyMoved;
  /** The preference of the request that was honored: the `Preference-Applied` header. */
  readonly preferenceApplied?: string;
};

/** Any success, as http sends it. */
export type AnyReply = (JsonReply<unknown> & Partial<Moved>) | CsvReply | LiveReply;

/** A success with a JSON body. */
export type JsonReply<Record> = RecordReply<Record> | ExistingReply<Record> | SessionReply<Record> | TextReply;

/** A record, with its JSON text if that was already written in order to be stored. */
export type RecordReply<Record> = { readonly record: Record; readonly json?: string };

/** A record that existed before: the status is 200, also where new ones have 201. */
export type ExistingReply<Record> = RecordReply<Record> & { readonly existing: true };

/** A record, and the cookie of a session: its token, or null to remove it. */
export type SessionReply<Record> = RecordReply<Record> & { readonly sessionToken: string | null };

/** JSON text that was stored before, or contains such text: parsing and rewriting it could change it. */
export type TextReply = {
  readonly json: string;
  /** Set for a replay of an {@link ExistingReply}. */
  readonly existing?: true;
  /** Set for the first response to an idempotency key, sent again. */
  readonly replayed?: boolean;
  /** For a replay: the request that used the key first, as its id on the wire. */
  readonly originalRequestId?: string | undefined;
  /** For the error log: the most serious refusal or fault among the rows of a success. */
  readonly refusedRow?: RefusedRow;
};

/** An export. */
export type CsvReply = { readonly csv: CsvExport };

/**
 * Comma-separated values of any length. An error in `rest` comes too late for an error record: the response is cut off,
 * so that no client takes it for complete.
 */
export type CsvExport = {
  /** Letters, digits, hyphens and dots. */
  readonly fileName: string;
  /** The line of column names and the first records. */
  readonly first: string;
  /** The other pieces of text, read one after the other as they are sent; an empty one is allowed. */
  readonly rest: AsyncIterator<string, void, undefined>;
};

/** A reply that waits for something to happen. http does not count it as load while it waits. */
export type LiveReply = WaitReply | StreamReply;

/**
 * There is nothing to send yet. `isStored`: what the request did is committed, so from now on nothing may be refused: where no
 * more requests can wait, the reply is sent at once.
 */
export type WaitReply = { readonly wait: Wait; readonly isStored?: true };

/** A wait for something new. It holds no database connection. */
export type Wait = {
  /** Resolves when there may be something to send, when the time is over, or when `signal` aborts. Never rejects. */
  readonly forNews: (signal: AbortSignal) => Promise<void>;
  /** Continues to read. With `isOver`, replies at once with what is known, and reads nothing. */
  readonly resume: (isOver: boolean) => Promise<AnyReply>;
};

/** An endless stream of Server-Sent Events. */
export type StreamReply = { readonly stream: LiveStream };

/** The state of a stream, and how it continues. */
export type LiveStream = {
  /** The text to begin with. An invalid request was refused before. */
  readonly first: string;
  /**
   * Reads on, and returns the text to send; empty if there is nothing new. After a failure it starts at the same
   * position.
   */
  readonly read: () => Promise<string>;
  /** Resolves when there may be something new, after `milliseconds`, or when `signal` aborts. Never rejects. */
  readonly forNews: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** The text to send after a while without anything else. */
  readonly pulse: () => string;
};

/** A row that failed inside a success. */
export type RefusedRow = {
  readonly thrown: unknown;
  readonly idempotencyKey: string | null;
  /** Index of the row, from 0, and how many rows were refused or failed. */
  readonly index: number;
  readonly refused: number;
};

/**
 * One operation as http calls it. Throws a Refusal (domain) for a refusal and {@link OperationFailure} for a fault;
 * anything else is a bug.
 */
export type Handler = (call: AnyCall) => Promise<AnyReply>;

/** A call of any operation. Query and body are validated against the definition of the operation that it names. */
export type AnyCall = CallContext & {
  readonly query: Readonly<Record<string, unknown>> | undefined;
  readonly body: Readonly<Record<string, unknown>> | undefined;
};

/** The refusal `<operation>_schema`, for what a schema cannot express. `field` is a JSON pointer. */
export function schemaRefusal({ operation }: Pick<CallContext, 'operation'>, message: string, field?: string): Refusal {
  return new Refusal(`${operation}_schema`, message, field === undefined ? {} : { field });
}

/**
 * A fault of the service, with its effect on money as far as it is known.
 * `busy` becomes `service_unavailable` (nothing was started), everything else `unknown_<operation>`.
 */
export class OperationFailure extends Error {
  override readonly name = 'OperationFailure';
  readonly busy: boolean;
  /** The state of the service because of which it was busy, if that is known. */
  readonly readiness: ReadinessReason | undefined;
  readonly moneyMoved: MoneyMoved;
  /** Id on the wire of the transfer that may exist, if that is not known. */
  readonly transferId: string | undefined;
  /** Milliseconds after which to try again, if the database is away; undefined otherwise. */
  readonly endsIn: number | undefined;

  constructor(
    message: string,
    facts: {
      readonly busy?: boolean;
      readonly readiness?: ReadinessReason | undefined;
      readonly moneyMoved: MoneyMoved;
      readonly transferId?: string;
      readonly endsIn?: number | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: facts.cause });
    this.busy = facts.busy ?? false;
    this.readiness = facts.readiness;
    this.moneyMoved = facts.moneyMoved;
    this.transferId = facts.transferId;
    this.endsIn = facts.endsIn;
  }
}

/** The caller seems to be gone, so its request was not started. A caller that still reads gets a 503. */
export class CallerGone extends OperationFailure {
  constructor(message: string) {
    super(message, { busy: true, moneyMoved: 'no' });
  }
}

/** What http needs from the rest of the service. `service.ts` builds it. */
export type Gateway = {
  readonly mode: 'sandbox' | 'live';
  /** Whether requests without a key are accepted (a sandbox that listens on loopback only). */
  readonly keyless: boolean;
  /** How customers reach support, quoted in messages; such as an e-mail address. */
  readonly supportContact: string;
  /**
   * What points from an error that only support can resolve to a case and to the incident that covers it (id on the wire);
   * undefined while that is not known. From memory; never throws.
   */
  readonly findSupport: (error: Covered) => { readonly incidentId: string | undefined } | undefined;
  readonly handlers: Readonly<Record<OperationId, Handler>>;
  /**
   * The caller of a Bearer key; throws a Refusal `unauthenticated` if the key is invalid. While the database fails, an
   * operator key that was valid recently may still read the status of the service.
   */
  readonly authenticate: (key: string, deadline: number, readsStatus?: boolean) => Caller | Promise<Caller>;
  /**
   * The caller of a session of the console; throws a Refusal `unauthenticated` if it has ended. `isActive` says whether
   * a person did something, which postpones the end of an idle session.
   */
  readonly authenticateSession: (token: string, isActive: boolean) => Promise<Caller>;
  /**
   * Whether a notice was signed with a secret of the connector, and not long ago; false for an unknown connector. Header names
   * are in lower case. Never throws.
   */
  readonly verifyNotice: VerifyNotice;
  /** Called for every refused credential, once for each request; must not throw. */
  readonly onRefusedCredential: (refused: RefusedCredential) => void;
  /** Inner UUID of the program that a call without a bound key names; throws a Refusal `program_not_found`. */
  readonly findProgram: (programId: string, deadline: number) => string | Promise<string>;
  /** Inner UUID of the sandbox's demo program. */
  readonly demoProgramId: string;
  /** Whether operations can be served, or why not; never throws. */
  readonly ready: () => Promise<ReadinessReason>;
};

/** What every handler works with; subjects add what only they need. */
export type Service = {
  /** Limited to the reach of the operation: the card program of the request, or all of them for operators and jobs. */
  readonly database: Database;
  /** How customers reach support, for error records inside a success. */
  readonly supportContact: string;
  readonly processors: Processors;
};
