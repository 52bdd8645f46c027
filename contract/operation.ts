import { type TObject, type TSchema, type TString, Type } from 'typebox';
import { isApprovable } from '../domain/approvals/policy.ts';
import type { SharedCode } from '../domain/error-codes.ts';
import { maxBodyBytesOf } from './reading/request-size.ts';
import type { SchemaShape } from './schema-parts.ts';
import type { KeyScope, OPERATOR_SCOPES, PROGRAM_SCOPES } from './scope.ts';

/** The media type of a merge patch (RFC 7396). The body of a PATCH is read as one, even when sent as `application/json`. */
export const MERGE_PATCH = 'application/merge-patch+json';

/** How old the sign-in of a person may be for operations that need a fresh one, in seconds. */
export const FRESH_SECONDS = 300;

/** One operation of the API. Routes, validation, OpenAPI, the reference, the SDK and the tests all follow from it. */
export type Operation = {
  /** The error codes `<id>_schema` and `unknown_<id>` and the action in the audit log follow from it. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly summary: string;
  /** Path parameters. By default each is a string of 1 to 255 characters. */
  readonly params: TObject;
  readonly query: TObject | undefined;
  readonly body: TObject | undefined;
  /** Maximum size of the body in bytes. The default is the size of the largest body of its schema. Undefined without a body. */
  readonly maxBodyBytes: number | undefined;
  readonly reply: TSchema;
  readonly status: 200 | 201;
  /** Whether the reply can be an existing record. Its status is then 200 instead of 201. */
  readonly existing: boolean;
  /** Whether the response is a stream of comma-separated values; `reply` is then the schema of one line. */
  readonly csv: boolean;
  /** The schema of one item, if the list can also be read as a stream of Server-Sent Events. */
  readonly stream: TSchema | undefined;
  /** Path of the created resource, with fields of the reply in braces: the `Location` header. */
  readonly location: string | undefined;
  /**
   * What the operation acts on. `program` is the card program of the key or of `Program-Id`. `operator` is all card programs.
   * `sandbox` is the sandbox, and live services do not have the operation. `caller` is the caller itself, of any kind.
   * `connector` is the attempts of the connector in the path: its processor signs the request and has no key.
   */
  readonly reach: 'program' | 'operator' | 'sandbox' | 'caller' | 'connector';
  /** The scope that a key needs. Null if every key may use the operation, or if there is no key. */
  readonly scope: KeyScope | null;
  /** Whether a person must have signed in less than {@link FRESH_SECONDS} ago. Keys need no sign-in. */
  readonly freshSignIn: boolean;
  /** Whether operators' requests can need the approval of a second person (`APPROVABLE`). They then get 202 and an approval. */
  readonly approvable: boolean;
  /** Whether it can move money. `Money-Moved` on each of its responses says whether the request did. */
  readonly movesMoney: boolean;
  /** Whether it is a dry run of an operation that moves money: each of its responses has `Money-Moved: no`. */
  readonly dryRun: boolean;
  readonly idempotency: 'none' | 'optional' | 'required';
  /** Whether a POST without an idempotency key can safely be repeated, because a repetition has no further effect. */
  readonly repeatable: boolean;
  /** Whether card numbers in its body are redacted instead of refused, because a processor wrote it. */
  readonly redactsCardNumbers: boolean;
  /** When it writes to the audit log: always, only when called by an operator, or never. */
  readonly audit: 'always' | 'operator' | 'none';
  /** The codes of the operation's own rules, in order of precedence. */
  readonly errors: readonly SharedCode[];
  /** Begins the message of `unknown_<id>`, such as `The transfer could not be created`. */
  readonly failure: string;
  readonly example: {
    /** The example body. By default it holds the required fields. */
    readonly body?: Readonly<Record<string, unknown>>;
    /** Fields of the example reply, or of the items in a list, that differ from the default sample. */
    readonly reply?: Readonly<Record<string, unknown>>;
  };
};

/**
 * Properties with a default: no query, no body, the status 200, always a new record, no fresh sign-in, no money, no idempotency
 * key, no audit, no specific errors.
 */
type Defaulted =
  | 'params'
  | 'query'
  | 'body'
  | 'maxBodyBytes'
  | 'status'
  | 'existing'
  | 'csv'
  | 'stream'
  | 'location'
  | 'freshSignIn'
  | 'movesMoney'
  | 'dryRun'
  | 'idempotency'
  | 'repeatable'
  | 'redactsCardNumbers'
  | 'audit'
  | 'errors'
  | 'example';

type Specification = Omit<Operation, Defaulted | 'reach' | 'scope' | 'approvable'> & {
  readonly [Name in Defaulted]?: NonNullable<Operation[Name]>;
} & (
    | { readonly reach: 'program'; readonly scope: (typeof PROGRAM_SCOPES)[number] }
    | { readonly reach: 'operator'; readonly scope: (typeof OPERATOR_SCOPES)[number] }
    | { readonly reach: 'sandbox' | 'caller' | 'connector' }
  );

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** An operation with the types of its parameters, query, body and reply. */
export type OperationOf<Spec extends Specification> = Omit<
  Operation,
  'id' | 'params' | 'query' | 'body' | 'reply' | 'movesMoney'
> & {
  readonly id: Spec['id'];
  readonly movesMoney: Spec extends { readonly movesMoney: true } ? true : false;
  readonly params: Spec extends { readonly params: infer Params extends TObject }
    ? Params
    : TObject<{ [Name in NamesIn<Spec['path']>]: TString }>;
  readonly query: Spec extends { readonly query: infer Query extends TObject } ? Query : undefined;
  readonly body: Spec extends { readonly body: infer Body extends TObject } ? Body : undefined;
  readonly reply: Spec['reply'];
};

/** Defines an operation: fills in the defaults, and derives the path parameters, and the scope if none is given. */
export function operation<const Spec extends Specification>(spec: Spec): OperationOf<Spec> {
  return {
    params: parameterSchema(spec.path),
    query: undefined,
    body: undefined,
    maxBodyBytes: spec.body === undefined ? undefined : maxBodyBytesOf(spec.body as SchemaShape),
    status: 200,
    existing: false,
    csv: false,
    stream: undefined,
    location: undefined,
    scope: spec.reach === 'caller' || spec.reach === 'connector' ? null : 'operator',
    freshSignIn: false,
    approvable: isApprovable(spec.id),
    movesMoney: false,
    dryRun: false,
    idempotency: 'none',
    repeatable: false,
    redactsCardNumbers: false,
    audit: 'none',
    errors: [],
    example: {},
    ...spec,
  } satisfies Operation as unknown as OperationOf<Spec>;
}

/** The names of the parameters in a path, such as `transfer_id`. */
export function parametersOf(path: string): readonly string[] {
  return [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1] ?? '');
}

function parameterSchema(path: string): TObject {
  return Type.Object(
    Object.fromEntries(
      parametersOf(path).map((name) => [
        name,
        Type.String({ minLength: 1, maxLength: 255, description: PARAMETERS[name] ?? '' }),
      ]),
    ),
  );
}

const PARAMETERS: Readonly<Record<string, string>> = {
  transfer_id: 'Id of the transfer: tr_ and 32 hex digits',
  reversal_id: 'Id of the reversal: rev_ and 32 hex digits',
  card_id: 'Id of the card: its card_ id, or the id you created it with',
  event_id: 'Id of the event: evt_ and 32 hex digits',
  webhook_id: 'Id of the webhook: wh_ and 32 hex digits',
  request_id: 'Request-Id of the response: req_ and 32 hex digits',
  program_id: 'Id of the card program: prog_ and 32 hex digits',
  key_id: 'Id of the API key: key_ and 32 hex digits; not the key itself',
  session_id: 'Id of the session: ses_ and 32 hex digits',
  person_id: 'Id of the person: per_ and 32 hex digits',
  approval_id: 'Id of the approval: apr_ and 32 hex digits',
  case_id: 'Id of the case: case_ and 32 hex digits',
  incident_id: 'Id of the incident: inc_ and 32 hex digits',
  attempt_id: 'Id of the attempt: pat_ and 32 hex digits',
  connector_id: "Name of the connector in the service's settings",
  break_id: 'Id of the break: brk_ and 32 hex digits',
  file_id: 'Id of the settlement file: stl_ and 32 hex digits',
  move_in_id: 'Id of the move-in: mvi_ and 32 hex digits',
  comparison_id: 'Id of the comparison: cmp_ and 32 hex digits',
};
