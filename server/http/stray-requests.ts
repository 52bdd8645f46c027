import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { ErrorCode } from '../../contract/operations.ts';
import type { RequestContext } from './request-context.ts';

/** What paths of operations contain, wherever a proxy has mounted the service, and where a client leaves `/api` out. */
const OF_THE_API = ['/api/', '/v0.1/'];

/** The parts of a request by which a guess is known. */
type Seen = Pick<RequestContext, 'operation' | 'path'> & { readonly request: Pick<IncomingMessage, 'headers'> };

/**
 * Whether an error is the response to a guess, such as /favicon.ico, /robots.txt or /.env: there is no such route, or not
 * with this method, and neither its path nor its headers are those of somebody who calls the API. Browsers, monitors and
 * scanners send such requests all the time and no one has to look into them, so they are neither recorded nor counted as
 * errors.
 */
export function isStray({ operation, path, request }: Seen, code: ErrorCode | undefined): boolean {
  const isUnrouted = code === 'route_not_found' || code === 'method_not_allowed';
  if (!isUnrouted || operation !== undefined) return false;
  return !OF_THE_API.some((part) => path.includes(part)) && !isFromClient(request.headers);
}

/** Whether it has a header that is sent to an API like this one only: an API key, a program, an idempotency key. */
function isFromClient(headers: IncomingHttpHeaders): boolean {
  const { authorization = '' } = headers;
  return /^bearer /i.test(authorization) || 'program-id' in headers || 'idempotency-key' in headers;
}

/** Where monitors look for the health of a service that they do not know. */
const HEALTH_GUESS =
  /^\/(?:[_-]\/?|actuator\/|api\/)?(?:health[a-z_-]*(?:\/.*)?|healthy|(?:live|ready)(?:z|ness)?|alive|heartbeat|ping|readiness|status|up)\/?$/i;

/** The message about a path without a route. */
export function noRouteMessage(path: string): string {
  const message = 'There is no route at this path.';
  if (HEALTH_GUESS.test(path)) return `${message} The state of the service is at /health/live and /health/ready.`;
  if (path === '/metrics') return `${message} Metrics are served on a port of their own: see METRICS_PORT.`;
  return `${message} See the API reference at /docs.`;
}
