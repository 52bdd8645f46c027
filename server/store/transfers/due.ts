import type { Statement } from '../connection/database.ts';

/**
 * Finds holds that are past their end, the longest first. The clock is read by a subquery, so that the index ends the
 * search; read for each row, it would be compared with every open hold.
 */
export function findExpiredHolds(count: number): Statement {
  return {
    name: 'find_expired_holds',
    text: `select program_id, transfer_id from hold where expires_at <= (select service_now()) order by expires_at limit $1`,
    values: [count],
  };
}

/**
 * Finds scheduled transfers that are due, the longest first. What is disabled waits, and must not stand in the way of
 * what is not.
 */
export function findDueTransfers(count: number): Statement {
  return {
    name: 'find_due_transfers',
    text: `select program_id, transfer_id from transfer
      where status = 'scheduled' and scheduled_for <= (select service_now()) and not exists (
        select from switch
        where switch.disabled and (switch.until is null or switch.until > (select service_now()))
          and (switch.program_id is null or switch.program_id = transfer.program_id)
          and (switch.transfer_type is null or switch.transfer_type = transfer.type)
      )
      order by scheduled_for limit $1`,
    values: [count],
  };
}
