import type { Database } from '../store/connection/database.ts';
import type { Processors } from './processors.ts';

/** What every handler works with; subjects add what only they need. */
export type Service = {
  /** Limited to the reach of the operation: the card program of the request, or all of them for operators and jobs. */
  readonly database: Database;
  /** How customers reach support, for error records inside a success. */
  readonly supportContact: string;
  readonly processors: Processors;
};
