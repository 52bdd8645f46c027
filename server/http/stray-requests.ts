import type { ErrorCode } from '../../contract/operations.ts';
import type { RequestContext } from './request-context.ts';

/** What the path of every operation contains, wherever a proxy has mounted the service. */
const API = '/api/';

/**
 * Whether an error is the response to a guess, such as /favicon.ico, /robots.txt or /.env: there is no such route, or not
 * with this method, and the path cannot be meant for an operation. Browsers, monitors and scanners send such requests all
 * the time and no one has to look into them, so they are neither recorded nor counted as errors.
 */
export function isStray(
  { operation, path }: Pick<RequestContext, 'operation' | 'path'>,
  code: ErrorCode | undefined,
): boolean {
  const isUnrouted = code === 'route_not_found' || code === 'method_not_allowed';
  return isUnrouted && operation === undefined && !path.includes(API);
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
