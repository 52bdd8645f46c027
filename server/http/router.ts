import findMyWay from 'find-my-way';
import type { OperationId } from '../../contract/operations.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { RequestContext } from './request-context.ts';
import { noRouteMessage } from './stray-requests.ts';
import { splitTarget } from './wire/request-head.ts';

/** Maximum length of a path parameter. No id is longer. */
export const MAX_PARAMETER_LENGTH = 255;

export type Method = 'DELETE' | 'GET' | 'HEAD' | 'PATCH' | 'POST';

export type Parameters = Readonly<Record<string, string>>;

export type Route = {
  /** The path with parameter names instead of values. It is used for the log and the metrics. */
  readonly pattern: string;
  /** Undefined for pages. */
  readonly operation?: OperationId;
  /** Serves a request completely. Must not throw. */
  readonly serve: (context: RequestContext, parameters: Parameters) => void;
};

type Found = { readonly route: Route; readonly parameters: Parameters };

function refuseBadPath(): never {
  throw new Refusal('malformed_request', "The path contains a '%' that is not part of a valid UTF-8 escape.");
}

function refuseLongParameter(): never {
  throw new Refusal('uri_too_long', `A segment of the path is longer than ${MAX_PARAMETER_LENGTH} characters.`);
}

function isTooLong(value: string | undefined = ''): boolean {
  // A string can only have more characters than the limit if it has more UTF-16 units.
  return value.length > MAX_PARAMETER_LENGTH && [...value].length > MAX_PARAMETER_LENGTH;
}

/** Returns a valid path of the same route: without scheme, authority and percent signs, and with shortened segments. */
function toValidPath(path: string): string {
  const segments = splitTarget(path)
    .target.split('/')
    .map((segment) => segment.slice(0, MAX_PARAMETER_LENGTH));
  return segments.join('/').replaceAll('%', '_');
}

/** The library needs a handler for each route. This router only finds routes, so it never calls the handlers. */
const NOT_CALLED = (): void => undefined;

/** Finds the route of a request by its method and path, before the body is read. */
export class Router {
  readonly #routes = findMyWay({
    ignoreTrailingSlash: true,
    // The limit applies to the encoded path. A character has at most four bytes, and each byte takes up to three characters.
    maxParamLength: MAX_PARAMETER_LENGTH * 4 * 3,
    // The operation reads its own query, so that the error can name the parameter.
    querystringParser: () => ({}),
    onBadUrl: refuseBadPath,
    onMaxParamLength: refuseLongParameter,
  });
  readonly #methods = new Set<Method>();
  readonly #operationPatterns = new Set<string>();
  /** Routes whose path has no parameter, by method and path. */
  readonly #plain = new Map<string, Found>();

  /** Adds a route. In its pattern, `{name}` is a parameter, and `*` matches the rest of a path. */
  add(methods: readonly Method[], route: Route): void {
    const { pattern } = route;
    if (route.operation !== undefined) this.#operationPatterns.add(pattern);
    for (const method of methods) {
      this.#methods.add(method);
      if (!/[{:*]/.test(pattern)) this.#plain.set(`${method} ${pattern}`, { route, parameters: {} });
    }
    this.#routes.on([...methods], pattern.replaceAll(/\{([a-z_]+)\}/g, ':$1'), NOT_CALLED, route);
  }

  /**
   * Returns the route of a method and a target, with the parameters in its path.
   *
   * @throws {Refusal} malformed_request, uri_too_long
   */
  find(method: string, target: string): Found | undefined {
    const plain = this.#plain.get(`${method} ${target}`);
    if (plain !== undefined) return plain;
    if (target === '*') return undefined;
    // An invalid path must be refused even if no route has the method.
    const known = this.#methods.has(method as Method) ? (method as Method) : undefined;
    const found = this.#routes.find(known ?? 'GET', target);
    // For an invalid path, the library returned its own handler, which throws the refusal.
    if (found?.store === null) found.handler(NO_MESSAGE, NO_MESSAGE, {}, null, {});
    if (found === null || known === undefined) return undefined;
    if (Object.entries(found.params).some(([name, value]) => name !== '*' && isTooLong(value))) refuseLongParameter();
    // An empty segment is not an id.
    const isWhole = Object.entries(found.params).every(([name, value]) => value !== '' || name === '*');
    return isWhole ? { route: found.store as Route, parameters: found.params as Parameters } : undefined;
  }

  /** Returns the operation of a method and path, even if the request was refused earlier or because of its path. */
  operationOf(method: string, path: string): OperationId | undefined {
    return this.find(method, toValidPath(path))?.route.operation;
  }

  /** Returns the methods of a path, sorted. Empty if the path does not exist. */
  methodsOf(path: string): readonly Method[] {
    return this.allMethods().filter((method) => this.find(method, toValidPath(path)) !== undefined);
  }

  operationPatterns(): readonly string[] {
    return [...this.#operationPatterns];
  }

  allMethods(): readonly Method[] {
    return [...this.#methods].sort();
  }
}

const NO_MESSAGE = undefined as never;

export function noRoute(router: Router, context: RequestContext): Refusal {
  const methods = context.path === '*' ? router.allMethods() : router.methodsOf(context.path);
  if (methods.length === 0)
    return new Refusal('route_not_found', noRouteMessage(context.path, router.operationPatterns()));
  context.allow = methods.join(', ');
  return new Refusal('method_not_allowed', `This path supports only ${context.allow}.`);
}
