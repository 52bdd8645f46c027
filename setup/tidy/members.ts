import type { ESTree, VisitorObject } from 'rolldown/utils';

/** Names that belong to something, before a colon or behind a dot: no globals, whatever they are called. */
export class MemberNames {
  readonly #starts = new Set<number>();

  /** Notes the names before a colon. Those behind a dot are for the visitor of member expressions to note. */
  readonly visitor: VisitorObject = {
    Property: (node) => {
      if (!node.shorthand) this.#noteKey(node);
    },
    PropertyDefinition: (node) => this.#noteKey(node),
    MethodDefinition: (node) => this.#noteKey(node),
    TSPropertySignature: (node) => this.#noteKey(node),
    TSMethodSignature: (node) => this.#noteKey(node),
  };

  note(name: { readonly start: number }): void {
    this.#starts.add(name.start);
  }

  has(name: { readonly start: number }): boolean {
    return this.#starts.has(name.start);
  }

  #noteKey(node: { readonly computed: boolean; readonly key: ESTree.Node }): void {
    if (!node.computed) this.note(node.key);
  }
}
