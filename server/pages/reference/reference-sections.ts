import { OPERATIONS, type OperationId, SECTIONS, type Section } from '../../../contract/operations.ts';
import { type Html, html } from '../page-html.ts';
import { anchorOf, breakable } from '../page-layout.ts';

/** The sections of the reference with the operations that a service serves: those of the sandbox only in a sandbox. */
export function sectionsOf(mode: 'sandbox' | 'live'): readonly Section[] {
  return SECTIONS.map((section) => ({
    ...section,
    operations: section.operations.filter((id) => isServed(id, mode)),
  })).filter(({ operations }) => operations.length > 0);
}

/** Whether a service in this mode serves the operation. */
export function isServed(id: OperationId, mode: 'sandbox' | 'live'): boolean {
  return mode === 'sandbox' || OPERATIONS[id].reach !== 'sandbox';
}

/** The contents of the reference, beside each of its pages. `current` is the operation that the page is about. */
export function navigation(sections: readonly Section[], current?: OperationId): Html {
  return html`<div class="side">
<p><a href="/docs"${current === undefined && html` aria-current="page"`}>All operations</a></p>
<details class="menu"><summary>Contents</summary>
<nav aria-label="Operations">
${sections.map(
  ({ title, operations }) => html`<section><p><a href="/docs#${anchorOf(title)}">${title}</a></p>
<ul>${operations.map(
    (
      id,
    ) => html`<li><a href="/docs/${id}" title="${OPERATIONS[id].summary}"${id === current && html` aria-current="page"`}>${breakable(id)}</a></li>
`,
  )}</ul></section>
`,
)}
</nav></details>
</div>`;
}
