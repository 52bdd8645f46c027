import type { CardLimits, CardLimitsPatch, DirectionLimitsPatch } from '../../contract/limits.ts';
import {
  contradictionIn,
  type DirectionLimitsChange,
  LIMIT_NAMES,
  type LimitName,
  type Limits,
  type LimitsChange,
} from '../../domain/ledger/limits.ts';
import { toLimits } from '../store/ledger/limits.ts';
import { type CallContext, schemaRefusal } from './call.ts';

type Field = 'limits' | 'card_limits';

/** The limits of a new card; null if none were sent. */
export function readLimits(call: CallContext, sent: CardLimits | undefined): Limits | null {
  const limits = toLimits(sent);
  checkLimits(call, 'limits', limits);
  return limits;
}

/** A change of limits from a merge patch; undefined if none was sent, null if all are removed. */
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

/**
 * Refuses limits whose minimum is above their maximum. For a change, that is only known once it is merged into the
 * current limits.
 */
export function checkLimits(call: CallContext, field: Field, limits: Limits | null): void {
  const direction = limits === null ? undefined : contradictionIn(limits);
  if (limits === null || direction === undefined) return;
  const { minimum_amount: minimum, maximum_amount: maximum } = limits[direction];
  const message =
    `'${field}.${direction}.minimum_amount' is ${minimum}, but '${field}.${direction}.maximum_amount' is ${maximum}. ` +
    'Send a minimum that is not above the maximum.';
  throw schemaRefusal(call, message, `/${field}/${direction}/minimum_amount`);
}
