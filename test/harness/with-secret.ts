/** A key that was just made, with its secret: what a replay leaves out must be there. */
export async function withSecret<Made extends { readonly key: string | null }>(
  making: Promise<Made>,
): Promise<Made & { readonly key: string }> {
  const made = await making;
  const { key } = made;
  if (key === null) throw new Error('a new key came without its secret');
  // The same object, because what the response said beside the record is attached to it.
  return Object.assign(made, { key });
}
