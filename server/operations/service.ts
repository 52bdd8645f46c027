import type { Database } from '../store/connection/database.ts';
import type { TransferLane } from '../transfers/load.ts';

/** What operations work with. */
export type Service = {
  /** As far as the operation reaches: the card program of a request, or everything, for operators and loops. */
  readonly database: Database;
  /** Where transfers are committed in groups. */
  readonly transfers: TransferLane;
  /** How customers reach support, for messages inside an answer that is no error itself. */
  readonly supportContact: string;
};
