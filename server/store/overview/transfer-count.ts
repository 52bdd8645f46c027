import type { TransferType } from '../../../domain/transfers/transfer.ts';
import type { Row, Statement } from '../connection/database.ts';
import { columns, DATE, NUMBER, nullable, type RowOf, statement, statementOfRows, TIME, UUID, word } from '../sql.ts';

const COUNT = columns({
  /** Milliseconds since 1970. */
  hour: TIME,
  programId: UUID,
  type: word<TransferType>(),
  /** The process that counted. Each process generates this UUID for itself. */
  processId: UUID,
  count: NUMBER,
});

export type TransferCount = RowOf<typeof COUNT.columns>;

/** Stores the counts of a process. Counts only grow, so they can be stored repeatedly and in any order. */
export const storeTransferCounts = statementOfRows(
  'store_transfer_counts',
  COUNT,
  `insert into transfer_count (${COUNT.names}) select ${COUNT.names} from :sent
    on conflict (hour, program_id, type, process_id) do update set count = excluded.count
      where transfer_count.count < excluded.count`,
);

/** The conditions of a count of transfers. Null means no condition. */
export type CountedScope = { readonly programId: string | null; readonly type: TransferType | null };

const HOURLY = columns({ hour: TIME, type: word<TransferType>(), count: NUMBER });

export type HourlyCount = RowOf<typeof HOURLY.columns>;

const READ_TRANSFER_COUNTS = statement(
  'read_transfer_counts',
  { from: DATE, programId: nullable(UUID), type: nullable(word<TransferType>()) },
  `select hour, type, sum(count)::bigint as count from transfer_count
    where hour >= :from and (:programId::uuid is null or program_id = :programId)
      and (:type::text is null or type = :type)
    group by hour, type order by hour, type`,
);

/** Reads the number of transfers of each hour, by type, from the hour `from` on, oldest first. */
export function readTransferCounts(from: Date, { programId, type }: CountedScope): Statement {
  return READ_TRANSFER_COUNTS({ from, programId, type });
}

export function toHourlyCount(row: Row): HourlyCount {
  return HOURLY.read(row);
}
