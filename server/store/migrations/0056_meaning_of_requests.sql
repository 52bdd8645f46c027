-- Needs: 0021
-- Two requests under one idempotency key are the same if they mean the same. `fingerprint` stays that of the request as it was
-- sent, which earlier versions compare while they run beside this one. `meaning` is null where it equals `fingerprint`.

alter table idempotency add column meaning bytea;
