-- Needs: 0021
-- When the sandbox's clock was last moved, by the real time. Until jobs have noticed that, nothing is late. Null if it never was.
alter table sandbox_clock add column moved_at timestamptz;
