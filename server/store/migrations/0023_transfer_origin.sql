-- Needs: 0021
-- Who asked for a transfer, and under which idempotency key. Null for transfers of earlier versions. No row is rewritten.
alter table transfer add column idempotency_key text, add column created_by uuid;
