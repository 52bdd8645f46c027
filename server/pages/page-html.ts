/** Markup that must not be escaped. It is created by {@link html}. The only exception is the stylesheet, which is a constant. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** A value in a template: text (which is escaped), markup, nothing, or a list of these. */
export type HtmlPart = string | number | Html | null | undefined | false | readonly HtmlPart[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Returns markup from a template. Every value is escaped for text and for quoted attributes, unless it is markup itself.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  let markup = strings[0] ?? '';
  parts.forEach((part, at) => {
    markup += rendered(part) + (strings[at + 1] ?? '');
  });
  return new Html(markup);
}

export function joined(parts: readonly HtmlPart[], between: HtmlPart): readonly HtmlPart[] {
  return parts.flatMap((part, at) => (at === 0 ? [part] : [between, part]));
}

function rendered(part: HtmlPart): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.toString();
  if (typeof part === 'object') return part.map(rendered).join('');
  return String(part)
    .toWellFormed()
    .replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}
