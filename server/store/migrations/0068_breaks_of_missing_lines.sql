-- Needs: 0021
-- Breaks about what no settlement file has: an approved order (`missing_in_file`), and a file that has not arrived (`file_missing`).
alter table processor_break
  drop constraint processor_break_kind_check,
  add constraint processor_break_kind_check check (kind in (
    'late_approval', 'contradiction', 'unknown_attempt', 'unhandled_notice', 'reused_notice_id', 'missing_in_ledger', 'duplicate',
    'missing_in_file', 'file_missing'
  )) not valid;
