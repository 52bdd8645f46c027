// Request fields that several subjects share: limits, metadata, times and periods.
import type { CardLimits, CardLimitsPatch, DirectionLimitsPatch } from '../../contract/limits.ts';
import {
  contradictionIn,
  type DirectionLimitsChange,
  LIMIT_NAMES,
  type LimitName,
  type Limits,
  type LimitsChange,
} from '../../domain/ledger/limits.ts';
import { type AmountAsSent, readAmount } from '../../domain/ledger/money.ts';
import { type Metadata, type MetadataOperation, refuseMetadata } from '../../domain/metadata.ts';
import { Refusal } from '../../domain/refusal.ts';
import { COMMIT_MILLISECONDS } from '../store/connection/standby.ts';
import { toLimits } from '../store/ledger/limits.ts';
import type { Period } from '../store/ledger/statement.ts';
import { type CallContext, schemaRefusal } from './call.ts';

type Field = 'limits' | 'card_limits';

export function readLimits(call: CallContext, sent: CardLimits | undefined): Limits | null {
  const limits = toLimits(sent);
  checkLimits(call, 'limits', limits);
  return limits;
}

/** Returns a change of limits from a merge patch. Undefined if none was sent, null if all are removed. */
export function readLimitsChange(sent: CardLimitsPatch | null | undefined): LimitsChange | null | undefined {
  if (sent === undefined || sent === null) return sent;
  const { maximum_balance: maximum } = sent;
  return {
    ...(sent.in === undefined ? {} : { in: sent.in === null ? null : toDirection(sent.in) }),
    ...(sent.out === undefined ? {} : { out: sent.out === null ? null : toDirection(sent.out) }),
    ...(maximum === undefined ? {} : { maximumBalance: maximum === null ? null : BigInt(maximum) }),
  };
}

function toDirection(sent: DirectionLimitsPatch): DirectionLimitsChange {
  const change: { [Name in LimitName]?: bigint | null } = {};
  for (const name of Object.keys(LIMIT_NAMES) as LimitName[]) {
    const value = sent[name];
    if (value !== undefined) change[name] = value === null ? null : BigInt(value);
  }
  return change;
}

/** Refuses limits whose minimum is above their maximum. A change must be merged into the current limits first. */
export function checkLimits(call: CallContext, field: Field, limits: Limits | null): void {
  const direction = limits === null ? undefined : contradictionIn(limits);
  if (limits === null || direction === undefined) return;
  const { minimum_amount: minimum, maximum_amount: maximum } = limits[direction];
  const message =
    `'${field}.${direction}.minimum_amount' is ${minimum}, but '${field}.${direction}.maximum_amount' is ${maximum}. ` +
    'Send a minimum that is not above the maximum.';
  throw schemaRefusal(call, message, `/${field}/${direction}/minimum_amount`);
}

export function checkMetadata({ operation }: { readonly operation: MetadataOperation }, metadata: Metadata): void {
  const refusal = refuseMetadata(operation, metadata);
  if (refusal !== undefined) throw refusal;
}

export type MetadataPair = { readonly name: string; readonly value: string };

type PairQuery = { readonly metadata_name?: string; readonly metadata_value?: string };

/**
 * Returns the metadata pair in the query of a list, or null if there is none. A name without a value, or a value without a
 * name, is refused, because it would filter nothing.
 */
export function readPair(call: CallContext & { readonly query: PairQuery }): MetadataPair | null {
  const { metadata_name: name, metadata_value: value } = call.query;
  if (name !== undefined && value !== undefined) return { name, value };
  if (name === undefined && value === undefined) return null;
  const [sent, missing] =
    name === undefined ? ['metadata_value', 'metadata_name'] : ['metadata_name', 'metadata_value'];
  const message = `'${sent}' can only be sent together with '${missing}': a metadata pair has a name and a value.`;
  throw schemaRefusal(call, message, `/${missing}`);
}

/** Returns a time in the body, which must be in the future. Null if it was omitted. */
export function readFuture(call: CallContext, name: string, sent: string | undefined, now: number): Date | null {
  if (sent === undefined) return null;
  const moment = Date.parse(sent);
  if (moment > now) return new Date(moment);
  throw schemaRefusal(call, `'${name}' is '${sent}', which is not in the future.`, `/${name}`);
}

/**
 * Returns the time just after the instant of a balance, in milliseconds since 1970. Only postings before this time count. Records
 * show milliseconds, so the instant includes its whole millisecond. Undefined for current balances.
 */
export function readAsOf({ as_of: sent }: { readonly as_of?: string }): number | undefined {
  return sent === undefined ? undefined : Date.parse(sent) + 1;
}

/**
 * Refuses an instant whose balances may still change. A posting has the time of its decision but becomes visible with the commit.
 * So postings can still appear for as long as a transaction can last. `now` is the clock of the statement that read the balances.
 */
export function refuseUnsettled(
  call: CallContext & { readonly query: { readonly as_of?: string } },
  now: number,
): void {
  const before = readAsOf(call.query);
  if (before === undefined || before <= now - COMMIT_MILLISECONDS) return;
  const message =
    `'as_of' is '${call.query.as_of}', which is less than ${COMMIT_MILLISECONDS / 1000} seconds ago or in the future. Balances of ` +
    'an instant are final after that time. Send an earlier instant, or omit the parameter for the current balances.';
  throw schemaRefusal(call, message, '/as_of');
}

/** Returns the period of a query. An empty period is refused. */
export function readPeriod(
  call: CallContext,
  query: { readonly created_from?: string; readonly created_to?: string },
): Period {
  const { created_from: from, created_to: to } = query;
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to)) {
    const message = `'created_to' must be later than 'created_from', but it is '${to}', and 'created_from' is '${from}'.`;
    throw schemaRefusal(call, message, '/created_to');
  }
  return { from: toDate(from), to: toDate(to) };
}

function toDate(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text);
}

/** Reads an amount. Throws `invalid_amount` if it is invalid. Returns null if none was sent. */
export function readOptionalAmount(sent: AmountAsSent | undefined): bigint | null {
  if (sent === undefined) return null;
  const reading = readAmount(sent);
  if ('amount' in reading) return reading.amount;
  throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
}
