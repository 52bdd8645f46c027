import { createRemoteJWKSet, customFetch as customKeyFetch, type JWTVerifyGetKey } from 'jose';
import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  clockTolerance,
  customFetch,
  discovery,
} from 'openid-client';
import { type Door, type DoorSettings, openDoor, ProviderOutage } from './door.ts';

// Invariant: If a key id (kid) is unknown, the provider's keys are fetched again, at most every 30 s
// Kept by: `createRemoteJWKSet` of jose with KEY_PAUSE_MILLISECONDS
// Tested by: `test/security/sign-in/tokens.test.ts`

/** How far the clocks of the provider and of this machine may differ, in seconds. */
export const CLOCK_SKEW_SECONDS = 60;

const KEY_PAUSE_MILLISECONDS = 30_000;

/** How long a discovery document is used. Providers rarely change their endpoints, but a change must not require a restart. */
const DISCOVERY_MILLISECONDS = 3_600_000;

export type ProviderSettings = DoorSettings & { readonly clientId: string; readonly clientSecret: string };

/** A provider whose discovery document was read. */
export type FoundProvider = {
  readonly configuration: Configuration;
  readonly keys: JWTVerifyGetKey;
  readonly fetch: Door['fetch'];
};

export type Provider = {
  /** Reads the discovery document on first use. If that fails, the next use tries again. Throws a ProviderOutage. */
  readonly find: () => Promise<FoundProvider>;
  readonly clockAhead: Door['clockAhead'];
  readonly close: () => void;
};

export function openProvider(settings: ProviderSettings): Provider {
  const door = openDoor(settings);
  let found: Promise<FoundProvider> | undefined;
  let readAt = 0;
  return {
    find: () => {
      if (found !== undefined && performance.now() - readAt < DISCOVERY_MILLISECONDS) return found;
      readAt = performance.now();
      const reading = discover(settings, door);
      found = reading;
      reading.catch(() => {
        if (found === reading) found = undefined;
      });
      return reading;
    },
    clockAhead: door.clockAhead,
    close: door.close,
  };
}

async function discover(settings: ProviderSettings, door: Door): Promise<FoundProvider> {
  const { issuer, clientId, clientSecret } = settings;
  const server = new URL(issuer);
  const execute = server.protocol === 'http:' ? [allowInsecureRequests] : [];
  const metadata = await discovery(server, clientId, undefined, undefined, { execute, [customFetch]: door.fetch }).then(
    (configuration) => configuration.serverMetadata(),
    (error: unknown) => {
      throw discoveryProblem(issuer, error);
    },
  );
  requireIssuer(issuer, metadata.issuer);
  if (metadata.jwks_uri === undefined || metadata.token_endpoint === undefined) {
    throw new ProviderOutage(`The discovery document of ${issuer} has no jwks_uri or no token_endpoint.`);
  }
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const isBasic = methods.includes('client_secret_basic');
  const configuration = new Configuration(
    metadata,
    clientId,
    { client_secret: clientSecret, [clockTolerance]: CLOCK_SKEW_SECONDS },
    isBasic ? ClientSecretBasic(clientSecret) : ClientSecretPost(clientSecret),
  );
  configuration[customFetch] = door.fetch;
  for (const extend of execute) extend(configuration);
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri), {
    cooldownDuration: KEY_PAUSE_MILLISECONDS,
    [customKeyFetch]: (url, { headers, method, redirect, signal }) =>
      door.fetch(url, { headers: Object.fromEntries(headers), method, redirect, signal, body: undefined }),
  });
  return { configuration, keys, fetch: door.fetch };
}

/** Compares exactly, because URLs that differ only in a slash at the end name different issuers. */
function requireIssuer(expected: string, found: string): void {
  if (found === expected) return;
  const isSlash = found.replace(/\/$/, '') === expected.replace(/\/$/, '');
  const how = isSlash ? ', which differs in a trailing slash' : '';
  throw new ProviderOutage(`The provider says that its issuer is '${found}', but OIDC_ISSUER is '${expected}'${how}.`);
}

function discoveryProblem(issuer: string, error: unknown): Error {
  if (error instanceof ProviderOutage) return error;
  if (!(error instanceof Error)) return new ProviderOutage(`The discovery document of ${issuer} cannot be read.`);
  const { cause } = error;
  if (cause instanceof ProviderOutage) return cause;
  const body = typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'body') : undefined;
  const named = typeof body === 'object' && body !== null ? Reflect.get(body, 'issuer') : undefined;
  if (typeof named === 'string') {
    try {
      requireIssuer(issuer, named);
    } catch (problem) {
      return problem as Error;
    }
  }
  const status = cause instanceof Response ? `, with status ${cause.status}` : '';
  return new ProviderOutage(`There is no valid discovery document of ${issuer}: ${error.message}${status}.`);
}
