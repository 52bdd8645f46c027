import { useState } from 'preact/hooks';
import type { ResponseDetails } from '../../sdk/client.ts';

/**
 * The version of a record when a form about it was opened, to be sent with the change: if somebody else has changed the record
 * since, the form would overwrite values that its user has not seen. Later polls do not change it, nor what the form shows.
 */
export function useVersion(record: object): string | undefined {
  const [version] = useState(() => (record as { readonly response?: ResponseDetails }).response?.version);
  return version;
}
