-- Needs: 0021
-- Sessions of the console: a browser has a random token in a cookie in the place of a key. docs/sessions.md has the rules.

-- A row for each session that was not ended by somebody; it is deleted some time after it has ended by itself. Times are real
-- times, also in a sandbox whose clock was moved: they are about people.
create table console_session (
  session_id uuid primary key,
  -- SHA-256 of the token, which is never stored itself.
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  key_id uuid not null references api_key,
  created_at timestamptz not null,
  -- When somebody last did something with it, exact to some seconds. No index has it, so that most updates of it are cheap.
  last_active_at timestamptz not null
) with (fillfactor = 50);
create index console_session_key on console_session (key_id, session_id);

alter table console_session enable row level security;
alter table console_session force row level security;
create policy all_sessions on console_session to transfer_service_background using (true);
create policy find_caller on console_session for select to transfer_service_authentication using (true);
grant select, insert, update (last_active_at), delete on console_session to transfer_service_background;
grant select on console_session to transfer_service_authentication;
