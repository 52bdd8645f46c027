import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

/** A person's claims, without `sub`. */
export type PersonClaims = Readonly<Record<string, unknown>>;

export type OpenidProvider = {
  readonly issuer: string;
  /** The people who can sign in, by their `sub`. A test may add more. */
  readonly people: Map<string, PersonClaims>;
  /** Errors that the provider has logged, for the messages of failed tests. */
  readonly problems: string[];
  readonly stop: () => Promise<void>;
};

export const CLIENT_ID = 'cards';
export const CLIENT_SECRET = 'secret-of-cards-at-the-provider';

/** Returns a port that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Starts the certified OpenID provider `oidc-provider` on loopback, for one client: a service at `publicUrl`. Its login
 * page has a button for each person, and a cancel button.
 */
export async function startOpenidProvider(
  publicUrl: string,
  people: Readonly<Record<string, PersonClaims>>,
  atPort = 0,
): Promise<OpenidProvider> {
  const known = new Map(Object.entries(people));
  const problems: string[] = [];
  const server = createServer().listen(atPort, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = openProvider(issuer, publicUrl, known);
  for (const event of ['server_error', 'authorization.error', 'grant.error', 'backchannel.error']) {
    provider.on(event, (...facts) =>
      problems.push(
        `${event}: ${facts.map((fact) => (fact instanceof Error ? `${fact} ${fact.cause}` : '')).join(' ')}`,
      ),
    );
  }
  const serve = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url?.startsWith('/login/')) return void serve(request, response);
    if (request.method !== 'POST') {
      response.writeHead(200, { 'Content-Type': 'text/html' });
      response.end(loginPage([...known.keys()]));
      return undefined;
    }
    return void readForm(request).then((form) => {
      const accountId = form.get('person');
      const cancelled = { error: 'access_denied', error_description: 'The person cancelled.' };
      const result = accountId === null ? cancelled : { login: { accountId, remember: true } };
      return provider.interactionFinished(request, response, result);
    });
  });
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { issuer, people: known, problems, stop };
}

function openProvider(issuer: string, publicUrl: string, people: ReadonlyMap<string, PersonClaims>): Provider {
  const provider: Provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${publicUrl}/console/sign-in/callback`],
        post_logout_redirect_uris: [`${publicUrl}/console/signed-out`],
        backchannel_logout_uri: `${publicUrl}/console/back-channel-logout`,
        backchannel_logout_session_required: true,
      },
    ],
    claims: { openid: ['sub'], profile: ['name'], email: ['email'], groups: ['groups'] },
    cookies: { keys: ['only for tests'] },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      // Signing out needs no confirmation, so that tests have no additional form to submit.
      rpInitiatedLogout: {
        logoutSource: (context: { body: string }, form: string) => {
          const yes = '<input type="hidden" name="logout" value="yes">';
          context.body = `<!doctype html>${form.replace('</form>', `${yes}</form>`)}<script>document.forms[0].submit()</script>`;
        },
      },
    },
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => `/login/${uid}` },
    findAccount: (_context: unknown, accountId: string) =>
      people.has(accountId) ? { accountId, claims: () => ({ sub: accountId, ...people.get(accountId) }) } : undefined,
    // Every person has already consented.
    loadExistingGrant: async ({ oidc }: { oidc: { session: { accountId: string }; client: { clientId: string } } }) => {
      const grant = new provider.Grant({ accountId: oidc.session.accountId, clientId: oidc.client.clientId });
      grant.addOIDCScope('openid profile email groups');
      await grant.save();
      return grant;
    },
    // The provider's own fetch refuses addresses on this machine.
    fetch: (url: string, { dispatcher: _, ...options }: RequestInit & { readonly dispatcher?: unknown }) =>
      fetch(url, options),
    pkce: { required: () => true },
    ttl: { Session: 3600, Interaction: 600, Grant: 3600, AccessToken: 600, IdToken: 600 },
  });
  return provider;
}

function loginPage(people: readonly string[]): string {
  const buttons = people.map((person) => `<button name="person" value="${person}">${person}</button>`).join('');
  return `<!doctype html><title>Provider</title><form method="post">${buttons}<button>Cancel</button></form>`;
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}
