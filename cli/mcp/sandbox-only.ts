import { readMode } from './plain-request.ts';
import { type Called, RefusedCall } from './tool.ts';

/** The message about a live service, for tools that change something and for `--write`. */
export const REFUSED_LIVE =
  'The service is live, and the tools that change something run only in a sandbox. Use the console or the command line to move real money.';

/**
 * Throws RefusedCall if the service is live. Every call asks the service, because the URL can lead to a different service than at
 * the start, and because a live service ignores the header that provokes errors and would carry out the request.
 */
export async function refuseLive(called: Called, signal: AbortSignal): Promise<void> {
  if ((await readMode(called, signal)) === 'live') throw new RefusedCall(REFUSED_LIVE);
}
