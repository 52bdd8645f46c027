import type { ApprovalRecord, ApprovalRule, OperationId } from '../../../sdk/client.ts';
import { formatAmount } from '../amounts.ts';
import { sentenceCase } from '../names.ts';

type Status = ApprovalRecord['status'];

/** The statuses of approvals in words, in the order of the filter. */
export const APPROVAL_STATUSES: Readonly<Record<Status, string>> = {
  pending: 'waiting',
  approved: 'approved',
  carried_out: 'carried out',
  failed: 'approved, but refused',
  rejected: 'rejected',
  withdrawn: 'withdrawn',
  expired: 'expired',
};

/** Returns the name of the requester, or their id. */
export function askedBy({ requested_by: id, requested_by_name: name }: ApprovalRecord): string {
  return name ?? id;
}

/** Describes an approval as a sentence: `Tariq Haddad wants to withdraw 25,000.00 USD from the funding of Demo program`. */
export function sentenceOf(approval: ApprovalRecord): string {
  return `${askedBy(approval)} ${approval.status === 'pending' ? 'wants' : 'wanted'} to ${approval.summary}`;
}

/**
 * Says which requests of an operation need an approval, as a sentence for a form, or undefined if none do. With `fields`, only rules
 * about these fields of update_program count.
 */
export function noticeOf(
  rules: readonly ApprovalRule[],
  operation: OperationId,
  fields?: readonly string[],
): string | undefined {
  const matching = rules.filter(
    (rule) =>
      rule.operation === operation &&
      (fields === undefined || rule.fields === undefined || rule.fields.some((field) => fields.includes(field))),
  );
  if (matching.length === 0) return undefined;
  const conditions = matching.map(conditionOf);
  if (conditions.includes(undefined)) return 'A second person must approve this.';
  return `A second person must approve this ${conditions.join(', or ')}.`;
}

function conditionOf({ over, currency, scopes, fields }: ApprovalRule): string | undefined {
  if (over !== undefined && currency !== undefined) {
    return `above ${formatAmount(over, currency)}, or in a currency other than ${currency}`;
  }
  if (scopes !== undefined) return `if the key has ${scopes.join(' or ')}`;
  return fields === undefined ? undefined : `if it changes the ${fields.join(' or ').replaceAll('_', ' ')}`;
}

/** One value of the subject of a request, at the time of the request and now. */
export type Compared = { readonly name: string; readonly before: string; readonly now: string | undefined };

/** Lists the values of two records side by side, with a name for each. `now` is null once the approval has ended. */
export function compareValues(
  before: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>> | null,
): readonly Compared[] {
  const [then, current] = [flatten(before), now === null ? undefined : flatten(now)];
  return [...new Set([...then.keys(), ...(current?.keys() ?? [])])].map((name) => ({
    name: sentenceCase(name),
    before: then.get(name) ?? 'none',
    now: current === undefined ? undefined : (current.get(name) ?? 'none'),
  }));
}

/** Names of amounts. Amounts are shown in the currency of their record, or in minor units if the record has no currency. */
const AMOUNT = /(^|_)(amount|balance|available|threshold)$|^over$/;

function flatten(record: Readonly<Record<string, unknown>>, prefix = ''): Map<string, string> {
  const found = new Map<string, string>();
  const { currency } = record;
  for (const [name, value] of Object.entries(record)) {
    const label = `${prefix}${name.replaceAll('_', ' ')}`;
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        const place = isRecord(item) && typeof item.currency === 'string' ? item.currency : String(index + 1);
        if (isRecord(item)) addAll(found, flatten(item, `${label}, ${place}: `));
        else found.set(`${label} ${place}`, textOf(item));
      }
    } else if (isRecord(value)) addAll(found, flatten(value, `${label}: `));
    else if (name === 'currency' && prefix !== '') continue;
    else if (typeof value === 'number' && AMOUNT.test(name))
      found.set(label, typeof currency === 'string' ? formatAmount(value, currency) : `${value} minor units`);
    else found.set(label, textOf(value));
  }
  return found;
}

function addAll(into: Map<string, string>, from: ReadonlyMap<string, string>): void {
  for (const [name, value] of from) into.set(name, value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  return value === null || value === undefined ? 'none' : String(value);
}

/** Lists the fields of a request or of a result, with a name for each. */
export function factsOf(
  record: Readonly<Record<string, unknown>>,
): readonly (readonly [name: string, value: string])[] {
  return [...flatten(record)].map(([name, value]) => [sentenceCase(name), value] as const);
}
