import type * as audit from '../contract/audit-schemas.ts';
import type * as cards from '../contract/card-schemas.ts';
import type * as errorLog from '../contract/error-log-schemas.ts';
import type * as operator from '../contract/operator-schemas.ts';
import type { readMembers } from '../contract/read.ts';
import type * as parts from '../contract/schema-parts.ts';
import type * as transfers from '../contract/transfer-schemas.ts';

type AnySchema = Parameters<typeof readMembers>[0];

/** What the service reads from a request with this schema: the contract's own types, not a copy of them. */
type MembersOf<Schema extends AnySchema> = Extract<
  ReturnType<typeof readMembers<Schema>>,
  { readonly members: unknown }
>['members'];

/** Optional members may also be given as undefined, which sends nothing. */
type Loose<Members> = {
  readonly [Name in keyof Members]: Record<never, never> extends Pick<Members, Name>
    ? Members[Name] | undefined
    : Members[Name];
};

/**
 * An amount in minor units of its currency (cents, for USD), 1 to 999,999,999,999. A number is sent as it is, a bigint
 * as a JSON integer, a string of digits as a string. The service refuses anything else with `invalid_amount`; it never
 * rounds, and neither does the client.
 */
export type Amount = number | bigint | string;

type WithAmount<Members> = Loose<Omit<Members, 'amount'>> & { readonly amount: Amount };

/**
 * Without an amount all of the money moves. So undefined, which a misspelt property gives, is refused: omit the member
 * instead.
 */
type WithOptionalAmount<Members> = Loose<Omit<Members, 'amount'>> & { readonly amount?: Amount };

/** What create_transfer takes; `amount` and `card_id` are required (specification, section 2.2). */
export type CreateTransferBody = WithAmount<MembersOf<typeof transfers.CreateTransferBody>>;
/** A row of create_transfer_batch: what create_transfer takes, and the key of the row. */
export type TransferBatchRow = CreateTransferBody & { readonly idempotency_key: string };
/** What capture_transfer takes; without an amount all that is held is captured. */
export type CaptureTransferBody = WithOptionalAmount<MembersOf<typeof transfers.CaptureTransferBody>>;
/** What reverse_transfer takes; without an amount all that is left is moved back. */
export type ReverseTransferBody = WithOptionalAmount<MembersOf<typeof transfers.ReverseTransferBody>>;
/** What update_transfer takes: pairs of metadata to set or, with null, to remove; null instead of pairs removes all. */
export type UpdateTransferBody = Loose<MembersOf<typeof transfers.UpdateTransferBody>>;
/** What list_transfers takes: filters, `limit` (1 to 100) and `cursor`. */
export type ListTransfersQuery = Loose<MembersOf<typeof transfers.ListTransfersQuery>>;
/** What export_transfers takes: filters. */
export type ExportTransfersQuery = Loose<MembersOf<typeof transfers.ExportTransfersQuery>>;
/** What a list without filters takes: `limit` (1 to 100) and `cursor`. */
export type PageQuery = Loose<MembersOf<typeof parts.PageQuery>>;
/** What create_card takes; everything in it is optional. */
export type CreateCardBody = Loose<MembersOf<typeof cards.CreateCardBody>>;
/** What update_card takes: what is omitted stays, single limits included, and null removes what it names. */
export type UpdateCardBody = Loose<MembersOf<typeof cards.UpdateCardBody>>;
/** What list_postings takes: the time from `created_from` to before `created_to`, `limit` (1 to 100) and `cursor`. */
export type ListPostingsQuery = Loose<MembersOf<typeof cards.ListPostingsQuery>>;
/** What export_postings takes: the time from `created_from` to before `created_to`. */
export type ExportPostingsQuery = Loose<MembersOf<typeof cards.ExportPostingsQuery>>;
/** What create_program takes. */
export type CreateProgramBody = Loose<MembersOf<typeof operator.CreateProgramBody>>;
/** What update_program takes: what is omitted stays, single limits included, and null removes what it names. */
export type UpdateProgramBody = Loose<MembersOf<typeof operator.UpdateProgramBody>>;
/** What create_deposit and create_withdrawal take. */
export type FundingMovementBody = WithAmount<MembersOf<typeof operator.FundingMovementBody>>;
/** What change_switch takes; without `program_id` it is about the whole service. Only `reason` may be undefined. */
export type ChangeSwitchBody = Omit<MembersOf<typeof operator.ChangeSwitchBody>, 'reason'> & {
  readonly reason?: string | undefined;
};
/** What create_key takes: scopes, and either `program_id` or `all_programs: true`. No member may be undefined. */
export type CreateKeyBody = MembersOf<typeof operator.CreateKeyBody>;
/** What roll_key takes. No member may be undefined. */
export type RollKeyBody = MembersOf<typeof operator.RollKeyBody>;
/** What list_audit_entries takes: filters, `limit` (1 to 100) and `cursor`. */
export type ListAuditEntriesQuery = Loose<MembersOf<typeof audit.ListAuditEntriesQuery>>;
/** What list_errors takes: filters, `limit` (1 to 100) and `cursor`. */
export type ListErrorsQuery = Loose<MembersOf<typeof errorLog.ListErrorsQuery>>;
/** What search_errors takes: filters, `limit` (1 to 100) and `cursor`. */
export type SearchErrorsQuery = Loose<MembersOf<typeof errorLog.SearchErrorsQuery>>;
/** What count_errors takes: the interval, its bounds and filters. */
export type CountErrorsQuery = Loose<MembersOf<typeof errorLog.CountErrorsQuery>>;
/** What move_clock takes: how far, in seconds, the sandbox's clock is to be ahead of the time of day. */
export type MoveClockBody = Loose<MembersOf<typeof operator.MoveClockBody>>;

export type { AuditEntryRecord } from '../contract/audit-schemas.ts';
export type { CardRecord, PostingRecord, StatementPage } from '../contract/card-schemas.ts';
export type {
  ErrorCounts,
  FoundErrors,
  InspectedErrorRecord,
  LoggedErrorRecord,
  OperatorErrorRecord,
} from '../contract/error-log-schemas.ts';
export type {
  CardLimits,
  CardLimitsPatch,
  CardLimitsRecord,
  ProgramLimits,
  ProgramLimitsPatch,
} from '../contract/limit-schemas.ts';
export type {
  ClockRecord,
  DatabaseState,
  FundingMovementRecord,
  KeyRecord,
  NewKeyRecord,
  ProgramRecord,
  SwitchRecord,
  SwitchState,
  TrialBalance,
} from '../contract/operator-schemas.ts';
export type {
  ReversalRecord,
  TransferBatchOutcomes,
  TransferExplanation,
  TransferRecord,
} from '../contract/transfer-schemas.ts';

/** One page of a list, newest first; `next_cursor` is null on the last. */
export type Page<Item> = { readonly data: readonly Item[]; readonly next_cursor: string | null };

/** What the service said beside a record. */
export type ResponseFacts = {
  /** HTTP status, 200 or 201. */
  readonly status: number;
  /** What to quote to support; undefined only when a proxy took it away. */
  readonly requestId: string | undefined;
  /** Whether this is the first answer to the idempotency key, given again: this request did nothing. */
  readonly replayed: boolean;
  /** The idempotency key that was sent, also when the client made it up. */
  readonly idempotencyKey: string | undefined;
  /** How many attempts were made. */
  readonly attempts: number;
  readonly headers: Headers;
};

/**
 * A record as the service sent it, with `response` beside it: not enumerable, so that the record prints, compares and
 * turns into JSON as it was sent. A copy made by spreading has no `response`.
 */
export type Answered<Body> = Body & { readonly response: ResponseFacts };
