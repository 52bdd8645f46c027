import { CARD_DETAILS } from '../card.ts';
import type { Row, Statement } from '../connection/database.ts';
import { HEX, many, NUMBER, statement, TEXT, UUID } from '../sql.ts';

/** SQL: cards with their accounts. `found` is a relation with their programs and ids, and `more` are further columns to select. */
const showCards = (found: string, order: string, more = ''): string => `select ${CARD_DETAILS}${more}
  from (${found}) as found
  cross join lateral (
    select * from card where card.program_id = found.program_id and card.card_id = found.card_id limit 1
  ) as card
  cross join lateral (
    select * from account where account.program_id = card.program_id and account.account_id = card.account_id limit 1
  ) as account
  cross join lateral (select time_zone from program where program.program_id = card.program_id limit 1) as program
  order by ${order} limit :count`;

const IN_PROGRAMS = { programIds: many(UUID), count: NUMBER };

const FIND_BY_NAME = statement(
  'find_cards_by_name',
  { ...IN_PROGRAMS, start: TEXT },
  showCards(
    `select wanted.program_id, of_name.card_id
      from unnest(:programIds) as wanted(program_id) cross join lateral (
        select card_id from card
        where card.program_id = wanted.program_id
          and card.name collate "C" >= :start and card.name collate "C" < :start || U&'\\007F'
        order by card.name collate "C" limit :count
      ) as of_name`,
    'card.name collate "C", card.card_id desc',
  ),
);

/** Finds cards whose wire id begins with a string of visible ASCII characters. The shortest ids come first. */
export function findCardsByName(programIds: readonly string[], start: string, count: number): Statement {
  return FIND_BY_NAME({ programIds, start, count });
}

const byColumn = (name: string, column: string, type: string) =>
  statement(
    name,
    { ...IN_PROGRAMS, value: TEXT },
    showCards(
      `select wanted.program_id, of_value.card_id
        from unnest(:programIds) as wanted(program_id) cross join lateral (
          select card_id from card
          where card.${column} = :value::${type} and card.program_id = wanted.program_id
            and (card.${column}, card.program_id, card.card_id)
              >= (:value::${type}, wanted.program_id, '00000000-0000-0000-0000-000000000000'::uuid)
            and (card.${column}, card.program_id, card.card_id)
              <= (:value::${type}, wanted.program_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
          order by card.${column} desc, card.program_id desc, card.card_id desc limit :count
        ) as of_value`,
      'card.card_id desc',
    ),
  );

const FIND_BY_LAST_FOUR = byColumn('find_cards_by_last_four', 'last_four', 'char(4)');
const FIND_BY_HOLDER = byColumn('find_cards_by_holder', 'holder_reference', 'text');

export function findCardsByLastFour(programIds: readonly string[], value: string, count: number): Statement {
  return FIND_BY_LAST_FOUR({ programIds, value, count });
}

export function findCardsByHolder(programIds: readonly string[], value: string, count: number): Statement {
  return FIND_BY_HOLDER({ programIds, value, count });
}

/** SQL: holder references in the order of the index, from a given start. */
const holders = (from: string, maxExamined: string): string => `select program_id, card_id, holder_reference from card
    where holder_reference is not null ${from}
    order by holder_reference, program_id, card_id limit ${maxExamined}`;

const FIND_BY_PART_OF_HOLDER = statement(
  'find_cards_by_part_of_holder',
  { ...IN_PROGRAMS, part: TEXT, maxExamined: NUMBER },
  showCards(
    `select program_id, card_id from (
        (${holders('and holder_reference >= :part', ':count::bigint * 20')})
        union (${holders('', ':maxExamined')})
      ) as looked_at
      where program_id = any (:programIds) and position(lower(:part) in lower(holder_reference)) > 0
      order by card_id desc limit :count`,
    'card.card_id desc',
  ),
);

/**
 * Finds the newest cards whose holder reference contains a string, ignoring case. No index finds the middle of a string. So this
 * searches the references that begin with it, and the first `maxExamined` references in index order.
 */
export function findCardsByPartOfHolder(
  programIds: readonly string[],
  part: string,
  maxExamined: number,
  count: number,
): Statement {
  return FIND_BY_PART_OF_HOLDER({ programIds, part, maxExamined, count });
}

const FIND_BY_TOKEN = statement(
  'find_cards_by_token',
  { ...IN_PROGRAMS, tokenHash: HEX },
  showCards(
    'select program_id, card_id from processor_card where token_hash = :tokenHash and program_id = any (:programIds)',
    'card.card_id desc',
    // Four characters would be more than half of a shorter token.
    `, case when char_length(card.processor_token) >= 8 then right(card.processor_token, 4) end as token_end`,
  ),
);

/** Finds the cards whose token at their processor has a given hash. See {@link toTokenEnd}. */
export function findCardsByToken(programIds: readonly string[], tokenHash: string, count: number): Statement {
  return FIND_BY_TOKEN({ programIds, tokenHash, count });
}

/**
 * Returns the last four characters of the token, from a row of {@link findCardsByToken}. Null if the token is short or was erased.
 */
export const toTokenEnd = (row: Row): string | null => row.token_end as string | null;

const FIND_BY_ID = statement(
  'find_cards_by_id',
  { ...IN_PROGRAMS, cardIds: many(UUID) },
  showCards(
    'select * from unnest(:programIds) as wanted(program_id) cross join unnest(:cardIds) as sought(card_id)',
    'card.card_id desc',
  ),
);

export function findCardsById(programIds: readonly string[], cardIds: readonly string[], count: number): Statement {
  return FIND_BY_ID({ programIds, cardIds, count });
}
