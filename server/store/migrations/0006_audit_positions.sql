-- Entries of the audit log are numbered from 1: none can stand before the first, where nobody would look for it.
--
-- For rows to come. A row that was forged earlier must not keep the schema from coming up to date, and is nothing to be
-- told of here: `transfer-service audit verify` names it.
alter table audit_entry add constraint audit_entry_position_from_one check (position > 0) not valid;
