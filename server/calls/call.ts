import type { BodyOf, MoneyOperationId, OperationId, ParamsOf, QueryOf, ReplyOf } from '../../contract/operations.ts';
import type { JsonValue } from '../../contract/reading/json.ts';
import { includesScope, type KeyScope } from '../../contract/scope.ts';
import { toCredentialId } from '../../domain/identifier.ts';
import type { OperatorLimits } from '../../domain/people/operator-limits.ts';
import { type MoneyMoved, Refusal } from '../../domain/refusal.ts';
import type { ReadinessReason } from '../../domain/service-status.ts';
import type { Covered } from '../../domain/support/incident.ts';
import type { Database } from '../store/connection/database.ts';
import type { Processors, VerifyNotice } from './processors.ts';
import type { SignIn } from './sign-in.ts';
import type { RequestTrace } from './trace.ts';

/**
 * The caller of an operation. A sandbox caller without a key may call every operation. It acts in the demo program
 * unless it names a different one. `host` is a command on the service's host. `connector` is the adapter of a
 * processor, which has signed its request. `operator_key` is any key that belongs to no card program, with any scopes.
 * A person has the scopes of their roles at the last sign-in.
 */
export type Caller =
  | { readonly kind: 'sandbox' }
  | { readonly kind: 'host' }
  | { readonly kind: 'connector'; readonly connectorId: string }
  | ScopedCaller;

/** A caller with scopes: a key or a person, of one card program or of none. */
export type ScopedCaller =
  | (KeyCaller & { readonly kind: 'program_key'; readonly programId: string })
  | (KeyCaller & { readonly kind: 'operator_key' })
  | (PersonCaller & { readonly kind: 'program_person'; readonly programId: string })
  | (PersonCaller & { readonly kind: 'operator_person' });

type KeyCaller = {
  readonly keyId: string;
  /** Inner UUID of the person that the key belongs to. Only for operator keys. */
  readonly ownerId?: string;
  readonly scopes: readonly string[];
  /** Inner UUID of the session. Undefined if the key itself was sent. */
  readonly sessionId?: string;
};

type PersonCaller = {
  readonly personId: string;
  readonly scopes: readonly string[];
  readonly sessionId: string;
  /** When the person last proved their identity to the identity provider, in milliseconds since 1970. */
  readonly signedInAt: number;
};

/** Returns the property `ownerId` for the caller of a key, or no property if the key has no owner. */
export function ownedBy(ownerId: string | null): { readonly ownerId?: string } {
  return ownerId === null ? {} : { ownerId };
}

/** Returns whether a caller may use operations with this scope. Callers without scopes may use all of them. */
export function hasScope(caller: Caller, scope: KeyScope): boolean {
  return !('scopes' in caller) || includesScope(caller.scopes, scope);
}

/** Returns whether the caller is a key or a person without a card program. */
export function isOperator(caller: Caller): boolean {
  return caller.kind === 'operator_key' || caller.kind === 'operator_person';
}

/** Returns the inner UUID of the key or the person. Undefined for other callers. */
export function credentialOf(caller: Caller | undefined): string | undefined {
  if (caller === undefined) return undefined;
  if ('keyId' in caller) return caller.keyId;
  return 'personId' in caller ? caller.personId : undefined;
}

export type RefusedCredential = {
  /** The origin of the request, without trusted proxies: an IPv4 address, or the first 64 bits of an IPv6 address. */
  readonly address: string;
  /** The Authorization header, or the part of it that was read as a key. */
  readonly sent: string;
  readonly reason: string;
};

/** The properties of a call that do not depend on its operation. */
export type CallContext = {
  readonly operation: OperationId;
  /** Inner UUID of the request. It is `Request-Id` on the wire. */
  readonly requestId: string;
  /** The caller's trace, if it sent a valid `traceparent`. */
  readonly traceparent?: string | undefined;
  /** Set if the spans of the request are sent to a collector. */
  readonly trace?: RequestTrace | undefined;
  readonly caller: Caller;
  /** Inner UUID of the card program. Empty for operations outside card programs. */
  readonly programId: string;
  /** The case (wire id) that the caller claims to work on, for the audit log. It may not exist. */
  readonly caseId?: string | undefined;
  /** Inner UUID of the approval that allowed the request. Undefined for a request that needs none. */
  readonly approvalId?: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** The body as sent. It is needed for the fingerprint of an idempotency key. */
  readonly sent: JsonValue;
  readonly idempotencyKey: string | null;
  /** The versions of the record that the change accepts (`If-Match`). Undefined for any version. */
  readonly ifMatch?: readonly string[] | undefined;
  /** For create_transfer: how long the caller prefers to wait until the transfer has ended, in seconds (`Prefer: wait`). */
  readonly waitSeconds?: number | undefined;
  /**
   * The behavior of the sandbox's simulated processor (`Sandbox-Processor`), validated. Only for create_transfer and
   * explain_transfer.
   */
  readonly sandboxBehavior?: string | undefined;
  /** Set if the caller asked for a stream of Server-Sent Events, and the operation has one. */
  readonly stream?: StreamRequest | undefined;
  /** When the response is due: a time of `performance.now()`, in milliseconds. */
  readonly deadline: number;
  /**
   * Whether the caller is known to be gone. A caller is gone if it has disconnected, or if it already has an error response
   * because the result took too long. `isWaiting` is true while the work waits for its turn. Then a caller also counts as gone if
   * it has half-closed its connection, because callers that still read rarely do that. The function is omitted if callers cannot
   * disconnect.
   */
  readonly isGone?: ((isWaiting: boolean) => boolean) | undefined;
};

export type StreamRequest = {
  /** The Last-Event-ID header, which says where to resume. */
  readonly lastEventId: string | undefined;
};

/** A request after http has authenticated, parsed and validated it against the definition of its operation. */
export type Call<Id extends OperationId> = CallContext & {
  readonly operation: Id;
  readonly params: ParamsOf<Id>;
  readonly query: QueryOf<Id>;
  readonly body: BodyOf<Id>;
};

/** A success. http takes the status and the template of `Location` from the definition, and writes the JSON text. */
export type Reply<Id extends OperationId> = Id extends MoneyOperationId
  ? (JsonReply<ReplyOf<Id>> & Moved) | WaitReply
  : JsonReply<ReplyOf<Id>> | CsvReply | LiveReply;

/** Whether an operation that can move money has moved it. A replay repeats the value of the first response. */
export type Moved = {
  readonly moneyMoved: MoneyMoved;
  /** The request's preference that was applied: the `Preference-Applied` header. */
  readonly preferenceApplied?: string;
};

/** Any success, as http sends it. */
export type AnyReply = (JsonReply<unknown> & Partial<Moved>) | AcceptedReply | CsvReply | LiveReply;

/** The approval (JSON text) that the request waits for, and its id on the wire. The status is 202 instead of the operation's. */
export type AcceptedReply = TextReply & Moved & { readonly approvalId: string };

export type JsonReply<Record> = RecordReply<Record> | ExistingReply<Record> | SessionReply<Record> | TextReply;

/** A record, with its JSON text if that was already written to be stored. */
export type RecordReply<Record> = { readonly record: Record; readonly json?: string };

/** A record that already existed. The status is 200, even if new records have 201. */
export type ExistingReply<Record> = RecordReply<Record> & { readonly existing: true };

/** A record, and the session cookie. The cookie is the token, or null to remove it. */
export type SessionReply<Record> = RecordReply<Record> & { readonly sessionToken: string | null };

/** JSON text that was stored before, or that contains such text. Parsing and writing it again could change it. */
export type TextReply = {
  readonly json: string;
  /** Set for a replay of an {@link ExistingReply}. */
  readonly existing?: true;
  /** Set if this is the first response to an idempotency key, sent again. */
  readonly replayed?: boolean;
  /** For a replay: the wire id of the request that first used the key. */
  readonly originalRequestId?: string | undefined;
  /** For the error log: the most severe refusal or fault among the rows of a successful response. */
  readonly refusedRow?: RefusedRow;
};

export type CsvReply = { readonly csv: CsvExport };

/**
 * Comma-separated values of any length. An error in `rest` comes too late for an error record. It cuts the response off, so that no
 * client mistakes the export for a complete one.
 */
export type CsvExport = {
  /** Letters, digits, hyphens and dots. */
  readonly fileName: string;
  /** The line of column names and the first records. */
  readonly first: string;
  /** The remaining pieces of text. A piece is read when it can be sent, and may be empty. */
  readonly rest: AsyncIterator<string, void, undefined>;
};

/** A reply that waits for an event. While it waits, http does not count it as load. */
export type LiveReply = WaitReply | StreamReply;

/**
 * A reply that has nothing to send yet. `isStored` means that the effects of the request are committed, so the request can no
 * longer be refused. If no more requests can wait, such a reply is sent immediately.
 */
export type WaitReply = { readonly wait: Wait; readonly isStored?: true };

/** A wait for something new. It holds no database connection. */
export type Wait = {
  /** Resolves when there may be something to send, when the time is up, or when `signal` aborts. Never rejects. */
  readonly forNews: (signal: AbortSignal) => Promise<void>;
  /** Continues to read. If `isOver` is true, replies immediately with the known state and reads nothing. */
  readonly resume: (isOver: boolean) => Promise<AnyReply>;
};

export type StreamReply = { readonly stream: LiveStream };

export type LiveStream = {
  /** The first text to send. Invalid requests have already been refused. */
  readonly first: string;
  /** Returns the next text to send. Empty if there is nothing new. After a failure, the next call starts at the same position. */
  readonly read: () => Promise<string>;
  /** Resolves when there may be something new, after `milliseconds`, or when `signal` aborts. Never rejects. */
  readonly forNews: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** Returns the text to send when nothing else has been sent for some time. */
  readonly pulse: () => string;
};

export type RefusedRow = {
  readonly thrown: unknown;
  readonly idempotencyKey: string | null;
  /** Index of the row, from 0, and the number of rows that were refused or failed. */
  readonly index: number;
  readonly refused: number;
};

/** An operation, as http calls it. Throws a Refusal or an {@link OperationFailure}. Any other error is a bug. */
export type Handler = (call: AnyCall) => Promise<AnyReply>;

export type AnyCall = CallContext & {
  readonly query: Readonly<Record<string, unknown>> | undefined;
  readonly body: Readonly<Record<string, unknown>> | undefined;
};

/** Returns the refusal `<operation>_schema`, for rules that a schema cannot express. `field` is a JSON pointer. */
export function schemaRefusal({ operation }: Pick<CallContext, 'operation'>, message: string, field?: string): Refusal {
  return new Refusal(`${operation}_schema`, message, field === undefined ? {} : { field });
}

/**
 * A service fault, with its known effect on money. If `busy` is true, nothing was started, and the code is `service_unavailable`.
 * Otherwise, it is `unknown_<operation>`.
 */
export class OperationFailure extends Error {
  override readonly name = 'OperationFailure';
  readonly busy: boolean;
  /** The state of the service that made it busy, if it is known. */
  readonly readiness: ReadinessReason | undefined;
  /** Advice for the caller, if it can do more than try again. The response shows it after `message`. */
  readonly advice: string | undefined;
  readonly moneyMoved: MoneyMoved;
  /** Id on the wire of a transfer that may or may not exist. */
  readonly transferId: string | undefined;
  /** How many milliseconds to wait before trying again, if the database is unavailable. Undefined otherwise. */
  readonly endsIn: number | undefined;

  constructor(
    message: string,
    facts: {
      readonly busy?: boolean;
      readonly readiness?: ReadinessReason | undefined;
      readonly advice?: string;
      readonly moneyMoved: MoneyMoved;
      readonly transferId?: string;
      readonly endsIn?: number | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: facts.cause });
    this.busy = facts.busy ?? false;
    this.readiness = facts.readiness;
    this.advice = facts.advice;
    this.moneyMoved = facts.moneyMoved;
    this.transferId = facts.transferId;
    this.endsIn = facts.endsIn;
  }
}

/** The caller seems to be gone, so its request was not started. If the caller still reads, it gets a 503. */
export class CallerGone extends OperationFailure {
  constructor(message: string) {
    super(message, { busy: true, moneyMoved: 'no' });
  }
}

/** The part of the service that http needs. `service.ts` builds it. */
export type Gateway = {
  readonly mode: 'sandbox' | 'live';
  /** Whether requests without a key are accepted. Only in a sandbox that listens on loopback only. */
  readonly keyless: boolean;
  /** How customers reach support, such as an email address. Messages quote it. */
  readonly supportContact: string;
  /**
   * Finds the incident (wire id) that covers an error that only support can resolve, if there is one. Returns undefined while the
   * incidents are unknown. Reads from memory. Never throws.
   */
  readonly findSupport: (error: Covered) => { readonly incidentId: string | undefined } | undefined;
  readonly handlers: Readonly<Record<OperationId, Handler>>;
  /**
   * Finds the caller of a Bearer key. Throws a Refusal `unauthenticated` if the key is invalid. While the database fails, an
   * operator's key that was valid recently may still read the status of the service.
   */
  readonly authenticate: (key: string, deadline: number, readsStatus?: boolean) => Caller | Promise<Caller>;
  /**
   * Finds the caller of a console session. Throws a Refusal `unauthenticated` if the session has ended. `isActive` means that a
   * person did something, which postpones the end of an idle session.
   */
  readonly authenticateSession: (token: string, isActive: boolean) => Promise<Caller>;
  /** Sign-in with an OpenID provider. Undefined if it is not configured. */
  readonly signIn?: SignIn | undefined;
  /**
   * Returns whether a notice has a recent signature with a secret of the connector. False for an unknown connector. Never throws.
   */
  readonly verifyNotice: VerifyNotice;
  /** Called for every refused credential, once for each request. Must not throw. */
  readonly onRefusedCredential: (refused: RefusedCredential) => void;
  /**
   * Finds the inner UUID of the program that a call names. Used if its key is not bound to a program. Throws a Refusal
   * `program_not_found`.
   */
  readonly findProgram: (programId: string, deadline: number) => string | Promise<string>;
  readonly demoProgramId: string;
  /** Returns whether operations can be served, or the reason why not. Never throws. */
  readonly ready: () => Promise<ReadinessReason>;
};

/** The parts of the service that every handler uses. Subjects add their own parts. */
export type Service = {
  /** Limited to the reach of the operation: the card program of the request, or all card programs for operators and jobs. */
  readonly database: Database;
  /** The rows of one card program, with the rights of its own requests: only these change cards, transfers and holds. */
  readonly ofProgram: (programId: string) => Database;
  readonly supportContact: string;
  readonly processors: Processors;
  /** Omitted or empty if operators have no limits. */
  readonly operatorLimits?: OperatorLimits;
};

/**
 * Returns the identity that is counted towards the limits of operators, by its name in the audit log. For a person, this is the
 * person, even if they use a key that belongs to them. For a key without an owner, it is the key. Undefined if nothing is
 * counted: without limits, for a card program's own reversal, and for a sandbox's caller without a key.
 */
export function countedActor(limits: OperatorLimits | undefined, caller: Caller): string | undefined {
  const credential = ('keyId' in caller ? caller.ownerId : undefined) ?? credentialOf(caller);
  if (limits === undefined || limits.size === 0) return undefined;
  return credential === undefined || !isOperator(caller) ? undefined : toCredentialId(credential);
}
