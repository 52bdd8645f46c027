/** A preference (RFC 7240): a name, and a value that may be quoted. Its parameters are not read. */
const PREFERENCE =
  /^[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]*)))?[ \t]*(?:;.*)?$/;

/** Parts of a list between commas that are not within quotes. */
const PARTS = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;

/**
 * The seconds of the preference `wait` in a Prefer header; undefined without a valid one. As the standard says, an invalid
 * preference is ignored, and of several the first counts.
 */
export function readWait(prefer: string): number | undefined {
  for (const part of prefer.match(PARTS) ?? []) {
    const [, name, quoted, plain] = PREFERENCE.exec(part) ?? [];
    if (name?.toLowerCase() !== 'wait') continue;
    const value = quoted ?? plain ?? '';
    return /^[0-9]{1,9}$/.test(value) ? Number(value) : undefined;
  }
  return undefined;
}
