import type { RefusedCredentials } from '../../subjects/audit/note-refused-credentials.ts';
import type { KeyUses } from '../../subjects/keys/authenticate.ts';
import type { SessionUseNotes } from '../../subjects/sessions/authenticate-session.ts';

/** Interval at which uses are written; that of a key at most once a minute. */
const USES_INTERVAL_MILLISECONDS = 5_000;

/** Interval at which refused credentials are written, summed up. */
const REFUSALS_INTERVAL_MILLISECONDS = 60_000;

/** Writes when API keys and sessions were used, and which credentials were refused, so that requests need not. */
export function startWritingCredentialUses(
  {
    keys,
    sessions,
    refusals,
  }: { readonly keys: KeyUses; readonly sessions: SessionUseNotes; readonly refusals: RefusedCredentials },
  onFailure: (error: unknown) => void,
): { readonly stop: () => Promise<void> } {
  const write = (collected: { readonly write: () => Promise<void> }): Promise<void> =>
    collected.write().catch(onFailure);
  const usesTimer = setInterval(() => {
    void write(keys);
    void write(sessions);
  }, USES_INTERVAL_MILLISECONDS).unref();
  const refusalsTimer = setInterval(() => void write(refusals), REFUSALS_INTERVAL_MILLISECONDS).unref();
  return {
    stop: async () => {
      clearInterval(usesTimer);
      clearInterval(refusalsTimer);
      await Promise.all([write(keys), write(sessions), write(refusals)]);
    },
  };
}
