import type { Command } from 'commander';
import { printable, printableJson } from '../../../domain/printable-text.ts';
import { detailOf, neverConnected } from '../../../sdk/attempt.ts';
import { pause } from '../../../sdk/backoff.ts';
import {
  InvalidArgument,
  newWebhookSecret,
  type ReceivedEvent,
  signWebhook,
  type TransferServiceEvent,
} from '../../../sdk/client.ts';
import { readSecret } from '../../../sdk/webhook-signature.ts';
import { addCommand } from '../../command.ts';
import { eventHead, programEventsWithText, READ_OPTIONS, type ReadOptions, readEvents } from '../../read-events.ts';
import type { CommandContext, Session } from '../../session.ts';

type ListenOptions = ReadOptions & { readonly forwardTo: string; readonly secret?: string };

const NOTES = `
Each event is sent as a webhook, byte for byte as the service sends it, and
signed as Standard Webhooks define it: one at a time, in order. While nothing
listens at the URL, the command waits. After a response other than 2xx it tries
the event again, up to four times in all, and then skips the event.

Environment:
  TRANSFER_SERVICE_WEBHOOK_SECRET  same as --secret`;

/** Waits before the second, the third and the last attempt. */
const WAITS_MILLISECONDS = [500, 1000, 2000];
/** Short, so that events arrive soon after a developer has restarted the program. */
const UNREACHABLE_WAIT_MILLISECONDS = 500;

export function addListen(events: Command, context: CommandContext): void {
  addCommand<ListenOptions>(events, context, {
    name: 'listen',
    description: 'forward events to your URL as signed webhooks, as they happen',
    options: {
      forwardTo: {
        flag: '--forward-to <url>',
        help: 'where your application listens, such as http://localhost:3000/hooks',
        required: true,
      },
      secret: { flag: '--secret <secret>', help: 'whsec_..., signs the webhooks (default: a new one, printed)' },
      ...READ_OPTIONS,
    },
    notes: NOTES,
    run: async (session, { forwardTo, secret = session.environment.webhookSecret, ...options }) => {
      const target = readTarget(forwardTo);
      const signingSecret = secret ?? newWebhookSecret();
      // An invalid secret is reported now, not with the first event.
      await readSecret(signingSecret);
      session.writeError(`Forwarding to ${printable(target)}\n`);
      if (secret === undefined) session.writeError(`Webhook secret: ${signingSecret}\n`);
      const forward = forwarder(session, target, signingSecret);
      await readEvents(session, programEventsWithText(session), options, forward);
    },
  });
}

/** Tries to deliver one event, and skips it after the last attempt. Rejects only if the signal aborts it. */
function forwarder(session: Session, target: string, secret: string) {
  const { json, write, writeError } = session;
  return async ({ event, text }: ReceivedEvent<TransferServiceEvent>, signal: AbortSignal): Promise<void> => {
    const webhook = { id: event.event_id, body: text };
    const head = eventHead(event);
    const warn = (what: string) => writeError(`${head}  ${what}\n`);
    const onSlow = (seconds: number) => warn(`no response for ${seconds} s; still waiting`);
    const tryOnce = async (): Promise<Attempt> => {
      const attempt = await reach(() => sendWebhook(target, webhook, secret, { signal, onSlow }), signal, warn);
      write(json ? jsonLine(event, attempt) : `${head}  ${resultOf(attempt)}\n`);
      return attempt;
    };
    for (const wait of WAITS_MILLISECONDS) {
      if ((await tryOnce()).problem === undefined) return;
      await pause(wait, signal);
    }
    if ((await tryOnce()).problem === undefined) return;
    const attempts = WAITS_MILLISECONDS.length + 1;
    warn(`skipped after ${attempts} attempts; to send it again: --after ${event.position - 1}`);
  };
}

async function reach(
  send: () => Promise<Attempt>,
  signal: AbortSignal,
  warn: (text: string) => void,
): Promise<Attempt> {
  for (let isFirst = true; ; isFirst = false) {
    const attempt = await send();
    if (!attempt.isUnreachable) return attempt;
    if (isFirst) warn(`${printable(attempt.problem ?? '')}; waiting until something listens there`);
    await pause(UNREACHABLE_WAIT_MILLISECONDS, signal);
  }
}

function resultOf({ status, milliseconds, problem }: Attempt): string {
  const result = `${status === undefined ? '' : `${status} `}in ${milliseconds} ms`;
  return problem === undefined || problem === '' ? result : `${result}: ${printable(problem)}`;
}

function jsonLine({ position, event_id, type }: TransferServiceEvent, attempt: Attempt): string {
  const { status = null, milliseconds, problem = null } = attempt;
  return `${printableJson({ position, event_id, type, status, milliseconds, problem })}\n`;
}

type Attempt = {
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
/** The maximum number of shown characters of a response. */
const MAX_EXCERPT_CHARACTERS = 200;

/** Reads the URL of a target; `localhost:3000/hooks` is enough. Throws InvalidArgument. */
function readTarget(text: string): string {
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
async function sendWebhook(
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
      // `fetch` would follow a redirect with a GET. So a redirect counts as a failure, as in most webhook services.
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
