/** A page or a document, ready to be sent. */
export type PageAnswer = {
  readonly type: 'text/html; charset=utf-8' | 'application/json; charset=utf-8';
  /** Text, or its bytes where it is the same for everybody and long: to make them takes longer than to send them. */
  readonly body: string | Buffer;
  readonly headers: readonly (readonly [name: string, value: string])[];
};

/**
 * Whether the caller would rather have a page than data. Only one that names HTML and does not like JSON better gets
 * a page: browsers do that. `*` and `*` alone, which curl and most programs send, is no wish, and data is the answer.
 */
export function prefersPage(accept: string | undefined): boolean {
  const wishes = (accept ?? '').toLowerCase().split(',').map(readWish);
  const weightOf = (...types: readonly string[]) =>
    Math.max(0, ...wishes.filter(({ type }) => types.includes(type)).map(({ weight }) => weight));
  const page = weightOf('text/html', 'application/xhtml+xml', 'text/*');
  return page > 0 && page >= weightOf('application/json', 'application/*');
}

function readWish(range: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (weight === undefined) return { type, weight: 1 };
  return { type, weight: /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0 };
}
