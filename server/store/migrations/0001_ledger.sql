-- The ledger and what stands around it.
--
-- Program first in every key of a table that grows. Foreign keys tie what is written seldom (programs, accounts,
-- cards). The tables that take a row per transfer have none: the rows they point to are locked and read by the same
-- transaction, programs, accounts and cards are never deleted (the triggers below), and a key check per row would cost
-- as much as the insert.

create table program (
  program_id uuid primary key,
  name text not null check (char_length(name) between 1 and 100),
  currency char(3) not null,
  time_zone text not null,
  created_at timestamptz not null
);

-- Amounts are minor units. 2^53 - 1 = 9007199254740991 is the bound of every balance, either way.
create table account (
  program_id uuid not null references program,
  account_id uuid not null,
  kind text not null check (
    kind in ('funding', 'card', 'clearing', 'suspense', 'fee', 'receivable', 'exchange', 'world')
  ),
  owner_id uuid not null,
  currency char(3) not null,
  balance bigint not null default 0 check (balance between -9007199254740991 and 9007199254740991),
  held bigint not null default 0 check (held between 0 and 9007199254740991),
  floor bigint check (kind = 'world' or floor is not null),
  sequence bigint not null default 0 check (sequence >= 0),
  created_at timestamptz not null,
  primary key (program_id, account_id),
  -- Not program first: an account is looked for by its owner here, and where two indexes begin with the program, the
  -- planner can take the wrong one for a probe of the primary key while the table is young.
  unique (owner_id, kind, currency),
  constraint account_floor check (floor is null or balance - held >= floor)
) with (fillfactor = 50);

create table card (
  program_id uuid not null references program,
  card_id uuid not null,
  -- The id on the wire: the caller's own, or card_ and the digits of card_id.
  name text not null check (char_length(name) between 1 and 255),
  status text not null check (
    status in ('preactive', 'active', 'inactive', 'lost', 'stolen', 'fraud', 'closed')
  ),
  currency char(3) not null,
  account_id uuid not null,
  funding_account_id uuid not null,
  holder_reference text check (char_length(holder_reference) between 1 and 255),
  last_four char(4) check (last_four ~ '^[0-9]{4}$'),
  expires_on date,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (program_id, card_id),
  unique (program_id, name),
  foreign key (program_id, account_id) references account,
  foreign key (program_id, funding_account_id) references account
);

create table transfer (
  program_id uuid not null,
  transfer_id uuid not null,
  type text not null check (type in ('load', 'unload', 'card_to_card')),
  card_id uuid not null,
  destination_card_id uuid check ((type = 'card_to_card') = (destination_card_id is not null)),
  amount bigint not null check (amount between 1 and 999999999999),
  captured_amount bigint not null check (captured_amount between 0 and amount),
  reversed_amount bigint not null default 0 check (reversed_amount between 0 and captured_amount),
  currency char(3) not null,
  status text not null check (
    status in ('scheduled', 'pending', 'completed', 'failed', 'canceled', 'expired')
  ),
  outcome text not null check (outcome in ('final', 'open', 'unknown')),
  capture text not null check (capture in ('automatic', 'manual')),
  expires_at timestamptz,
  scheduled_for timestamptz,
  description text check (char_length(description) between 1 and 255),
  reference text check (char_length(reference) between 1 and 255),
  metadata jsonb not null,
  error jsonb,
  request_id uuid not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  completed_at timestamptz,
  primary key (program_id, transfer_id)
);
create index transfer_card on transfer (program_id, card_id, transfer_id);
-- Last, because of two indexes that cost the same on a nearly empty table the planner takes the one made last, and
-- references are probed by every transfer that has one. For the same reason (program_id, name) of card stands last.
create unique index transfer_reference on transfer (program_id, reference) where reference is not null;

-- A deposit brings money from the world to a program's funding, a withdrawal takes it back.
create table funding_movement (
  program_id uuid not null references program,
  movement_id uuid not null,
  kind text not null check (kind in ('deposit', 'withdrawal')),
  amount bigint not null check (amount between 1 and 9007199254740991),
  currency char(3) not null,
  description text check (char_length(description) between 1 and 255),
  actor text not null,
  created_at timestamptz not null,
  primary key (program_id, movement_id)
);

-- One amount from one account to another, with both balances after it. `cause_id` is the transfer or the funding
-- movement that made it. The two unique keys on sequences are also the wall against a posting that was decided on
-- stale balances: the number is taken.
create table posting (
  program_id uuid not null,
  cause_id uuid not null,
  index smallint not null check (index >= 0),
  purpose text not null check (purpose in ('load', 'unload', 'card_to_card', 'deposit', 'withdrawal')),
  source_account_id uuid not null,
  destination_account_id uuid not null check (destination_account_id <> source_account_id),
  amount bigint not null check (amount > 0),
  currency char(3) not null,
  source_balance bigint not null,
  destination_balance bigint not null,
  source_sequence bigint not null check (source_sequence > 0),
  destination_sequence bigint not null check (destination_sequence > 0),
  created_at timestamptz not null,
  primary key (program_id, cause_id, index)
);
create unique index posting_source on posting (program_id, source_account_id, source_sequence);
create unique index posting_destination on posting (program_id, destination_account_id, destination_sequence);

-- The first answer to a key. `operation` is part of the key: one key, one operation. `subject_id` is what the request
-- made; the body of a success is kept for 30 days, after that a replay answers with the subject as it is then.
create table idempotency (
  program_id uuid not null,
  operation text not null,
  key text not null check (char_length(key) between 1 and 255),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  status smallint not null check (status = 201 or status = 409),
  subject_id uuid check ((status = 201) = (subject_id is not null)),
  body text check (status = 201 or body is null),
  code text check ((status = 409) = (code is not null)),
  message text check ((code is not null) = (message is not null)),
  field text,
  created_at timestamptz not null,
  primary key (program_id, operation, key)
);

-- Finds what is old enough to be forgotten. Rows come in the order of time, so the ranges of a BRIN tell them apart, and
-- it costs next to nothing per row.
create index idempotency_age on idempotency using brin (created_at) with (pages_per_range = 16);

-- One row a transaction that moves money: a commit whose answer was lost is settled by inserting the same id. Whoever
-- comes second fails, so either the transaction has committed or it never can. `position` is the relay's: the order
-- of events is given after the commit, because ids and sequences leave gaps that fill late.
create table write_batch (
  batch_id uuid primary key,
  abandoned boolean not null default false,
  position bigint unique,
  created_at timestamptz not null
);

create table event (
  batch_id uuid not null,
  index integer not null check (index >= 0),
  program_id uuid,
  event_id uuid not null,
  type text not null,
  subject_id text not null,
  -- JSON, to the letter as it was answered; never searched, so it is not worth the parsing on the way in.
  payload text not null,
  created_at timestamptz not null,
  primary key (batch_id, index, created_at)
) partition by range (created_at);
-- Takes what no month's partition does, so that a forgotten partition never stops a transfer.
create table event_default partition of event default;

create table switch (
  switch_id uuid primary key,
  program_id uuid references program,
  transfer_type text check (transfer_type in ('load', 'unload', 'card_to_card')),
  disabled boolean not null,
  reason text check (char_length(reason) between 1 and 500),
  actor text not null,
  since timestamptz not null,
  until timestamptz,
  check (program_id is not null or transfer_type is null),
  unique nulls not distinct (program_id, transfer_type)
);

-- The secret is kept only as its SHA-256. `program_id` is null for an operator's key.
create table api_key (
  key_id uuid primary key,
  public_part char(16) not null unique,
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  program_id uuid references program,
  name text not null check (char_length(name) between 1 and 100),
  created_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% rows are never changed or deleted', tg_table_name using errcode = 'restrict_violation';
end $$;

create trigger posting_append_only before update or delete on posting
  for each row execute function refuse_change();
create trigger posting_not_truncated before truncate on posting
  for each statement execute function refuse_change();
create trigger funding_movement_append_only before update or delete on funding_movement
  for each row execute function refuse_change();
create trigger funding_movement_not_truncated before truncate on funding_movement
  for each statement execute function refuse_change();
create trigger program_kept before delete on program for each row execute function refuse_change();
create trigger account_kept before delete on account for each row execute function refuse_change();
create trigger card_kept before delete on card for each row execute function refuse_change();
create trigger transfer_kept before delete on transfer for each row execute function refuse_change();
