-- An event is identified by its batch and its index in it. Nothing reads the second id.
alter table event drop column event_id;
