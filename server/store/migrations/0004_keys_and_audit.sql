-- Scopes, rolling and use of API keys, and the audit log.

-- What a key may do. Keys that were made before scopes could do all that their kind can, and still can.
alter table api_key add column scopes text[];
alter table api_key add column last_used_at timestamptz;
-- The key that takes this one's place: both work until this one expires.
alter table api_key add column replaced_by uuid references api_key;
update api_key set scopes =
  '{transfers:read,transfers:write,cards:read,cards:write,errors:read,events:read,webhooks:write}';
update api_key set scopes = scopes || '{operator}' where program_id is null;
alter table api_key alter column scopes set not null;
alter table api_key add constraint api_key_scopes_known check (
  scopes <@ '{transfers:read,transfers:write,cards:read,cards:write,errors:read,events:read,webhooks:write,operator}'
    and cardinality(scopes) > 0
);
-- Operators act in all card programs; a key that is bound to one is no operator's.
alter table api_key add constraint api_key_operator_unbound
  check (program_id is null or not 'operator' = any (scopes));

-- Every action of an operator, and every refused credential (those summed up by the minute). Not partitioned, unlike
-- what grows with traffic: rows are few, and the chain is kept for ever.
create table audit_entry (
  -- 1, 2, 3 …: a number that is missing is a row that was removed.
  position bigint primary key,
  entry_id uuid not null unique,
  created_at timestamptz not null,
  actor text not null,
  -- An operation, or one of the few things that are none.
  action text not null,
  program_id uuid,
  subject_id text,
  request_id uuid,
  -- JSON, to the letter as it was hashed.
  details text not null,
  previous_hash bytea not null check (octet_length(previous_hash) = 32),
  hash bytea not null check (octet_length(hash) = 32)
);
create index audit_entry_action on audit_entry (action, position);
create index audit_entry_time on audit_entry (created_at, position);

-- Where the chain ends: without it, rows that are removed at the end would not be missed.
create table audit_head (
  singleton boolean primary key default true check (singleton),
  position bigint not null check (position >= 0),
  hash bytea not null check (octet_length(hash) = 32)
);
insert into audit_head (position, hash) values (0, decode(repeat('00', 32), 'hex'));

-- One member of what is hashed: its length in bytes keeps neighbours apart, and null is not the empty text.
create function audit_member(content text) returns text language sql immutable as $$
  select case when content is null then '-' else octet_length(content) || ':' || content end || E'\n'
$$;

-- Numbers, dates and chains a row. The head is the last lock that any transaction takes (server/store/locks.ts), and it
-- is held until the commit: rows are numbered in the order in which they are committed, without a gap. Whoever writes
-- rows needs no right to the head.
create function chain_audit_entry() returns trigger language plpgsql security definer set search_path from current as $$
declare
  head audit_head;
begin
  select * into strict head from audit_head where singleton for update;
  new.position := head.position + 1;
  new.created_at := clock_timestamp();
  new.previous_hash := head.hash;
  new.hash := sha256(head.hash || convert_to(
    audit_member(new.position::text)
      || audit_member(new.entry_id::text)
      || audit_member((extract(epoch from new.created_at) * 1000000)::bigint::text)
      || audit_member(new.actor)
      || audit_member(new.action)
      || audit_member(new.program_id::text)
      || audit_member(new.subject_id)
      || audit_member(new.request_id::text)
      || audit_member(new.details),
    'UTF8'));
  update audit_head set position = new.position, hash = new.hash where singleton;
  return new;
end $$;

create function refuse_audit_head() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.position = old.position + 1 then
    return new;
  end if;
  raise exception 'the head of the audit log only goes forward' using errcode = 'restrict_violation';
end $$;

create trigger audit_entry_chained before insert on audit_entry for each row execute function chain_audit_entry();
create trigger audit_entry_append_only before update or delete on audit_entry
  for each row execute function refuse_change();
create trigger audit_entry_not_truncated before truncate on audit_entry
  for each statement execute function refuse_change();
create trigger audit_head_forward before update or delete on audit_head
  for each row execute function refuse_audit_head();
create trigger audit_head_not_truncated before truncate on audit_head
  for each statement execute function refuse_audit_head();

revoke all on audit_entry, audit_head from public;
revoke all on function chain_audit_entry() from public;
-- The owner, too: only a superuser, or whoever grants the right again, gets as far as the triggers.
revoke update, delete, truncate on audit_entry from current_user;
revoke delete, truncate on audit_head from current_user;
