-- Groups of transfers decide on accounts that they do not lock (see ARCHITECTURE.md, "Chained groups"). Whoever changes an
-- account, its holds, its counters, its card or the transfers between its cards raises the version. A group is saved only
-- if every account that it looked at still has the version it was decided on.
alter table account add column version bigint not null default 0 check (version >= 0);

-- Fails the transaction of a group whose accounts have changed. The state is ours, so that no other failure looks like it.
create function refuse_changed_accounts() returns boolean language plpgsql as $$
begin
  raise exception 'an account has changed since the decision' using errcode = 'TS001';
end $$;

-- Raises the version of an account for those who do not do it themselves.
create function raise_account_version() returns trigger language plpgsql as $$
begin
  update account set version = version + 1 where program_id = new.program_id and account_id = new.account_id;
  return null;
end $$;

-- A card has no version of its own. Whatever changes it, an operator's SQL included, raises that of its account.
create trigger card_raises_version after update on card for each row execute function raise_account_version();

-- A service of an earlier version that still runs knows nothing of versions, and neither may an operator's SQL. The
-- service itself raises the version in the same statement, so the function is not called for it.
create trigger account_raises_version after update on account for each row
  when (new.version = old.version) execute function raise_account_version();
