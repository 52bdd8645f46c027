import type { Attempt } from '../../../domain/processors/attempt.ts';
import type { BreakKind } from '../../../domain/processors/break.ts';
import type { Statement } from '../connection/database.ts';
import { ACCOUNT } from '../ledger/account.ts';
import { BIGINT, CURRENCY, columns, INTEGER, nullable, type RowOf, statement, TEXT, TIME, UUID, word } from '../sql.ts';

const BREAK = columns({
  breakId: UUID,
  kind: word<Exclude<BreakKind, 'unknown_attempt'>>(),
  connectorId: TEXT,
  programId: UUID,
  attemptId: UUID,
  transferId: UUID,
  amount: BIGINT,
  currency: CURRENCY,
  expected: TEXT,
  found: TEXT,
  createdAt: TIME,
  /** The amount that the processor says it has moved, in minor units. Null if that is unknown. */
  statedAmount: nullable(BIGINT),
});

/** A new contradiction between a processor and the books, for a person to close. An attempt has at most one of each kind. */
export type NewBreak = RowOf<typeof BREAK.columns>;

/**
 * If the attempt already has a break of this kind, the processor's new statements are added to it. A closed break then reopens,
 * because the person who closed it had not seen them. It also reopens if an earlier statement comes again after a different
 * one. The audit log still shows that it was closed.
 */
const INSERT = `insert into processor_break (${BREAK.names})
    values (:breakId, :kind, :connectorId, :programId, :attemptId, :transferId, :amount, :currency, :expected, :found, :createdAt,
      :statedAmount)
    on conflict (connector_id, attempt_id, kind) where attempt_id is not null do update
      set found = case when excluded.found <> all (string_to_array(processor_break.found, ', '))
            and char_length(processor_break.found) < :maxFound
          then processor_break.found || ', ' || excluded.found else processor_break.found end,
        stated_amount = excluded.stated_amount, closed_at = null, closed_by = null, resolution = null
      where excluded.found <> all (string_to_array(processor_break.found, ', '))
          and char_length(processor_break.found) < :maxFound
        or processor_break.stated_amount is distinct from excluded.stated_amount`;

/** Maximum length of a break's text. Further statements are not added, because a person has seen enough by then. */
export const MAX_FOUND_CHARACTERS = 1_000;

const INSERT_BREAK = statement('insert_processor_break', { ...BREAK.columns, maxFound: INTEGER }, INSERT);

/** Inserts a break, or adds the new statements to the attempt's break of the same kind and reopens it. */
export function insertBreak(found: NewBreak): Statement {
  return INSERT_BREAK({ ...found, maxFound: MAX_FOUND_CHARACTERS });
}

/**
 * Inserts the break of a notice that matches no attempt. If there is a break with the same sent id, adds the new statements to it
 * and reopens it.
 */
export const insertBreakOfUnknown = statement(
  'insert_break_of_unknown',
  {
    ...BREAK.pick('breakId', 'kind', 'connectorId', 'amount', 'currency', 'expected', 'found', 'createdAt').columns,
    sentAttemptId: TEXT,
  },
  `insert into processor_break (
      break_id, kind, connector_id, sent_attempt_id, amount, currency, expected, found, created_at
    )
    values (:breakId, :kind, :connectorId, :sentAttemptId, :amount, :currency, :expected, :found, :createdAt)
    on conflict (connector_id, sent_attempt_id) where sent_attempt_id is not null do update
      set found = processor_break.found || ', ' || excluded.found, closed_at = null, closed_by = null, resolution = null
      where excluded.found <> all (string_to_array(processor_break.found, ', '))
        and char_length(processor_break.found) < ${MAX_FOUND_CHARACTERS}`,
);

const RECORD_CONTRADICTION = statement(
  'record_contradiction',
  { ...BREAK.columns, maxFound: INTEGER },
  `with written as (${INSERT} returning break_id, program_id, attempt_id)
    update processor_attempt
    set contradicted_at = :createdAt, contradiction = :found, contradiction_break_id = written.break_id,
      contradiction_settled_at = null
    from written
    where processor_attempt.program_id = written.program_id and processor_attempt.attempt_id = written.attempt_id`,
);

/**
 * Inserts the break of a contradiction as {@link insertBreak} does, and notes the processor's last statement on the attempt. Does
 * nothing if that statement is known already. The rest of the attempt does not change.
 */
export function recordContradiction(found: NewBreak): Statement {
  return RECORD_CONTRADICTION({ ...found, maxFound: MAX_FOUND_CHARACTERS });
}

/** Stores the processor's current statement after it has withdrawn a contradiction. The rest of the break does not change. */
export const restateContradiction = statement(
  'restate_contradiction',
  { connectorId: TEXT, attemptId: UUID, stated: nullable(BIGINT) },
  `update processor_break set stated_amount = :stated
    where connector_id = :connectorId and attempt_id = :attemptId and kind = 'contradiction'`,
);

const MARK_LATE = statement(
  'mark_late_approval',
  { programId: UUID, attemptId: UUID, lateApprovalAt: TIME, breakId: UUID },
  `update processor_attempt set late_approval_at = :lateApprovalAt, break_id = :breakId, late_approval_settled_at = null
    where program_id = :programId and attempt_id = :attemptId`,
);

/** Notes on an attempt that the processor executed it after it had failed. The rest of the attempt does not change. */
export function markLateApproval({ programId, attemptId, breakId, createdAt }: NewBreak): Statement {
  return MARK_LATE({ programId, attemptId, breakId, lateApprovalAt: createdAt });
}

type OfAttempt = Pick<Attempt, 'connectorId' | 'attemptId'>;

const FIND_BREAK = statement(
  'find_processor_break',
  { connectorId: TEXT, attemptId: UUID, kind: TEXT },
  `select break_id from processor_break
    where connector_id = :connectorId and attempt_id = :attemptId and kind = :kind`,
);

/**
 * Finds the break of an attempt: one row, or none. Call it after the accounts are locked. Otherwise the money could be posted
 * twice.
 */
export function findBreak({ connectorId, attemptId }: OfAttempt, kind: NewBreak['kind']): Statement {
  return FIND_BREAK({ connectorId, attemptId, kind });
}

/** Creates a program's account for unexplained money in one currency, unless it exists. */
export const createSuspenseAccount = statement(
  'create_suspense_account',
  { programId: UUID, accountId: UUID, currency: CURRENCY, floor: BIGINT },
  `insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
    values (:programId, :accountId, 'suspense', :programId, :currency, :floor, service_now())
    on conflict do nothing`,
);

const LOCK_SUSPENSE = statement(
  'lock_suspense_and_clearing',
  { programId: UUID, cardId: UUID, currency: CURRENCY },
  `select ${ACCOUNT.names} from account
    where program_id = :programId and kind in ('suspense', 'clearing') and currency = :currency and account_id in (
      select account_id from account where owner_id = :programId and kind = 'suspense' and currency = :currency
      union all select account_id from card where program_id = :programId and card_id = :cardId
    )
    order by account_id for no key update`,
);

/** Locks and reads the suspense account of a program and the clearing account of a card: two rows. */
export function lockSuspenseAndClearing(attempt: Pick<Attempt, 'programId' | 'cardId' | 'currency'>): Statement {
  const { programId, cardId, currency } = attempt;
  return LOCK_SUSPENSE({ programId, cardId, currency });
}
