import { createContext } from 'preact';
import { useContext, useRef } from 'preact/hooks';
import { useSession } from './session.ts';
import { useOperation } from './use-operation.ts';

const POLL_MILLISECONDS = 5_000;

/** How far the clock of the sandbox is ahead of actual time, in milliseconds; 0 where nobody has moved it. */
export const ClockContext = createContext(0);

/** Reads that, again and again: others may move the clock. A live service has one clock only. */
export function useClockAhead(): number {
  const { mode } = useSession();
  const { data } = useOperation(
    mode === 'sandbox' ? (api, { programId: _, ...options }) => api.sessions.current(options) : undefined,
    { pollMilliseconds: POLL_MILLISECONDS },
  );
  const known = useRef(0);
  // Not known while the database does not respond: it was not moved meanwhile.
  known.current = data?.sandbox_seconds_ahead ?? known.current;
  return known.current * 1000;
}

/**
 * The present by the clock of the service, in milliseconds since 1970: what the times of cards, transfers, programs, keys
 * and the switch are compared with. The audit log, errors, requests, sessions, deliveries to webhooks and the figures of the
 * overview have actual time, also in a sandbox whose clock was moved: for them it is `Date.now()`.
 */
export function useNow(): number {
  return Date.now() + useContext(ClockContext);
}

/** How far the clock of the sandbox is ahead, in milliseconds. */
export function useAhead(): number {
  return useContext(ClockContext);
}
