import type { DropReason } from './error.ts';

const RENAMED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    card_dne: 'card_not_found',
    transfer_dne: 'transfer_not_found',
    reversal_dne: 'reversal_not_found',
    program_dne: 'program_not_found',
    key_dne: 'key_not_found',
    error_dne: 'error_not_found',
    route_dne: 'route_not_found',
    auth_err: 'unauthenticated',
    preactive_card: 'card_not_activated',
    inactive_card: 'card_suspended',
    lost_card: 'card_lost',
    closed_card: 'card_closed',
    expired_card: 'card_expired',
    card_fraud: 'card_suspected_fraud',
    small_amount: 'amount_too_small',
    large_amount: 'amount_too_large',
  }),
);

/**
 * The present name of an error code that an older version wrote. Migration 0010 renames what is stored; this is for what
 * an older version writes after it: a spool file, or refusals and failed transfers of a process that is still running.
 */
export function currentCode<Code extends string>(code: Code): Code {
  return (RENAMED.get(code) ?? code) as Code;
}

/** The present name of a reason for which errors were not recorded, as {@link currentCode}. */
export function currentDropReason(reason: DropReason | 'strangers'): DropReason {
  return reason === 'strangers' ? 'unauthenticated' : reason;
}
