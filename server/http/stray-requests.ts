import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { ErrorCode } from '../../contract/operations.ts';
import type { RequestContext } from './request-context.ts';
import { similarPath } from './similar-path.ts';

/** Parts of the paths of operations, contained even if a proxy adds a prefix or the client omits `/api`. */
const OF_THE_API = ['/api/', '/v0.1/'];

/** The parts of a request that show whether it is stray. */
type SeenRequest = Pick<RequestContext, 'operation' | 'path' | 'isOfConsole'> & {
  readonly request: Pick<IncomingMessage, 'headers'>;
};

/**
 * Whether an error is the response to a stray request, such as one for /robots.txt or /.env: no route has its path and
 * method, and neither its path nor its headers look like a call of the API. Browsers, monitors and scanners send such
 * requests all the time, so they are neither recorded nor counted as errors. The same applies to an error of a request that the
 * console sends on its own.
 */
export function isStray({ operation, path, request, isOfConsole }: SeenRequest, code: ErrorCode | undefined): boolean {
  if (isOfConsole) return code !== undefined;
  const isUnrouted = code === 'route_not_found' || code === 'method_not_allowed';
  if (!isUnrouted || operation !== undefined) return false;
  return !OF_THE_API.some((part) => path.includes(part)) && !isFromClient(request.headers);
}

/** Whether a request has a header that only API clients send: an API key, a card program or an idempotency key. */
function isFromClient(headers: IncomingHttpHeaders): boolean {
  const { authorization = '' } = headers;
  return /^bearer /i.test(authorization) || 'program-id' in headers || 'idempotency-key' in headers;
}

/** Common paths of health checks, which monitors try on a service that they do not know. */
const HEALTH_GUESS =
  /^\/(?:[_-]\/?|actuator\/|api\/)?(?:health[a-z_-]*(?:\/.*)?|healthy|(?:live|ready)(?:z|ness)?|alive|heartbeat|ping|readiness|status|up)\/?$/i;

/** The message about a path without a route. `patterns` are those of the operations. */
export function noRouteMessage(path: string, patterns: readonly string[]): string {
  const message = 'There is no route at this path.';
  if (HEALTH_GUESS.test(path)) return `${message} The state of the service is at /health/live and /health/ready.`;
  if (path === '/metrics') return `${message} Metrics are served on a port of their own: see METRICS_PORT.`;
  const meant = similarPath(path, patterns);
  const question = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return `${message}${question} See the API reference at /docs.`;
}
