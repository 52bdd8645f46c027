-- Needs: 0021
-- Files of processors about the orders that they have settled. docs/settlement.md says how they are compared with the books.

-- 1. `sha256` identifies the file, so that the same one is taken once. Lines arrive in portions, in order, and are compared when all
-- are there. A withdrawn file no longer counts, and its lines stay.
create table settlement_file (
  file_id uuid primary key,
  connector_id text not null,
  name text not null,
  sha256 bytea not null,
  status text not null check (status in ('receiving', 'matching', 'matched', 'withdrawing', 'withdrawn')),
  line_count integer not null check (line_count > 0),
  lines_received integer not null default 0 check (lines_received between 0 and line_count),
  -- How far the job has come that compares the lines, or takes that back.
  lines_examined integer not null default 0 check (lines_examined between 0 and lines_received),
  -- Until then one process compares lines of the file.
  claimed_until timestamptz,
  matched integer not null default 0,
  reported integer not null default 0,
  differs integer not null default 0,
  duplicate integer not null default 0,
  missing_in_ledger integer not null default 0,
  -- Sums of the stored lines by currency, in minor units.
  totals jsonb not null default '{}',
  created_at timestamptz not null,
  created_by text not null,
  matched_at timestamptz,
  withdrawn_at timestamptz,
  withdrawn_by text,
  withdrawal_note text
);
create unique index settlement_file_once on settlement_file (connector_id, sha256)
  where status not in ('withdrawing', 'withdrawn');
create index settlement_file_open on settlement_file (connector_id, file_id) where status in ('matching', 'withdrawing');

-- 2. `sent_attempt_id` and `processor_reference` as the file has them. `attempt_id` is the attempt that the line names by its id, or the
-- one that was found. `outcome`: once the line has been compared.
create table settlement_line (
  file_id uuid not null,
  line_number integer not null check (line_number > 0),
  sent_attempt_id text,
  processor_reference text,
  kind text not null check (kind in ('push', 'pull')),
  amount bigint not null check (amount > 0),
  currency char(3) not null,
  fee bigint not null check (fee >= 0),
  status text not null check (status in ('settled', 'reversed')),
  settled_on date not null,
  attempt_id uuid,
  outcome text check (outcome in ('matched', 'reported', 'differs', 'duplicate', 'missing_in_ledger')),
  primary key (file_id, line_number)
);

do $$
declare
  walled text;
begin
  foreach walled in array array['settlement_file', 'settlement_line'] loop
    execute format('alter table %I enable row level security', walled);
    execute format('alter table %I force row level security', walled);
    execute format('create policy all_programs on %I to transfer_service_background using (true)', walled);
    execute format('grant select, insert, update on %I to transfer_service_background', walled);
  end loop;
end $$;
