-- Needs: 0021
-- Cases and notes lose a holder's texts, even if they name no card: a job finds them (server/subjects/cards/README.md).
-- Erasures that have completed before run this step again, because a refused request on a transfer of the card, or a refused
-- `create_card`, left its texts in the snapshot of its case.

-- 1. The step that goes through the cases of the program.
alter table card_erasure drop constraint card_erasure_step_check;
alter table card_erasure add constraint card_erasure_step_check check (
  step in ('transfers', 'responses', 'events', 'errors', 'cases')
);

-- Whether a case is about an erased card. It can name the card, or one of its transfers, in a column, in the snapshot, and in a
-- text of either side; there, a card id counts from eight characters on, because a shorter one may be an ordinary word. A
-- refused `create_card` without an id names only the holder. If the hash of the holder is unknown (see 2), any such case counts.
create function is_case_about_card(of_case support_case, erasure card_erasure) returns boolean language plpgsql stable as $$
declare
  literals text[];
  ids text[];
  transfer_ids uuid[];
begin
  if of_case.card_names @> array[erasure.card_name] then
    return true;
  end if;
  literals := array(
    select replace(replace(literal[1], '\"', '"'), '\\', '\')
    from regexp_matches(of_case.snapshot::text, '"((?:[^"\\]|\\.)*)"', 'g') as literal
  );
  ids := array(
    select id[1]
    from (
      select concat_ws(' ', of_case.text, of_case.contact, of_case.resolution, of_case.summary) as written
      union all
      select concat_ws(' ', text, external_author) from case_message where case_id = of_case.case_id
    ) as texts,
    regexp_matches(written, '[[:alnum:]_](?:[[:alnum:]_.:-]{6,}[[:alnum:]_])', 'g') as id
  );
  if erasure.card_name = any (literals || ids) then
    return true;
  end if;
  transfer_ids := array(
    select substr(id, 4)::uuid from unnest(literals || ids) as id where id ~ '^tr_[0-9a-f]{32}$'
  ) || of_case.transfer_id;
  if exists (
    select from transfer
    where program_id = of_case.program_id and transfer_id = any (transfer_ids)
      and erasure.card_id in (card_id, destination_card_id)
  ) then
    return true;
  end if;
  return coalesce(of_case.operation = 'create_card' and of_case.card_names = '{}' and (
    erasure.holder_hash = ''
    or erasure.holder_hash = any (array(select sha256(convert_to(literal, 'UTF8')) from unnest(literals) as literal))
  ), false);
end $$;

-- 2. The hash of the holder was removed when the erasure was completed. An empty one says that it is unknown.
update card_erasure
  set completed_at = null, round = 2, step = 'cases', cursor = null, next_at = statement_timestamp(), holder_hash = ''
  where completed_at is not null and exists (
    select from support_case
    where support_case.program_id = card_erasure.program_id and has_texts
      and support_case.created_at <= card_erasure.completed_at
  );

-- 3. The note with which a break was closed is removed later, when it is old or its card's holder is erased.
alter table processor_break drop constraint processor_break_check;
alter table processor_break add constraint processor_break_check check (
  (closed_at is null) = (closed_by is null) and (closed_at is not null or resolution is null)
);
create index processor_break_noted on processor_break (closed_at) where resolution is not null;
