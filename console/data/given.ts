/** The parameters of a query that have a value. */
export function given<Name extends string>(
  values: Readonly<Record<Name, string | undefined>>,
): Partial<Record<Name, string>> {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(pairs) as Partial<Record<Name, string>>;
}
