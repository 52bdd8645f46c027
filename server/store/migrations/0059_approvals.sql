-- Needs: 0021
-- Requests of operators that wait for the approval of a second person. docs/approvals.md has the rules.

-- 1. One row with all rules, so that a change replaces them together. Without the row there are no rules.
create table approval_policy (
  singleton boolean primary key default true check (singleton),
  rules jsonb not null,
  expires_after_hours integer not null,
  changed_at timestamptz not null,
  changed_by text not null
);

-- 2. The request is kept as it was sent, until the approval ends. `key_hash` finds it by the idempotency key of the request, and
-- `fingerprint` finds an equal request that still waits.
create table approval (
  approval_id uuid primary key,
  status text not null,
  operation text not null,
  program_id uuid,
  path jsonb not null,
  body text,
  -- The versions of the record that the request accepts (`If-Match`), or null for any.
  if_match text[],
  fingerprint bytea not null,
  meaning bytea not null,
  idempotency_key text not null,
  key_hash uuid not null unique,
  summary text not null,
  values_then text,
  request_id uuid not null,
  -- A key or a person, as in `created_by` of transfers.
  requested_by uuid not null,
  requested_at timestamptz not null,
  expires_at timestamptz not null,
  decided_by uuid,
  decided_at timestamptz,
  reason text,
  result text,
  error jsonb,
  -- Set in the transaction of the change itself, by operations outside card programs. The check refuses a second time.
  times_carried_out smallint not null default 0 check (times_carried_out <= 1)
);
create unique index approval_pending on approval (meaning) where status = 'pending';
create index approval_open on approval (expires_at) where status in ('pending', 'approved');

-- 3. The person that a key belongs to (`owner_id`, because statements of earlier versions join keys with sessions, which have a
-- `person_id`), and the key or person that created it: an approval must not come from the same person.
alter table api_key add column owner_id uuid;
alter table api_key add column created_by uuid;
alter table api_key drop constraint api_key_scopes_known;
alter table api_key add constraint api_key_scopes_known check (
  scopes <@ '{transfers:read,transfers:write,cards:read,cards:write,cards:erase,errors:read,events:read,webhooks:read,webhooks:write,cases:read,cases:write,operator:read,funding:write,switch:write,programs:write,keys:write,approvals:write,operator:cases,operator}'
    and cardinality(scopes) > 0
);
alter table api_key drop constraint api_key_operator_unbound;
alter table api_key add constraint api_key_operator_unbound check (
  program_id is null
    or not scopes && '{operator:read,funding:write,switch:write,programs:write,keys:write,approvals:write,operator:cases,operator}'
);

alter table approval_policy enable row level security;
alter table approval_policy force row level security;
alter table approval enable row level security;
alter table approval force row level security;
create policy whole_policy on approval_policy to transfer_service_background using (true);
create policy all_approvals on approval to transfer_service_background using (true);
grant select, insert, update on approval_policy, approval to transfer_service_background;
