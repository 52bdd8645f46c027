import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { ErrorCode } from '../../contract/operations.ts';
import { isMeantFor } from '../../contract/reading/read-fields.ts';
import type { RequestContext } from './request-context.ts';

/** Parts of operation paths. They match even if a proxy adds a prefix or the client omits `/api`. */
const OF_THE_API = ['/api/', '/v0.1/'];

type SeenRequest = Pick<RequestContext, 'operation' | 'path' | 'isOfConsole'> & {
  readonly request: Pick<IncomingMessage, 'headers'>;
};

/**
 * Returns whether an error is the response to a stray request, for example for /robots.txt or /.env. No route has the path and
 * method of such a request, and its path and headers do not look like an API call. Browsers, monitors and scanners send such
 * requests all the time, so they are neither recorded nor counted as errors. The same applies to requests that the console sends
 * without an action of its user.
 */
export function isStray({ operation, path, request, isOfConsole }: SeenRequest, code: ErrorCode | undefined): boolean {
  if (isOfConsole) return code !== undefined;
  const isUnrouted = code === 'route_not_found' || code === 'method_not_allowed';
  if (!isUnrouted || operation !== undefined) return false;
  return !OF_THE_API.some((part) => path.includes(part)) && !isFromClient(request.headers);
}

/** Returns whether a request has a header that only API clients send: an API key, a card program or an idempotency key. */
function isFromClient(headers: IncomingHttpHeaders): boolean {
  const { authorization = '' } = headers;
  return /^bearer /i.test(authorization) || 'program-id' in headers || 'idempotency-key' in headers;
}

/** Common paths of health checks. Monitors that are not configured for the service try these. */
const HEALTH_GUESS =
  /^\/(?:[_-]\/?|actuator\/|api\/)?(?:health[a-z_-]*(?:\/.*)?|healthy|(?:live|ready)(?:z|ness)?|alive|heartbeat|ping|readiness|status|up)\/?$/i;

/** Returns the message about a path that has no route. `patterns` are the operations' paths. */
export function noRouteMessage(path: string, patterns: readonly string[]): string {
  const message = 'There is no route at this path.';
  if (HEALTH_GUESS.test(path)) return `${message} The state of the service is at /health/live and /health/ready.`;
  if (path === '/metrics') return `${message} Metrics are served on a separate port: see METRICS_PORT.`;
  const meant = similarPath(path, patterns);
  const question = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return `${message}${question} See the API reference at /docs.`;
}

/** The first segments of the paths of all operations: `/api/v0.1/core`, `/api/v0.1/operator`, `/api/v0.1/sandbox`. */
const BEGINNING = /^(?:api|v[0-9.]+|core|operator|sandbox)$/i;

/**
 * Returns the pattern that the caller of a path probably meant, such as `/api/v0.1/core/transfer/{transfer_id}` for
 * `/v1/transfers/tr_1`. Undefined if none is similar. The beginning of the path counts least, because clients omit it or use the
 * beginning of a different API.
 */
export function similarPath(path: string, patterns: readonly string[]): string | undefined {
  const sent = partsOf(path);
  const near = patterns.flatMap((pattern) => {
    const cost = costOf(sent, partsOf(pattern));
    return cost === undefined ? [] : [{ pattern, cost }];
  });
  return near.toSorted((one, other) => one.cost - other.cost)[0]?.pattern;
}

type Parts = { readonly beginning: string; readonly rest: readonly string[] };

function partsOf(path: string): Parts {
  const segments = path.split('/').filter((segment) => segment !== '');
  const first = segments.findIndex((segment) => !BEGINNING.test(segment));
  const end = first === -1 ? segments.length : first;
  return { beginning: segments.slice(0, end).join('/'), rest: segments.slice(end) };
}

/** Returns how far a path is from a pattern. Undefined if they differ too much. */
function costOf(sent: Parts, known: Parts): number | undefined {
  if (sent.rest.length !== known.rest.length || sent.rest.length === 0) return undefined;
  let cost = sent.beginning === known.beginning ? 0 : 0.5;
  for (const [at, name] of known.rest.entries()) {
    const given = sent.rest[at] ?? '';
    if (name.startsWith('{')) cost += 0.25;
    else if (name !== given && !isMeantFor(given, name)) return undefined;
    else if (name !== given) cost += 1;
  }
  return cost;
}
