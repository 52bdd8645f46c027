import { OPERATIONS, type OperationId, SECTIONS, type Section } from '../../../contract/operations.ts';

/** Longer than what people type to find an operation. */
const MAX_QUERY_CHARACTERS = 200;

/** The sections of the reference with the operations that a service has: those of the sandbox only in a sandbox. */
export function sectionsOf(mode: 'sandbox' | 'live'): readonly Section[] {
  return withOperations(SECTIONS, (id) => mode === 'sandbox' || OPERATIONS[id].reach !== 'sandbox');
}

/** The operations in whose {@link textOf} every word of a query begins a word; the script of the page does the same. */
export function filterSections(sections: readonly Section[], query: string): readonly Section[] {
  const words = query.slice(0, MAX_QUERY_CHARACTERS).toLowerCase().split(/\s+/).filter(Boolean);
  return withOperations(sections, (id) => words.every((word) => textOf(id).includes(` ${word}`)));
}

/**
 * What an operation is found by, in lower case, with a space before each word: its id, route, summary, section, scope and
 * the fields of its request, and what these are made of.
 */
export function textOf(id: OperationId): string {
  const { method, path, summary, scope, query, body } = OPERATIONS[id];
  const section = SECTIONS.find(({ operations }) => operations.includes(id))?.title ?? '';
  const fields = [query, body].flatMap((schema) => Object.keys(schema?.properties ?? {}));
  const names = [id, method, path, summary, section, scope ?? '', ...fields].join(' ').toLowerCase().split(' ');
  const words = names.flatMap((name) => [name, ...name.split(/[^a-z0-9]+/)]).filter(Boolean);
  return [...new Set(words)].map((word) => ` ${word}`).join('');
}

function withOperations(sections: readonly Section[], isShown: (id: OperationId) => boolean): readonly Section[] {
  return sections
    .map((section) => ({ ...section, operations: section.operations.filter(isShown) }))
    .filter(({ operations }) => operations.length > 0);
}
