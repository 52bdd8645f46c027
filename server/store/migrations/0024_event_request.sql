-- Needs: 0021
-- The request that caused an event, so that a capture or a change of a card is found by its request. Null where the payload
-- is a transfer that its request created, and names the request itself; and for events of earlier versions.
alter table event add column request_id uuid;
