-- Needs: 0021
-- Whether an error is about an erased card is found with three look-ups, whatever the request of the error has in it, instead
-- of one for each text. Ledgers that were made between 0.1.0 and the version with this migration have this function already.

-- Whether an error is about a card whose holder was erased: the card or the transfer of the error, or any text of its
-- request, such as in a row of a batch or in a misspelt field. Texts are found as they are written in JSON, because a text
-- with a null character cannot be read by PostgreSQL. A request to create a card without an id names only the holder, and a
-- search by metadata, which earlier versions stored, names nothing at all: it may be about anybody.
create or replace function is_about_erased_card(
  of_program uuid, of_card text, of_transfer uuid, of_operation text, request json
) returns boolean language plpgsql stable as $$
declare
  texts text[];
  transfer_ids uuid[];
begin
  if of_program is null or not exists (select from card_erasure where program_id = of_program) then
    return false;
  end if;
  texts := array(
    select replace(replace(literal[1], '\"', '"'), '\\', '\')
    from regexp_matches(request::text, '"((?:[^"\\]|\\.)*)"', 'g') as literal
  );
  if exists (select from card_erasure where program_id = of_program and card_name = any (texts || of_card)) then
    return true;
  end if;
  transfer_ids := array(select substr(content, 4)::uuid from unnest(texts) as content where content ~ '^tr_[0-9a-f]{32}$');
  if (of_transfer is not null or cardinality(transfer_ids) > 0) and exists (
    select from transfer join card_erasure
      on card_erasure.program_id = transfer.program_id
        and card_erasure.card_id in (transfer.card_id, transfer.destination_card_id)
    where transfer.program_id = of_program and transfer.transfer_id = any (transfer_ids || of_transfer)
  ) then
    return true;
  end if;
  if of_card is null and of_operation = 'create_card' then
    return exists (
      select from card_erasure
      where program_id = of_program
        and holder_hash = any (array(select sha256(convert_to(content, 'UTF8')) from unnest(texts) as content))
    );
  end if;
  return 'metadata_value' = any (texts);
end $$;

drop function if exists is_of_erased_card(uuid, uuid);
