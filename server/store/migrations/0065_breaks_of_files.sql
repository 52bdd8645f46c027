-- Needs: 0021
-- Breaks that a settlement file has caused: a line about an order that the books do not have, and a second line about one order.
-- `settlement_file_id`: the only such file, so that its withdrawal closes them; null if several have caused it.
alter table processor_break
  add column settlement_file_id uuid,
  drop constraint processor_break_kind_check,
  add constraint processor_break_kind_check check (kind in (
    'late_approval', 'contradiction', 'unknown_attempt', 'unhandled_notice', 'reused_notice_id', 'missing_in_ledger', 'duplicate'
  )) not valid;
