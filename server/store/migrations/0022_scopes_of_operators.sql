-- Needs: 0021
-- `operator` was one scope for everything that operators do. It stays, and has parts that can be granted alone.

alter table api_key drop constraint api_key_scopes_known;
alter table api_key add constraint api_key_scopes_known check (
  scopes <@ '{transfers:read,transfers:write,cards:read,cards:write,cards:erase,errors:read,events:read,webhooks:read,webhooks:write,operator:read,funding:write,switch:write,programs:write,keys:write,operator}'
    and cardinality(scopes) > 0
);
alter table api_key drop constraint api_key_operator_unbound;
alter table api_key add constraint api_key_operator_unbound check (
  program_id is null
    or not scopes && '{operator:read,funding:write,switch:write,programs:write,keys:write,operator}'
);
