import type { RefusedCredentials } from '../audit/note-refused-credentials.ts';
import type { KeyUses } from '../keys/note-key-uses.ts';

/** Between two writes of when keys were used, in milliseconds: each key is written once a minute all the same. */
const USES_INTERVAL = 5000;

/** Between two writes of refused credentials: what is summed up in one row. */
const REFUSALS_INTERVAL = 60_000;

/** Writes, beside the requests, which keys were used and which credentials were refused. */
export function keepNotingCredentials(
  uses: KeyUses,
  refusals: RefusedCredentials,
  onFailure: (error: unknown) => void,
): { readonly stop: () => Promise<void> } {
  const write = (what: { readonly write: () => Promise<void> }): Promise<void> => what.write().catch(onFailure);
  const usesTimer = setInterval(() => void write(uses), USES_INTERVAL).unref();
  const refusalsTimer = setInterval(() => void write(refusals), REFUSALS_INTERVAL).unref();
  return {
    stop: async () => {
      clearInterval(usesTimer);
      clearInterval(refusalsTimer);
      await Promise.all([write(uses), write(refusals)]);
    },
  };
}
