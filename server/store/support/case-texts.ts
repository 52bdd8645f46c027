import type { CardErasure } from '../cards/card-erasure.ts';
import type { Row, Statement } from '../connection/database.ts';
import { NAMED_TRANSFER } from '../ledger/account.ts';
import { DATE, INTEGER, nullable, statement, statementOfRows, UUID } from '../sql.ts';

export const readCardsOfTransfers = statementOfRows(
  'read_cards_of_transfers',
  NAMED_TRANSFER,
  `select name from card where (program_id, card_id) in (
      select program_id, unnest(array[card_id, destination_card_id]) from :sent join transfer using (program_id, transfer_id)
    )`,
);

const FORGET_TEXTS = statement(
  'forget_texts_of_cases',
  { days: INTEGER, count: INTEGER },
  `with old as (
      select case_id from support_case
      where status = 'closed' and has_texts and closed_at < service_now() - make_interval(days => :days)
      order by closed_at limit :count
      for update skip locked
    ), texts as (
      update case_message set text = null, author = null, external_author = null
      where case_id in (select case_id from old)
    ), done as (
      update support_case
      set text = null, contact = null, resolution = null, summary = null, snapshot = null, has_texts = false
      where case_id in (select case_id from old) returning 1
    )
    select count(*) as forgotten from done`,
);

/**
 * Removes the free text of at most `count` cases that were closed `days` days ago or earlier. Returns their number as
 * `forgotten`.
 */
export function forgetTextsOfCases(days: number, count: number): Statement {
  return FORGET_TEXTS({ days, count });
}

const ERASE_TEXTS = statement(
  'erase_texts_of_cases',
  { programId: UUID, cardId: UUID, requestedAt: DATE, after: nullable(UUID), count: INTEGER },
  `with gone_through as materialized (
      select case_id from support_case
      where program_id = :programId and case_id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
      order by case_id limit :count
    ), about as materialized (
      select support_case.case_id from support_case join card_erasure
        on card_erasure.program_id = support_case.program_id and card_erasure.card_id = :cardId
      where support_case.program_id = :programId and case_id in (select case_id from gone_through) and has_texts
        and is_case_about_card(support_case, card_erasure)
      order by case_id for no key update of support_case
    ), messages as (
      update case_message set text = null, author = null, external_author = null
      where case_id in (select case_id from about) and created_at <= :requestedAt
    ), erased as (
      update support_case set summary = null, snapshot = null,
        text = case when created_at > :requestedAt then text end,
        contact = case when created_at > :requestedAt then contact end,
        resolution = case when resolved_at > :requestedAt then resolution end
      where case_id in (select case_id from about)
    )
    select (select case_id from gone_through order by case_id desc limit 1) as last_case_id`,
);

/**
 * Removes the free text of cases about a card whose holder was erased, among the next `count` cases of a program. See {@link
 * toLastCase}. Text that was written after the request to erase is kept.
 */
export function eraseTextsOfCases(erasure: CardErasure, count: number): Statement {
  const { programId, cardId, requestedAt, cursor: after } = erasure;
  return ERASE_TEXTS({ programId, cardId, requestedAt, after, count });
}

export function toLastCase([row]: readonly Row[]): string | null {
  return (row?.last_case_id as string | null | undefined) ?? null;
}
