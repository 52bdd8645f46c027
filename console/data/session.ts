import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type KeyScope, OPERATIONS, type OperationId, PROGRAM_SCOPES, TransferServiceError } from '../../sdk/client.ts';
import { client } from './client.ts';

export type Session = {
  readonly mode: 'sandbox' | 'live';
  /** `sandbox` for a caller without a key on the machine of a sandbox. */
  readonly caller: 'sandbox' | 'program_key' | 'operator_key' | 'program_person' | 'operator_person';
  readonly scopes: readonly KeyScope[];
  readonly role: string | null;
  /** Null for a caller without a key, such as a person. */
  readonly keyId: string | null;
  /** Null for a caller who has not signed in as a person. */
  readonly personId: string | null;
  /** Name of the key or the person. */
  readonly name: string | null;
  /** Whether the caller chooses the card program. */
  readonly allPrograms: boolean;
  /** The card program that the key is bound to, or the demo program in a sandbox without keys. */
  readonly programId: string | null;
  readonly programName: string | null;
  /** Null for a caller without a session. */
  readonly sessionId: string | null;
  /** When the session ends at the latest, even if it is still in use. Null without a session. */
  readonly endsAt: string | null;
};

export type SessionState = {
  readonly session: Session;
  /** Reads the session again, after signing in. */
  readonly reload: () => void;
  /** Shows the sign-in form instead of the console. */
  readonly leave: () => void;
};

export const SessionContext = createContext<SessionState | undefined>(undefined);

export function useSession(): Session & {
  /** Whether the caller has permission for an operation. Screens hide everything else. */
  readonly can: (operation: OperationId) => boolean;
  readonly has: (scope: KeyScope) => boolean;
} & Pick<SessionState, 'reload' | 'leave'> {
  const state = useContext(SessionContext);
  if (state === undefined) throw new Error('useSession is for screens, which are only shown in a session.');
  const { session, reload, leave } = state;
  return {
    ...session,
    reload,
    leave,
    has: (scope) => hasScope(session, scope),
    can: (operation) => {
      const { scope, reach } = OPERATIONS[operation];
      const isThere = reach !== 'sandbox' || session.mode === 'sandbox';
      return isThere && (scope === null || hasScope(session, scope));
    },
  };
}

/** Whether a session has a scope, directly or as part of `operator`. */
export function hasScope({ scopes }: Session, scope: KeyScope): boolean {
  return scopes.includes(scope) || (!PROGRAM_SCOPES.some((one) => one === scope) && scopes.includes('operator'));
}

/** Reads the session, or undefined if no one is signed in. Throws the errors of the client. */
export async function readSession(signal: AbortSignal): Promise<Session | undefined> {
  try {
    // The first refusal removes the cookie of an ended session. Without a cookie, a sandbox may accept the second request.
    const record = await client.sessions.current({ signal }).catch((error: unknown) => {
      if (isSignedOut(error)) return client.sessions.current({ signal });
      throw error;
    });
    const { mode, caller, scopes, role } = record;
    return {
      mode,
      caller,
      scopes,
      role,
      keyId: record.key_id,
      personId: record.person_id,
      name: record.person_name ?? record.key_name,
      allPrograms: record.all_programs,
      programId: record.program_id,
      programName: record.program_name,
      sessionId: record.session_id,
      endsAt: record.ends_at,
    };
  } catch (error) {
    if (isSignedOut(error)) return undefined;
    throw error;
  }
}

function isSignedOut(error: unknown): boolean {
  return error instanceof TransferServiceError && error.Status === 401;
}
