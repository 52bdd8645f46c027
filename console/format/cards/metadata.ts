/** Whether a pair can be written as a line and read back; other pairs are not in the form, and are kept. */
function isLine([name, value]: readonly [string, string]): boolean {
  return /^[^=\n]+$/.test(name) && /^[^\r\n]+$/.test(value) && name === name.trim() && value === value.trim();
}

/** Metadata as text, one line per pair. */
export function metadataText(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .filter(isLine)
    .map(([name, value]) => `${name} = ${value}`)
    .join('\n');
}

/**
 * The change from metadata to the text of a form: a string sets a pair, null removes one, unchanged pairs are left out.
 * Undefined if a line is not a pair.
 */
export function readMetadataChange(
  before: Readonly<Record<string, string>>,
  text: string,
): Readonly<Record<string, string | null>> | undefined {
  if (text === metadataText(before)) return {};
  const after = new Map<string, string>();
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/.exec(line) ?? [];
    if (name.trim() === '' || value.trim() === '') return undefined;
    after.set(name.trim(), value.trim());
  }
  const removed = Object.entries(before).flatMap((pair) => (isLine(pair) && !after.has(pair[0]) ? [pair[0]] : []));
  const set = [...after].filter(([name, value]) => before[name] !== value);
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...set]);
}
