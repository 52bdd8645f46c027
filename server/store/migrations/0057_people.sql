-- Needs: 0021
-- People who sign in to the console with an OpenID provider, or in a sandbox as one of three examples. docs/sessions.md has the
-- rules. The version nibble of `person_id` is 8, so that a column of creators can hold both keys and people.

-- 1. `subject` is what the provider calls the person. It stays after an erasure, so that the next sign-in finds the block.
create table person (
  person_id uuid primary key,
  issuer text not null,
  subject text not null,
  name text,
  email text,
  roles text[] not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  blocked_at timestamptz,
  erased_at timestamptz,
  unique (issuer, subject)
);

alter table person enable row level security;
alter table person force row level security;
create policy all_people on person to transfer_service_background using (true);
create policy find_caller on person for select to transfer_service_authentication using (true);
grant select, insert, update (name, email, roles, last_seen_at, blocked_at, erased_at) on person
  to transfer_service_background;
grant select on person to transfer_service_authentication;

-- 2. A session belongs to a key or to a person. The scopes of a person are those of the sign-in; a key has its own. Versions before
-- this one join sessions with keys, so they neither accept nor list sessions of people.
alter table console_session alter column key_id drop not null;
alter table console_session add column person_id uuid;
alter table console_session add column program_id uuid;
alter table console_session add column scopes text[];
-- When the provider last asked the person for a password or a second factor.
alter table console_session add column signed_in_at timestamptz;
-- The provider's own id of its session (`sid`), which a back-channel logout names.
alter table console_session add column provider_session text;
create index console_session_person on console_session (person_id, session_id);
