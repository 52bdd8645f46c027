import type { OperationId } from '../../contract/operations.ts';
import type { Refusal } from '../../domain/refusal.ts';
import type { Gateway } from '../calls/call.ts';
import type { RequestTrace } from '../calls/trace.ts';
import { notReady } from '../foundation/runbook.ts';
import type { Connections } from './admission/connection.ts';
import type { AdmissionQueue } from './admission/overload.ts';
import type { RateLimits } from './admission/rate-limits.ts';
import type { Watchers } from './admission/watchers.ts';
import type { RequestContext } from './request-context.ts';
import type { Router } from './router.ts';
import type { HttpSettings } from './settings.ts';
import type { ErrorReporter } from './wire/error-response.ts';

/** Decides whether a request is traced. `beganAt` is a value of `performance.now()`. */
export type BeginTrace = (traceparent: string | undefined, beganAt: number) => RequestTrace | undefined;

export type HttpService = ErrorReporter & {
  readonly gateway: Gateway;
  readonly settings: HttpSettings;
  readonly version: string;
  readonly routes: Router;
  readonly connections: Connections;
  readonly limits: RateLimits;
  /** Requests in flight. A request is in flight until its response is sent or the caller disconnects. */
  readonly active: Set<RequestContext>;
  /** The number of requests in flight whose caller has not read the complete response. */
  unreadResponses: number;
  readonly beginTrace: BeginTrace | undefined;
  readonly watchers: Watchers;
  /** Returns whether the event loop lag is above its limit. */
  readonly isOverloaded: () => boolean;
  /** Only used in a sandbox. */
  readonly reusedKeys: ReusedKeys;
  readonly admissionQueue: AdmissionQueue;
  requests: number;
  /** Whether more requests are late than `maxLateRequests`. */
  isBehind: boolean;
  /** Whether the server is closing. If so, every response closes its connection. */
  isClosing: boolean;
  isRefusing: boolean;
};

/** Returns the refusal of a request that arrives while the service is closing. */
export function closingRefusal(): Refusal {
  return notReady('service_closing');
}

/** Maximum number of remembered keys, which take about 2 MB. New keys replace the oldest. */
const MAX_KEYS = 10_000;

/** Remembers which operations of this process have succeeded with an idempotency key, for warnings in a sandbox. */
export class ReusedKeys {
  readonly #operations = new Map<string, Set<OperationId>>();

  /**
   * Records that an operation succeeded with a key in a card program. Returns the other operations that succeeded with it before.
   */
  note(programId: string, key: string, operation: OperationId): readonly OperationId[] {
    const name = `${programId}\n${key}`;
    const known = this.#operations.get(name) ?? new Set();
    const others = [...known].filter((other) => other !== operation);
    this.#operations.set(name, known.add(operation));
    if (this.#operations.size > MAX_KEYS) {
      for (const oldest of this.#operations.keys()) {
        this.#operations.delete(oldest);
        break;
      }
    }
    return others;
  }
}
