import type { RequestRecord } from '../../../contract/service/requests.ts';
import type { CallContext, Service } from '../../calls/call.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import type { Period } from '../../store/ledger/statement.ts';
import type { Term } from './read-term.ts';

/** Finds everything stored about a request by its inner UUID. Returns undefined if nothing is. */
export type FindRequest = (
  service: Service,
  requestId: string,
  call: Pick<CallContext, 'deadline' | 'isGone'>,
) => Promise<RequestRecord | undefined>;

export type SearchContext = {
  readonly service: Service;
  readonly findRequest: FindRequest;
  readonly term: Term;
  /** The only program to search, or null for all. */
  readonly programId: string | null;
  readonly programIds: readonly string[];
  readonly period: Period;
  readonly call: CallContext;
  readonly read: (statement: Statement) => Promise<readonly Row[]>;
};
