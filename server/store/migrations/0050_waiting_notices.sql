-- Needs: 0021
-- Transaction: none
-- The notices of each connector that nobody has handled, in the order in which they are tried.
create index concurrently processor_notice_queue on processor_notice (connector_id, tries, received_at) where handled_at is null;
drop index concurrently if exists processor_notice_waiting;
