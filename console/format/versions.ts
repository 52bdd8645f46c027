import type { ResponseDetails } from '../../sdk/client.ts';

/**
 * Returns the version to send with a change. This is the version of `now`, unless someone else has changed one of the same
 * fields since the form was opened. Then it is the version of `opened`, which the service refuses, because the change would
 * overwrite a value that the user has not seen.
 */
export function versionFor(change: object, opened: object, now: object): string | undefined {
  const { response } = (isUntouched(change, opened, now) ? now : opened) as { readonly response?: ResponseDetails };
  return response?.version;
}

/** Whether the fields of a change, a merge patch (RFC 7396), have the same values in both records. */
export function isUntouched(change: unknown, opened: unknown, now: unknown): boolean {
  if (typeof change !== 'object' || change === null || Array.isArray(change)) {
    return JSON.stringify(opened) === JSON.stringify(now);
  }
  return Object.entries(change).every(([name, value]) => isUntouched(value, fieldOf(opened, name), fieldOf(now, name)));
}

function fieldOf(record: unknown, name: string): unknown {
  return typeof record === 'object' && record !== null
    ? (record as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
