import type { CardLimits, ProgramLimits } from '../../contract/limit-schemas.ts';
import { contradictionIn, type Limits } from '../../domain/limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import { toLimits } from '../store/limits.ts';
import type { Call } from './call.ts';

/**
 * Limits from a member of the body; null where it was not sent. A least transfer over the largest is a fault of the
 * form that a schema cannot say: `<operation>_schema`.
 */
export function readLimits(
  call: Call,
  member: 'limits' | 'card_limits',
  sent: CardLimits | ProgramLimits | undefined,
): Limits | null {
  const limits = toLimits(sent);
  const direction = limits === null ? undefined : contradictionIn(limits);
  if (limits === null || direction === undefined) return limits;
  const { minimum_amount: least, maximum_amount: most } = limits[direction];
  const message =
    `'${member}.${direction}.minimum_amount' is ${least}, but '${member}.${direction}.maximum_amount' is ${most}: no ` +
    'transfer could keep both. Send a minimum that is not over the maximum.';
  throw new Refusal(`${call.operation}_schema`, message, { field: `/${member}/${direction}/minimum_amount` });
}
