-- Holds, reversals, limits, metadata that can be searched, and a clock that a sandbox can move.

-- What the service takes for the time. `ahead` moves it in a sandbox; live there is no row. `furthest` is the most it
-- has ever been ahead: ids carry the time of day, so a search by time has to look that much further back.
create table sandbox_clock (
  singleton boolean primary key default true check (singleton),
  ahead interval not null check (ahead >= interval '0'),
  furthest interval not null check (furthest >= ahead)
);

create function service_now() returns timestamptz language sql volatile as $$
  select clock_timestamp() + coalesce((select ahead from sandbox_clock), interval '0')
$$;

-- When it is this time of day in a time zone; the first time, where clocks are put back and it is twice. Some put them
-- back at midnight, and there a day begins with the first.
create function instant_of(local timestamp, zone text) returns timestamptz language sql stable as $$
  select case
    when ((local at time zone zone) - interval '1 hour') at time zone zone = local
      then (local at time zone zone) - interval '1 hour'
    else local at time zone zone
  end
$$;

-- The sum of the open holds towards the account; together with `held` it says what the open holds come to.
alter table account add column incoming bigint not null default 0
  check (incoming between 0 and 9007199254740991);

-- Limits as they are answered; null where there are none.
alter table card add column limits jsonb;
alter table program add column limits jsonb, add column card_limits jsonb;

-- The open holds, and only those: a row goes when its transfer is captured, canceled or expired.
create table hold (
  program_id uuid not null,
  transfer_id uuid not null,
  source_account_id uuid not null,
  destination_account_id uuid not null check (destination_account_id <> source_account_id),
  amount bigint not null check (amount > 0),
  expires_at timestamptz not null,
  -- Start of the day on which the hold was counted towards limits: what is given back goes there.
  day_start timestamptz not null,
  primary key (program_id, transfer_id)
);
create index hold_expiry on hold (expires_at);
create index hold_source on hold (program_id, source_account_id);
create index hold_destination on hold (program_id, destination_account_id);

-- Money of a completed transfer that went back. Its postings have it as their cause.
create table reversal (
  program_id uuid not null,
  reversal_id uuid not null,
  transfer_id uuid not null,
  amount bigint not null check (amount between 1 and 999999999999),
  currency char(3) not null,
  description text check (char_length(description) between 1 and 255),
  request_id uuid not null,
  created_at timestamptz not null,
  primary key (program_id, reversal_id)
);
create index reversal_transfer on reversal (program_id, transfer_id, reversal_id);
create trigger reversal_append_only before update or delete on reversal
  for each row execute function refuse_change();
create trigger reversal_not_truncated before truncate on reversal
  for each statement execute function refuse_change();

alter table posting drop constraint posting_purpose_check, add constraint posting_purpose_check check (
  purpose in ('load', 'unload', 'card_to_card', 'reversal', 'deposit', 'withdrawal')
);

-- What the transfers of a day came to, by account and direction: of a card, or of a program by its funding account.
-- A day is known by the instant at which it began in the time zone of its program; weeks and months are sums of days,
-- so a limit costs 31 rows at most, however long the history. Changed only under the lock of its account.
create table limit_counter (
  program_id uuid not null,
  account_id uuid not null,
  direction text not null check (direction in ('in', 'out')),
  day_start timestamptz not null,
  amount bigint not null check (amount >= 0),
  count bigint not null check (count >= 0),
  primary key (program_id, account_id, direction, day_start)
) with (fillfactor = 50);

-- The pairs of metadata, to find transfers by them.
create table transfer_metadata (
  program_id uuid not null,
  name text not null,
  value text not null,
  transfer_id uuid not null,
  primary key (program_id, name, value, transfer_id)
);
create index transfer_metadata_transfer on transfer_metadata (program_id, transfer_id);
insert into transfer_metadata (program_id, name, value, transfer_id)
  select transfer.program_id, pair.key, pair.value, transfer.transfer_id
  from transfer cross join lateral jsonb_each_text(transfer.metadata) as pair;

-- What is rare among transfers is found by an index of its own: whatever is not completed, what is due, what went out
-- of cards, what came to a card from another one.
create index transfer_due on transfer (scheduled_for) where status = 'scheduled';
create index transfer_unfinished on transfer (program_id, status, transfer_id) where status <> 'completed';
create index transfer_type on transfer (program_id, type, transfer_id) where type <> 'load';
create index transfer_destination on transfer (program_id, destination_card_id, transfer_id)
  where destination_card_id is not null;
create index transfer_amount on transfer (program_id, amount, transfer_id);
-- Made anew, so that it is the last one again: see where it was made first.
drop index transfer_reference;
create unique index transfer_reference on transfer (program_id, reference) where reference is not null;

-- An answer of 200 is kept like one of 201: captures and cancellations make nothing new.
alter table idempotency
  drop constraint idempotency_status_check,
  drop constraint idempotency_check,
  drop constraint idempotency_check1,
  drop constraint idempotency_check2,
  add constraint idempotency_status check (status in (200, 201, 409)),
  add constraint idempotency_subject check ((status < 300) = (subject_id is not null)),
  add constraint idempotency_body check (status < 300 or body is null),
  add constraint idempotency_code check ((status = 409) = (code is not null));

-- The smallest id that can have been made at a moment: a UUIDv7 begins with its milliseconds. Lists are sorted by id,
-- so a search by time is a range of ids. Twelve digits reach from 1970 to the year 10889.
create function uuid_at(moment timestamptz) returns uuid language sql immutable strict as $$
  select (lpad(to_hex(least(greatest((extract(epoch from moment) * 1000)::bigint, 0), 281474976710655)), 12, '0')
    || repeat('0', 20))::uuid
$$;

-- The number of the last posting of an account before a moment; 0 for none. Postings of an account are numbered in the
-- order of time, so halving finds it in a few probes of the two unique indexes.
create function last_sequence_before(of_program uuid, of_account uuid, moment timestamptz) returns bigint
language plpgsql stable as $$
declare
  low bigint := 0;
  high bigint;
  middle bigint;
  at timestamptz;
begin
  select sequence into high from account where program_id = of_program and account_id = of_account;
  high := coalesce(high, 0);
  while low < high loop
    middle := (low + high + 1) / 2;
    select created_at into at from posting
      where program_id = of_program and source_account_id = of_account and source_sequence = middle;
    if not found then
      select created_at into at from posting
        where program_id = of_program and destination_account_id = of_account and destination_sequence = middle;
    end if;
    if at < moment then
      low := middle;
    else
      high := middle - 1;
    end if;
  end loop;
  return low;
end $$;
