-- Needs: 0021
-- The request that used an idempotency key first, so that a replay and a conflict can name it. Null for keys that an earlier
-- version stored. No row is rewritten.
alter table idempotency add column request_id uuid;
