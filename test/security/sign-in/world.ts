import { afterAll, beforeEach, expect } from 'vitest';
import { SIGN_IN_ERRORS } from '../../../contract/errors/sign-in.ts';
import { type RoleRule, readRoleRules } from '../../../domain/people/access.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { Gateway, RefusedCredential } from '../../../server/calls/call.ts';
import type { EndedByProvider, SignedInPerson } from '../../../server/calls/sign-in.ts';
import { createHttpServer, type ErrorReport, type HttpSettings } from '../../../server/http/server.ts';
import { openSignIn, type SignInSettings } from '../../../server/sign-in/sign-in.ts';
import { fakeGateway } from '../../harness/http-server.ts';
import { CLIENT_ID, CLIENT_SECRET, freePort } from '../../harness/openid-provider.ts';

export const LUMEN = 'prog_0196f5c2d9a37d11b6e4f2a90c8d5e72';
export const NOVA = 'prog_0196f5c2d9a37d11b6e4f2a90c8d5e73';

/** The subject of a person that the store refuses. */
export const BLOCKED = 'mallory';

export const BROWSER = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } as const;

function rolesOf(text: string): readonly RoleRule[] {
  const rules = readRoleRules(text);
  if (typeof rules === 'string') throw new Error(rules);
  return rules;
}

/** Returns the sign-in settings for an issuer and for a service at a URL. */
export function settingsAt(issuer: string, publicUrl: string): SignInSettings {
  return {
    issuer,
    name: null,
    publicUrl,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    scopes: 'openid profile email groups',
    roleClaim: 'groups',
    roles: rolesOf(`card-support=support,card-ops=operator,lumen=viewer@${LUMEN},nova=operator@${NOVA}`),
    allowedNetworks: ['127.0.0.1'],
    ca: null,
  };
}

/** Everything that happened on a service since the start of the test. */
export type Noted = {
  readonly people: SignedInPerson[];
  readonly ended: EndedByProvider[];
  readonly refused: RefusedCredential[];
  readonly notices: string[];
  readonly reports: ErrorReport[];
};

export type SignInService = Noted & { readonly url: string; readonly port: number };

/** Chooses the URL of a service that starts later, because the service's provider must know the URL first. */
export async function chooseUrl(): Promise<{ readonly url: string; readonly port: number }> {
  const port = await freePort();
  return { port, url: `http://localhost:${port}` };
}

/** Starts the HTTP server of a service with sign-in, which stores people in memory. It stops at the end of the file. */
export async function startSignIn(
  { url, port }: { readonly url: string; readonly port: number },
  settings: SignInSettings,
  more: Partial<HttpSettings> = {},
): Promise<SignInService> {
  const noted: Noted = { people: [], ended: [], refused: [], notices: [], reports: [] };
  const signIn = openSignIn(
    settings,
    {
      signInPerson: async (_deadline, person) => {
        if (person.subject === BLOCKED) throw new Refusal('person_blocked', 'You were blocked.');
        noted.people.push(person);
        return { token: 't'.repeat(43) };
      },
      endProviderSessions: async (_deadline, ended) => noted.ended.push(ended),
      programName: async (programId) => (programId.endsWith('72') ? 'Lumen' : null),
    },
    (sentence) => noted.notices.push(sentence),
  );
  const gateway: Gateway = fakeGateway(
    {},
    { mode: 'live', signIn, onRefusedCredential: (one) => noted.refused.push(one) },
  );
  const server = createHttpServer(gateway, {
    settings: { overloadDelayMilliseconds: 0, publicUrl: url, ...more },
    onError: (report) => noted.reports.push(report),
  });
  await server.listen({ port, host: '127.0.0.1' });
  afterAll(async () => {
    await server.close();
    signIn.close();
  });
  beforeEach(() => {
    for (const list of Object.values(noted)) list.length = 0;
  });
  return { ...noted, url, port };
}

export type Visited = {
  readonly status: number;
  readonly url: string;
  readonly headers: Headers;
  readonly text: string;
  /** The fields of an error record or another JSON object. */
  readonly fields: Readonly<Record<string, unknown>>;
};

/**
 * A browser that keeps cookies by host. After a redirect from a different site, it sends only the cookies that SameSite allows.
 */
export class Browser {
  readonly cookies = new Map<string, Map<string, string>>();
  readonly headers: Readonly<Record<string, string>>;

  constructor(headers: Readonly<Record<string, string>> = BROWSER) {
    this.headers = headers;
  }

  cookiesOf(url: string): Map<string, string> {
    const { hostname } = new URL(url);
    const jar = this.cookies.get(hostname) ?? new Map<string, string>();
    this.cookies.set(hostname, jar);
    return jar;
  }

  /** Sends one request, without following a redirect. */
  async visit(url: string, form?: Readonly<Record<string, string>>): Promise<Visited> {
    const jar = this.cookiesOf(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { ...this.headers, ...(cookie !== '' && { Cookie: cookie }) },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const isRemoved = /; *max-age=0/i.test(line) || /expires=Thu, 01 Jan 1970/i.test(line);
      if (isRemoved) jar.delete(name);
      else jar.set(name, value);
    }
    const text = await response.text();
    const fields = text.startsWith('{') ? JSON.parse(text) : {};
    return { status: response.status, url, headers: response.headers, text, fields };
  }

  /** Follows redirects. Stops before a URL that begins with `before`. */
  async follow(url: string, before?: string): Promise<Visited> {
    let visited = await this.visit(url);
    for (let hops = 0; hops < 10 && visited.status >= 300 && visited.status < 400; hops += 1) {
      const next = new URL(visited.headers.get('location') ?? '', visited.url).href;
      if (before !== undefined && next.startsWith(before)) return { ...visited, url: next };
      visited = await this.visit(next);
    }
    return visited;
  }

  /** Begins a sign-in and authenticates as a person. Returns the URL of the callback, but does not visit it. */
  async authenticate(service: { readonly url: string }, person: string | null, query = ''): Promise<string> {
    const callback = `${service.url}/console/sign-in/callback`;
    const login = await this.follow(`${service.url}/console/sign-in${query}`, callback);
    if (login.url.startsWith(callback)) return login.url;
    expect(textOf(login)).toContain('Cancel');
    const sent = await this.visit(login.url, person === null ? {} : { person });
    const resumed = await this.follow(new URL(sent.headers.get('location') ?? '', login.url).href, callback);
    expect(resumed.url, textOf(resumed)).toMatch(/\/console\/sign-in\/callback\?/);
    return resumed.url;
  }

  async signIn(service: { readonly url: string }, person: string | null, query = ''): Promise<Visited> {
    return this.visit(await this.authenticate(service, person, query));
  }
}

/** Returns the text of a page without its markup. */
export function textOf({ text }: Visited): string {
  return text
    .replace(/^.*<main[^>]*>/s, '')
    .replace(/<\/main>.*$/s, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ');
}

/** Checks that the browser shows the page for a refused sign-in, with its code. */
export function expectRefusal(visited: Visited, code: string, status: number, says: string | RegExp): void {
  expect(textOf(visited)).toMatch(says);
  expect([visited.status, visited.headers.get('error-code')]).toEqual([status, code]);
  expect(visited.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(textOf(visited)).toContain('You are not signed in');
  expect(visited.headers.getSetCookie().filter((line) => !/Max-Age=0/.test(line))).toEqual([]);
}

/** Checks that the page has exactly the message that the catalog has for a code's sample. */
export function expectSample(visited: Visited, code: keyof typeof SIGN_IN_ERRORS): void {
  const { status, sample } = SIGN_IN_ERRORS[code];
  expect(textOf(visited)).toContain(`You are not signed in ${sample.message} `);
  expectRefusal(visited, code, status, '');
}
