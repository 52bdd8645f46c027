import { Audit } from './audit.ts';
import { Cards } from './cards.ts';
import { InvalidArgument } from './error.ts';
import { Errors } from './errors.ts';
import { Deposits, Withdrawals } from './funding.ts';
import { Keys } from './keys.ts';
import { Programs } from './programs.ts';
import { Sandbox } from './sandbox.ts';
import { type Fetch, sender } from './send.ts';
import { Switch } from './switch.ts';
import { Transfers } from './transfers.ts';
import { TrialBalances } from './trial-balance.ts';

export { type CatalogueEntry, ERROR_TYPES, type ErrorType, type MoneyMoved } from '../domain/catalogue-entry.ts';
export { CATALOGUE, type ErrorCode, isErrorCode } from '../domain/errors.ts';
export { LIMIT_NAMES } from '../domain/ledger/limits.ts';
export { formatMoney } from '../domain/ledger/money.ts';
export { KEY_SCOPES, type KeyScope, PROGRAM_SCOPES } from '../domain/scope.ts';
export { TRANSFER_STATUSES, TRANSFER_TYPES } from '../domain/transfers/transfer.ts';
export {
  ConnectionFailure,
  IncompleteAnswer,
  InvalidArgument,
  ProcessError,
  RequestError,
  ServerError,
  TransferServiceError,
  UnexpectedAnswer,
} from './error.ts';
export type * from './records.ts';
export type { CallOptions, KeyedCallOptions } from './request.ts';
export type { TextChunks } from './text-chunks.ts';

/** How to reach the service, and as whom. */
export type TransferServiceOptions = {
  /** `http://127.0.0.1:8080` if left out. */
  readonly baseUrl?: string | undefined;
  /** The API key; a sandbox on the same machine needs none. */
  readonly key?: string | undefined;
  /** The card program to act in, for callers whose key does not name one. */
  readonly programId?: string | undefined;
  /**
   * How long one attempt may take, in milliseconds; 10,000 if left out. For an export: how long the service may take
   * for the next piece of it.
   */
  readonly timeoutMilliseconds?: number | undefined;
  /** How often a request that failed is sent again, where that is safe; 2 if left out. */
  readonly maximumRetries?: number | undefined;
  /** Used instead of the platform's fetch. */
  readonly fetch?: Fetch | undefined;
};

/**
 * The Transfer Service. One method for each of its operations, by noun: create_transfer is `transfers.create`.
 *
 * A method resolves to the record that the service answered with; `record.response` has the request id, `replayed` and
 * the headers. It rejects with a TransferServiceError (RequestError, ServerError, ProcessError), a ConnectionFailure,
 * an UnexpectedAnswer or an InvalidArgument; the first three say whether money moved. An export resolves to the pieces
 * of its text, with the same `response`; the loop that reads them throws an IncompleteAnswer when they break off.
 */
export class TransferService {
  /** Where the service is, without a slash at the end. */
  readonly baseUrl: string;
  readonly transfers: Transfers;
  readonly cards: Cards;
  readonly programs: Programs;
  readonly deposits: Deposits;
  readonly withdrawals: Withdrawals;
  readonly switch: Switch;
  readonly trialBalance: TrialBalances;
  readonly keys: Keys;
  readonly audit: Audit;
  readonly errors: Errors;
  readonly sandbox: Sandbox;

  /** Throws {@link InvalidArgument} for a base URL that is none. */
  constructor(options: TransferServiceOptions = {}) {
    this.baseUrl = readBaseUrl(options.baseUrl ?? 'http://127.0.0.1:8080');
    const send = sender({
      baseUrl: this.baseUrl,
      key: options.key,
      programId: options.programId,
      timeoutMilliseconds: options.timeoutMilliseconds ?? 10_000,
      maximumRetries: options.maximumRetries ?? 2,
      fetch: options.fetch ?? globalThis.fetch,
    });
    this.transfers = new Transfers(send);
    this.cards = new Cards(send);
    this.programs = new Programs(send);
    this.deposits = new Deposits(send);
    this.withdrawals = new Withdrawals(send);
    this.switch = new Switch(send);
    this.trialBalance = new TrialBalances(send);
    this.keys = new Keys(send);
    this.audit = new Audit(send);
    this.errors = new Errors(send);
    this.sandbox = new Sandbox(send);
  }
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new InvalidArgument(`The base URL must begin with http:// or https://, but it is '${text}'.`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidArgument('The base URL can hold a host, a port and a path, and nothing else.');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
