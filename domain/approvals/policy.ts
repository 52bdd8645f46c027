/**
 * The operations whose requests can need the approval of a second person. Operations that stop harm never need one: disabling
 * transfers, suspending a card, revoking a key, ending a session, blocking a person.
 */
export const APPROVABLE = [
  'create_transfer',
  'reverse_transfer',
  'erase_card_holder',
  'resolve_attempt',
  'close_break',
  'create_operator_webhook',
  'update_program',
  'create_deposit',
  'create_withdrawal',
  'create_move_in',
  'cut_over',
  'create_key',
  'erase_person',
  'change_approval_policy',
] as const;

export type ApprovableId = (typeof APPROVABLE)[number];

/** The approvable operations with an amount. */
export const WITH_AMOUNT: readonly ApprovableId[] = [
  'create_transfer',
  'reverse_transfer',
  'create_deposit',
  'create_withdrawal',
  'create_move_in',
];

/** Whether requests of an operation can need an approval. */
export function isApprovable(operation: string): operation is ApprovableId {
  return APPROVABLE.some((one) => one === operation);
}

/** One rule of the approval policy. Operators' requests that match it wait for the approval of a second person. */
export type ApprovalRule = {
  readonly operation: string;
  /** Only amounts above this one, in minor units of `currency`. Amounts in other currencies always match. */
  readonly over?: number;
  readonly currency?: string;
  /** Only keys with one of these scopes. */
  readonly scopes?: readonly string[];
  /** Only changes of one of these fields. */
  readonly fields?: readonly string[];
};

/** The part of a request that rules compare. */
export type RuledRequest = {
  readonly operation: string;
  /** Null for an operation without an amount, and for an amount that is not known. */
  readonly amount: bigint | null;
  readonly currency: string | null;
  /** The scopes of the key that the request creates, or of the role that it names. */
  readonly scopes: readonly string[];
  /** The fields of the body. */
  readonly fields: readonly string[];
};

// Invariant: A request with an unknown amount or currency matches every rule about amounts
// Kept by: `matches`
// Tested by: `domain/approvals/policy.test.ts`

/** Whether a request needs an approval. A change of the policy needs one as soon as the policy has a rule. */
export function needsApproval(rules: readonly ApprovalRule[], request: RuledRequest): boolean {
  if (request.operation === 'change_approval_policy') return rules.length > 0;
  return rules.some((rule) => matches(rule, request));
}

function matches({ operation, over, currency, scopes, fields }: ApprovalRule, request: RuledRequest): boolean {
  if (operation !== request.operation) return false;
  if (scopes !== undefined && !scopes.some((scope) => request.scopes.includes(scope))) return false;
  if (fields !== undefined && !fields.some((field) => request.fields.includes(field))) return false;
  if (over === undefined || request.amount === null || currency !== request.currency) return true;
  return request.amount > BigInt(over);
}
