import { Refusal } from '../../domain/refusal.ts';
import type { Gateway } from '../operations/call.ts';
import type { Connections } from './admission/connection.ts';
import type { AdmissionQueue } from './admission/overload.ts';
import type { RateLimits } from './admission/rate-limits.ts';
import type { RequestContext } from './request-context.ts';
import type { RouteTable } from './route-table.ts';
import type { HttpSettings } from './settings.ts';
import type { ErrorReporter } from './wire/error-response.ts';

/** What the parts of the HTTP server share: one for each server that is created. */
export type HttpService = ErrorReporter & {
  readonly gateway: Gateway;
  readonly settings: HttpSettings;
  /** Version of the service, for the page at `/`. */
  readonly version: string;
  readonly routes: RouteTable;
  readonly connections: Connections;
  readonly limits: RateLimits;
  /** Requests in flight: until the answer has left, or the caller. */
  readonly active: Set<RequestContext>;
  /** How many of these have an answer that waits to be taken. */
  unreadResponses: number;
  /** Whether the event loop is too late to answer in time. */
  readonly isOverloaded: () => boolean;
  /** Begins requests in portions. */
  readonly admissionQueue: AdmissionQueue;
  /** Requests that have come so far. */
  requests: number;
  /** Whether so many requests wait for so long that more would not be answered in time. */
  isBehind: boolean;
  /** Set once and for all when the server begins to close: every answer is then the last of its connection. */
  isClosing: boolean;
  /** Set when it takes no more requests. */
  isRefusing: boolean;
};

/** The answer to whatever comes to a service that is closing, and has not begun. */
export function closingRefusal(): Refusal {
  return new Refusal('service_unavailable', 'The service is closing.');
}
