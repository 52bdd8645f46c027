import { OPERATION_IDS, OPERATIONS } from '../operations.ts';
import type { Json, JsonObject } from './shared-schemas.ts';

/** The service that a document describes. */
export type DescribedService = {
  /** Its URL for callers: scheme, host and port. */
  readonly url: string;
  readonly mode: 'sandbox' | 'live';
  /** Whether every request needs credentials. */
  readonly needsKey: boolean;
};

const SANDBOX_OPERATIONS: ReadonlySet<Json | undefined> = new Set(
  OPERATION_IDS.filter((id) => OPERATIONS[id].reach === 'sandbox'),
);

const SANDBOX_PARAMETERS: ReadonlySet<Json | undefined> = new Set(
  ['SandboxProvoke', 'SandboxProcessor'].map((name) => `#/components/parameters/${name}`),
);

/**
 * Returns the document of one service, with its URL. In live mode it lacks the operations, parameters and components that only
 * a sandbox has.
 */
export function servedDocument(document: JsonObject, { url, mode, needsKey }: DescribedService): JsonObject {
  const servers = [{ url, description: mode === 'sandbox' ? 'This sandbox' : 'This service' }];
  const security = needsKey ? listOf(document.security).filter((one) => !isEmpty(one)) : document.security;
  const whole = { ...document, servers, security };
  if (mode === 'sandbox') return whole;
  const paths = Object.entries(membersOf(document.paths)).flatMap(([path, item]) => {
    const kept = Object.entries(membersOf(item)).flatMap(([method, operation]) => {
      const members = membersOf(operation);
      if (SANDBOX_OPERATIONS.has(members.operationId)) return [];
      return [[method, members.parameters === undefined ? operation : withoutSandbox(members)] as const];
    });
    return kept.length === 0 ? [] : [[path, Object.fromEntries(kept)] as const];
  });
  return withoutUnused({ ...whole, paths: Object.fromEntries(paths) });
}

function withoutSandbox(operation: JsonObject): JsonObject {
  const parameters = listOf(operation.parameters).filter((one) => !SANDBOX_PARAMETERS.has(membersOf(one).$ref));
  return { ...operation, parameters };
}

/** Removes tags without operations and components without references. */
function withoutUnused(document: JsonObject): JsonObject {
  const components = membersOf(document.components);
  const used = new Set<string>();
  const waiting: (Json | undefined)[] = [document.paths];
  while (waiting.length > 0) {
    for (const name of referencesIn(waiting.pop() ?? null)) {
      if (used.has(name)) continue;
      used.add(name);
      const [, , kind = '', component = ''] = name.split('/');
      waiting.push(membersOf(components[kind])[component]);
    }
  }
  const kept = Object.entries(components).map(([kind, of]) => {
    const isKept = ([name]: readonly [string, unknown]) =>
      kind === 'securitySchemes' || used.has(`#/components/${kind}/${name}`);
    return [kind, Object.fromEntries(Object.entries(membersOf(of)).filter(isKept))] as const;
  });
  const titles = new Set(
    Object.values(membersOf(document.paths)).flatMap((item) =>
      Object.values(membersOf(item)).flatMap((operation) => listOf(membersOf(operation).tags)),
    ),
  );
  const tags = listOf(document.tags).filter((tag) => titles.has(membersOf(tag).name ?? null));
  return { ...document, tags, components: Object.fromEntries(kept) };
}

/** The references in a value, including discriminators. */
function referencesIn(value: Json): readonly string[] {
  if (typeof value === 'string') return value.startsWith('#/components/') ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((inner) => referencesIn(inner ?? null));
}

function membersOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !isList(value) ? value : {};
}

function listOf(value: Json | undefined): readonly Json[] {
  return isList(value) ? value : [];
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isEmpty(value: Json): boolean {
  return Object.keys(membersOf(value)).length === 0;
}
