import type { CustomFetch, CustomFetchOptions } from 'openid-client';
import { parseJson } from '../../domain/parse-json.ts';
import { openSender } from '../background/outbound/send.ts';
import { SEND_LIMITS, type SendLimits } from '../background/outbound/sender.ts';
import { openConnectorRules } from '../foundation/connector-settings.ts';
import { type AddressRules, hostOf } from '../foundation/networks.ts';
import { withoutSecrets } from '../foundation/redaction.ts';

// Invariant: Sign-in sends requests only to the host of OIDC_ISSUER, only to public addresses or addresses in
//   WEBHOOK_ALLOWED_NETWORKS, and over TLS unless the address is loopback
// Kept by: this file; `server/background/outbound/send.ts` checks each address
// Tested by: `test/security/sign-in/tokens.test.ts`

/** Maximum size of an answer. Discovery documents, key sets and tokens of people in hundreds of groups are far smaller. */
const MAX_BYTES = 1_048_576;

const DOOR_LIMITS: SendLimits = {
  ...SEND_LIMITS,
  // Short, because a person is waiting for the whole request.
  connectTimeoutMilliseconds: 3_000,
  answerTimeoutMilliseconds: 8_000,
  maxReadBytes: MAX_BYTES + 1,
  maxKeptBytes: MAX_BYTES,
  // If an idle connection turned out to be closed, the request would be sent a second time, and a sign-in code must
  // never be sent twice. Doing without idle connections costs little, because people rarely sign in.
  maxIdleConnections: 0,
};

/** Additional hosts of an issuer. Google's endpoints are not on the host of its issuer, but on hosts that never change. */
const OTHER_HOSTS: Readonly<Record<string, readonly string[]>> = {
  'accounts.google.com': ['oauth2.googleapis.com', 'www.googleapis.com', 'openidconnect.googleapis.com'],
};

export type DoorSettings = {
  readonly issuer: string;
  /** Networks and addresses that are allowed in addition to public ones. */
  readonly allowedNetworks: readonly string[];
  /** Certificates in PEM that are trusted in addition to Node's. Null if there are none. */
  readonly ca: string | null;
};

/** The provider could not be reached, or did not send a usable answer. The message is a sentence. */
export class ProviderOutage extends Error {
  override readonly name = 'ProviderOutage';
}

export type Door = {
  readonly fetch: CustomFetch;
  /**
   * How far the provider's clock was ahead of this machine's at its last answer, in milliseconds. Undefined before the first
   * answer.
   */
  readonly clockAhead: () => number | undefined;
  readonly close: () => void;
};

/** Opens the only way to the provider: a `fetch` for its client, which sends through the service's outbound sender. */
export function openDoor(settings: DoorSettings, limits: SendLimits = DOOR_LIMITS): Door {
  const sender = openSender({ rules: openRules(settings), ca: settings.ca }, limits);
  let ahead: number | undefined;
  const fetch = async (url: string, options: CustomFetchOptions): Promise<Response> => {
    const { method, headers, body, signal } = options;
    const answer = await sender.send({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers: { ...Object.fromEntries(new Headers(headers)), 'user-agent': 'Transfer-Service' },
      body: body === undefined || body === null ? '' : String(body),
      ...(signal && { signal }),
    });
    const host = hostOf(new URL(url));
    if (answer.error === 'address_refused') {
      throw new ProviderOutage(
        `The OpenID provider at ${host} has an address that is neither public nor in WEBHOOK_ALLOWED_NETWORKS.`,
      );
    }
    if (answer.error !== null) {
      throw new ProviderOutage(`The OpenID provider at ${host} cannot be reached. ${withoutSecrets(answer.message)}`);
    }
    if (answer.body === null)
      throw new ProviderOutage(`The answer of the OpenID provider is longer than ${MAX_BYTES} bytes.`);
    if (answer.date !== null) ahead = Date.parse(answer.date) - Date.now();
    return new Response(plainJson(answer.body.toString(), answer.contentType), {
      status: answer.status,
      headers: { ...(answer.contentType !== null && { 'content-type': answer.contentType }) },
    });
  };
  return { fetch, clockAhead: () => ahead, close: () => sender.close() };
}

/** Writes JSON without escapes in names, because the provider's client reads it with JSON.parse. See `parseJson`. */
function plainJson(text: string, contentType: string | null): string {
  if (!text.includes('\\') || !/\bjson\b/i.test(contentType ?? '')) return text;
  try {
    return JSON.stringify(parseJson(text));
  } catch {
    return text;
  }
}

function openRules({ issuer, allowedNetworks }: DoorSettings): AddressRules {
  const own = new URL(issuer);
  const others = OTHER_HOSTS[own.hostname] ?? [];
  const rules = openConnectorRules({ mode: 'live', allowedNetworks });
  return {
    isAllowed: rules.isAllowed,
    findUrlProblem(text) {
      const url = URL.parse(text);
      const isOwn =
        url !== null && (url.origin === own.origin || others.some((host) => url.origin === `https://${host}`));
      if (!isOwn || url.username !== '' || url.password !== '') {
        return `Requests for sign-in go only to ${own.origin}, the host of OIDC_ISSUER.`;
      }
      return undefined;
    },
  };
}
