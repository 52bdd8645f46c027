-- Needs: 0018

-- 1. The trace of a request (W3C Trace Context), where its caller sent one: with its error, and with its events, whose
-- webhooks pass it on. Both columns are null in nearly every row, where they take no space. No row is rewritten.
alter table error add column traceparent text;
alter table event add column traceparent text;
