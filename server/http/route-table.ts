import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';

type Route = { readonly segments: readonly string[]; readonly methods: Set<string> };

const OPERATION_OF: ReadonlyMap<string, OperationId> = new Map(
  OPERATION_IDS.map((id) => [`${OPERATIONS[id].method} ${routePattern(OPERATIONS[id].path)}`, id]),
);

/** A path of the contract in the router's syntax: `/card/{card_id}` becomes `/card/:card_id`. */
export function routePattern(path: string): string {
  return path.replaceAll(/\{([a-z_]+)\}/g, ':$1');
}

/**
 * The methods of each path. The router finds a path only together with its method; this table distinguishes a wrong
 * method from a wrong path, and finds the operation of a request that is refused before it reaches the router.
 */
export class RouteTable {
  readonly #routes = new Map<string, Route>();
  /** Operations whose path has no parameter, by method and path. */
  readonly #plain = new Map<string, OperationId>();

  add(methods: readonly string[], pattern: string): void {
    const route = this.#routes.get(pattern) ?? { segments: segmentsOf(pattern), methods: new Set<string>() };
    for (const method of methods) route.methods.add(method);
    this.#routes.set(pattern, route);
  }

  /** Adds an operation whose path has no parameter, to be found by {@link plainOperationOf}; ignores any other. */
  addPlain(id: OperationId): void {
    const { method, path } = OPERATIONS[id];
    if (!path.includes('{')) this.#plain.set(`${method} ${path}`, id);
  }

  /**
   * The operation of a method and a target that is exactly its path. The router would find the same operation, in three
   * times as long as it takes to read a small body.
   */
  plainOperationOf(method: string, target: string): OperationId | undefined {
    return this.#plain.get(`${method} ${target}`);
  }

  /** The methods of a path, sorted; empty when there is no such path. */
  methodsOf(path: string): readonly string[] {
    const found = [...this.#routes.values()].filter(({ segments }) => matches(segments, segmentsOf(path)));
    return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort();
  }

  /** The methods of all paths, sorted. */
  allMethods(): readonly string[] {
    return [...new Set([...this.#routes.values()].flatMap(({ methods }) => [...methods]))].sort();
  }

  /** The operation of a method and path, if there is one. */
  operationOf(method: string, path: string): OperationId | undefined {
    const sent = segmentsOf(path);
    for (const [pattern, { segments, methods }] of this.#routes) {
      if (methods.has(method) && matches(segments, sent)) {
        return OPERATION_OF.get(`${method === 'HEAD' ? 'GET' : method} ${pattern}`);
      }
    }
    return undefined;
  }
}

function segmentsOf(path: string): readonly string[] {
  const end = path.length > 1 && path.endsWith('/') ? path.length - 1 : path.length;
  return path.slice(1, end).split('/');
}

function matches(pattern: readonly string[], sent: readonly string[]): boolean {
  if (pattern.at(-1) === '*') return pattern.slice(0, -1).every((segment, at) => segment === sent[at]);
  return pattern.length === sent.length && pattern.every((segment, at) => matchesSegment(segment, sent[at] ?? ''));
}

function matchesSegment(pattern: string, sent: string): boolean {
  return pattern.startsWith(':') ? sent !== '' : pattern === sent;
}
