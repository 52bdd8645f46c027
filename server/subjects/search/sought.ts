import type { RequestRecord } from '../../../contract/service/requests.ts';
import type { CallContext } from '../../calls/call.ts';
import type { Service } from '../../calls/service.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import type { Period } from '../../store/ledger/statement.ts';
import type { Term } from './read-term.ts';

/** Finds what is stored about a request, by its inner UUID; undefined for nothing. */
export type FindRequest = (
  service: Service,
  requestId: string,
  call: Pick<CallContext, 'deadline' | 'isGone'>,
) => Promise<RequestRecord | undefined>;

/** What is searched, and where. */
export type Sought = {
  readonly service: Service;
  readonly findRequest: FindRequest;
  readonly term: Term;
  /** The only program to look into; null for all. */
  readonly programId: string | null;
  readonly programIds: readonly string[];
  readonly period: Period;
  readonly call: CallContext;
  readonly read: (statement: Statement) => Promise<readonly Row[]>;
};
