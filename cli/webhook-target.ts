import { detailOf, neverConnected } from '../sdk/attempt.ts';
import { InvalidArgument, signWebhook } from '../sdk/client.ts';

export type Attempt = {
  readonly milliseconds: number;
  /** The status of the response; undefined if there was none. */
  readonly status: number | undefined;
  /** Why it failed; undefined if the status is 2xx. */
  readonly problem: string | undefined;
  /** Whether the target did not even receive the request, because nothing listens there. */
  readonly isUnreachable: boolean;
};

/** A webhook endpoint should respond within this time. */
const SLOW_MILLISECONDS = 15_000;
/** Enough of a response for a terminal. */
const MAX_EXCERPT_CHARACTERS = 200;

/** Reads the URL of a target; `localhost:3000/hooks` is enough. Throws InvalidArgument. */
export function readTarget(text: string): string {
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new InvalidArgument(`--forward-to must be a URL such as http://localhost:3000/hooks, but it is '${text}'`);
  }
  return url.href;
}

/**
 * Sends a signed webhook to a target, once. Rejects only if the signal aborts it. `onSlow` is called when there
 * is no response yet after 15 seconds; waiting continues, because the program may have stopped at a breakpoint.
 */
export async function sendWebhook(
  target: string,
  { id, body }: { readonly id: string; readonly body: string },
  secret: string,
  { signal, onSlow }: { readonly signal: AbortSignal; readonly onSlow: (seconds: number) => void },
): Promise<Attempt> {
  const signed = await signWebhook({ id, body }, secret);
  const since = performance.now();
  const attempt = (more: Omit<Attempt, 'milliseconds'>): Attempt => ({
    milliseconds: Math.round(performance.now() - since),
    ...more,
  });
  const timer = setTimeout(() => onSlow(SLOW_MILLISECONDS / 1000), SLOW_MILLISECONDS);
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'transfer-service-cli', ...signed },
      body,
      // A redirect would be followed with a GET. So it counts as a failure, like in the webhooks of most services.
      redirect: 'manual',
      signal,
    });
    const excerpt = await readExcerpt(response);
    const problem = response.ok ? undefined : excerpt;
    return attempt({ status: response.status, problem, isUnreachable: false });
  } catch (error) {
    if (signal.aborted) throw error;
    return attempt({
      status: undefined,
      problem: `no response${detailOf(error)}`,
      isUnreachable: neverConnected(error),
    });
  } finally {
    clearTimeout(timer);
  }
}

/** The beginning of a body, on one line. */
async function readExcerpt(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    // Leaving the loop ends the connection.
    if (text.length > MAX_EXCERPT_CHARACTERS) break;
  }
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_EXCERPT_CHARACTERS);
}
