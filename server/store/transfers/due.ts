import type { Statement } from '../connection/database.ts';
import { many, NUMBER, statement, TEXT } from '../sql.ts';
import { isEnabled } from '../switch.ts';

const FIND_EXPIRED_HOLDS = statement(
  'find_expired_holds',
  { count: NUMBER },
  `select program_id, transfer_id from hold where expires_at <= (select service_now())
    order by expires_at limit :count`,
);

/**
 * Finds holds that have ended, oldest first. The clock is read in a subquery, so that the planner can use it as an index condition.
 * As a plain function call, it would be compared with every open hold.
 */
export function findExpiredHolds(count: number): Statement {
  return FIND_EXPIRED_HOLDS({ count });
}

/** SQL: the connector of the card of a row of `transfer`. */
export const CONNECTOR_OF_TRANSFER = `(
        select connector_id from card where card.program_id = transfer.program_id and card.card_id = transfer.card_id
      )`;

const FIND_DUE_TRANSFERS = statement(
  'find_due_transfers',
  { connectorIds: many(TEXT), count: NUMBER },
  `select program_id, transfer_id from transfer
    where status = 'scheduled' and scheduled_for <= (select service_now()) and ${isEnabled({
      programId: 'transfer.program_id',
      type: 'transfer.type',
      connectorId: CONNECTOR_OF_TRANSFER,
      now: '(select service_now())',
    })} and not exists (
      select from connector_state where opened_at is not null and connector_id = ${CONNECTOR_OF_TRANSFER}
    ) and (
      ${CONNECTOR_OF_TRANSFER} is null or ${CONNECTOR_OF_TRANSFER} = any (:connectorIds)
    )
    order by scheduled_for limit :count`,
);

/**
 * Finds scheduled transfers that are due, oldest first. Transfers wait if they are disabled, or if their processor cannot be
 * reached, and never block the others. Transfers also wait if their connector is not among this process's `connectorIds`.
 */
export function findDueTransfers(connectorIds: readonly string[], count: number): Statement {
  return FIND_DUE_TRANSFERS({ connectorIds, count });
}

const COUNT_SCHEDULED_ELSEWHERE = statement(
  'count_scheduled_elsewhere',
  { connectorIds: many(TEXT) },
  `select found.connector_id, count(*)::int as transfers, min(found.scheduled_for) as first_due
    from (
      select ${CONNECTOR_OF_TRANSFER} as connector_id, scheduled_for from transfer where status = 'scheduled'
    ) as found
    where found.connector_id is not null and found.connector_id <> all (:connectorIds)
    group by found.connector_id order by found.connector_id`,
);

/** Counts the scheduled transfers of each connector that is not among `connectorIds`, and finds the time when the first is due. */
export function countScheduledElsewhere(connectorIds: readonly string[]): Statement {
  return COUNT_SCHEDULED_ELSEWHERE({ connectorIds });
}
