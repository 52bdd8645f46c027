import { type Field, fieldsOf } from '../../contract/openapi/fields.ts';
import { type Html, html } from './page-html.ts';
import { breakable } from './page-layout.ts';

/** The fields of a schema, with their types, limits and descriptions, and whether they are required in a request. */
export function fields(schema: object, marksRequired = true): Html {
  return html`<dl class="says">${fieldsOf(schema).flatMap((field) => entries(field, '', marksRequired))}</dl>`;
}

function entries(
  { name, type, required, limits, description, inner }: Field,
  above: string,
  marksRequired: boolean,
): readonly Html[] {
  const path = above !== '' && html`<span class="above">${breakable(above)}</span>`;
  const own = html`<div${above !== '' && html` class="inner"`}><dt><code>${path}${breakable(name)}</code>${marksRequired && required && html` <span class="required">required</span>`}
<span class="type">${limits === '' ? type : `${type}, ${limits}`}</span></dt><dd>${withCode(description)}</dd></div>
`;
  return [own, ...inner.flatMap((field) => entries(field, `${above}${name}.`, marksRequired))];
}

/** A text of the contract, which marks code with backticks. */
export function withCode(text: string): readonly Html[] {
  return text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}
