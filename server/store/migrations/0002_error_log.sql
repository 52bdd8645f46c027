-- The error log: every answer that was an error, found again by its request id.

-- `created_at` is the time inside the request id (a UUIDv7). So whoever has the id knows the partition, rows sorted by
-- time are sorted by id, and a report that is stored twice meets itself in the primary key.
-- `program_id` is null where the request was refused before its program was known; those rows are the operators'.
create table error (
  request_id uuid not null,
  created_at timestamptz not null,
  program_id uuid,
  caller text check (caller in ('sandbox', 'program_key', 'operator_key')),
  operation text,
  code text not null,
  status smallint not null check (status between 400 and 599),
  type text not null check (type in ('Request Error', 'Server Error', 'Process Error')),
  message text not null,
  -- Null when the bytes were no request.
  method text,
  path text,
  field text,
  idempotency_key text,
  -- The card that the request named, by its id on the wire, whether there is one or not.
  card_name text,
  transfer_id uuid,
  money_moved text check (money_moved in ('no', 'yes', 'unknown')),
  -- Members and path parameters that were read, without card numbers and keys. Like the next two it is only ever shown
  -- as a whole, in the order in which it was written, so it is no jsonb.
  request json,
  -- The values that the checks saw.
  checks json,
  -- What was thrown and what that was caused by, the outermost first, with stacks; an empty array when the error is
  -- the caller's.
  causes json not null,
  primary key (request_id, created_at)
) partition by range (created_at);
-- Takes what no month's partition does, so that a forgotten partition never loses an error.
create table error_default partition of error default;

-- A type is a set of codes, so the indexes on codes serve both filters. Each comes with the program first, for one
-- card program among many, and without it, for the operator who looks over all of them.
create index error_time on error (created_at, request_id);
create index error_program on error (program_id, created_at, request_id);
create index error_code on error (code, created_at, request_id);
create index error_program_code on error (program_id, code, created_at, request_id);
create index error_operation on error (operation, created_at, request_id);
create index error_program_operation on error (program_id, operation, created_at, request_id);
create index error_card on error (card_name, created_at, request_id) where card_name is not null;

-- How many errors each hour had, kept by the statement that stores them: a chart over months reads some hundred rows.
create table error_count (
  hour timestamptz not null,
  program_id uuid,
  code text not null,
  count bigint not null check (count > 0),
  unique nulls not distinct (hour, program_id, code)
);

-- Errors that were answered but not recorded, since when and until when, and why: the log's own gaps.
create table error_drop (
  drop_id uuid primary key,
  reason text not null check (reason in ('queue_full', 'spool_full', 'spool_torn', 'row_refused')),
  count bigint not null check (count > 0),
  since timestamptz not null,
  until timestamptz not null check (until >= since)
);
create index error_drop_until on error_drop (until);
