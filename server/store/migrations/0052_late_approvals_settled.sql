-- Needs: 0021
-- When an operator has closed the break of a late approval: until then the answer about the money says that somebody will.
alter table processor_attempt add column late_approval_settled_at timestamptz;
