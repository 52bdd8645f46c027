import type { CardLimits, CardLimitsPatch, DirectionLimitsPatch } from '../../contract/limits.ts';
import {
  contradictionIn,
  type DirectionLimitsChange,
  LIMIT_NAMES,
  type LimitName,
  type Limits,
  type LimitsChange,
} from '../../domain/ledger/limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Call } from '../operations/call.ts';
import { toLimits } from '../store/ledger/limits.ts';

type Member = 'limits' | 'card_limits';

/** Limits from a member of the body of a new card; null where it was not sent. */
export function readLimits(call: Call, sent: CardLimits | undefined): Limits | null {
  const limits = toLimits(sent);
  insistOnAgreement(call, 'limits', limits);
  return limits;
}

/** A change of limits from a member of a merge patch; undefined where it was not sent, null where all are lifted. */
export function readLimitsChange(sent: CardLimitsPatch | null | undefined): LimitsChange | null | undefined {
  if (sent === undefined || sent === null) return sent;
  const { maximum_balance: most } = sent;
  return {
    ...(sent.in === undefined ? {} : { in: sent.in === null ? null : toDirection(sent.in) }),
    ...(sent.out === undefined ? {} : { out: sent.out === null ? null : toDirection(sent.out) }),
    ...(most === undefined ? {} : { maximumBalance: most === null ? null : BigInt(most) }),
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

/**
 * Refuses limits of which the least transfer is over the largest. That is a fault of the form that a schema cannot say,
 * `<operation>_schema`; of a change it shows only once it is merged into the limits that are set.
 */
export function insistOnAgreement(call: Call, member: Member, limits: Limits | null): void {
  const direction = limits === null ? undefined : contradictionIn(limits);
  if (limits === null || direction === undefined) return;
  const { minimum_amount: least, maximum_amount: most } = limits[direction];
  const message =
    `'${member}.${direction}.minimum_amount' is ${least}, but '${member}.${direction}.maximum_amount' is ${most}: no ` +
    'transfer could keep both. Send a minimum that is not over the maximum.';
  throw new Refusal(`${call.operation}_schema`, message, { field: `/${member}/${direction}/minimum_amount` });
}
