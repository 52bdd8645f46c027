-- Needs: 0021
-- A notice that cannot be handled waits for longer each time, so that it delays no other one. If it keeps failing, it becomes a
-- break. So does a notice that reuses the id of another one. Both tables are of processors, and no released version has any.
alter table processor_notice add column tries smallint not null default 0;
alter table processor_notice add column next_at timestamptz;

alter table processor_break drop constraint processor_break_kind_check;
alter table processor_break add constraint processor_break_kind_check check (kind in (
  'late_approval', 'contradiction', 'unknown_attempt', 'unhandled_notice', 'reused_notice_id'
));
