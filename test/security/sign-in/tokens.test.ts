import { createSecretKey } from 'node:crypto';
import { type JWTHeaderParameters, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { SIGN_IN_ERRORS } from '../../../contract/errors/sign-in.ts';
import { CLIENT_ID, CLIENT_SECRET } from '../../harness/openid-provider.ts';
import {
  type Claims,
  type ForgingProvider,
  type Key,
  newKey,
  seconds,
  startForgingProvider,
  unsigned,
} from './forging-provider.ts';
import {
  Browser,
  chooseUrl,
  expectRefusal,
  expectSample,
  type SignInService,
  settingsAt,
  startSignIn,
  type Visited,
} from './world.ts';

const key = newKey('one');
const stranger = newKey('one');
const provider = await startForgingProvider(key);
const chosen = await chooseUrl();
const service = await startSignIn(chosen, settingsAt(provider.issuer, chosen.url));

type Forge = (claims: Claims, key: Key, header?: Readonly<Record<string, unknown>>) => Promise<string>;

/** Begins a sign-in, and completes it with the token that `make` returns for the claims of a valid token. */
async function signInWith(
  make: (valid: Claims, sign: Forge) => Promise<string> | string,
  at: SignInService = service,
  by: ForgingProvider = provider,
  query = '',
): Promise<Visited> {
  const browser = new Browser();
  const begun = await browser.visit(`${at.url}/console/sign-in${query}`);
  const { searchParams } = new URL(begun.headers.get('location') ?? 'about:blank');
  const valid = { nonce: searchParams.get('nonce'), groups: ['card-ops'], name: 'Ada' };
  by.idToken = await make(valid, by.sign);
  return browser.visit(`${at.url}/console/sign-in/callback?code=code&state=${searchParams.get('state')}`);
}

const withClaims = (claims: Claims) => (valid: Claims, sign: Forge) => sign({ ...valid, ...claims }, key);

/** Returns the claims, and adds the claims that every token has. */
const complete = (claims: Claims): Claims => ({
  ...{ iss: provider.issuer, aud: CLIENT_ID, sub: 'ada', iat: seconds(), exp: seconds() + 300 },
  ...claims,
});

const withSecret = (claims: Claims, header: JWTHeaderParameters, secret: string | Buffer) =>
  new SignJWT(complete(claims)).setProtectedHeader(header).sign(createSecretKey(Buffer.from(secret)));

/** Returns the claims without some of them. JSON leaves out undefined members. */
const without = (claims: Claims, ...names: readonly string[]): Claims => ({
  ...claims,
  ...Object.fromEntries(names.map((name) => [name, undefined])),
});

describe('an identity token', () => {
  test('is accepted if it is valid', async () => {
    expect((await signInWith(withClaims({}))).status).toBe(200);
    expect(service.people).toMatchObject([{ subject: 'ada', name: 'Ada', providerSession: null }]);
    // The provider did not say when the person authenticated, so it could have been long ago.
    expect(service.people[0]?.signedInAt).toEqual(new Date(0));
  });

  test.each<[string, string, string | RegExp, (valid: Claims, sign: Forge) => Promise<string> | string]>([
    [
      'without a signature',
      'token: signature',
      /signature of a kind that is not accepted|not valid/,
      (valid) => unsigned(complete(valid)),
    ],
    [
      'signed with the secret of the client',
      'token: signature',
      /signature of a kind that is not accepted/,
      (valid) => withSecret(valid, { alg: 'HS256' }, CLIENT_SECRET),
    ],
    [
      'signed with the public key as a secret',
      'token: signature',
      /signature of a kind that is not accepted/,
      (valid) => withSecret(valid, { alg: 'HS256', kid: 'one' }, key.public.export({ format: 'pem', type: 'spki' })),
    ],
    [
      'signed with a different key of the same id',
      'token: signature',
      /no valid signature/,
      (valid, sign) => sign(valid, stranger),
    ],
    [
      'with its own key in its header',
      'token: signature',
      /a key that the provider does not have/,
      (valid, sign) => sign(valid, { ...stranger, kid: 'own' }, { jwk: stranger.public.export({ format: 'jwk' }) }),
    ],
    ['for another client', 'token: aud', /for another client\. Check OIDC_CLIENT_ID/, withClaims({ aud: 'other' })],
    [
      'for several clients, used by a client that is not listed',
      'token: azp',
      /for another client/,
      withClaims({ aud: [CLIENT_ID, 'other'], azp: 'other' }),
    ],
    [
      'of another issuer',
      'token: iss',
      /from another issuer\. Check OIDC_ISSUER/,
      withClaims({ iss: 'https://evil.test' }),
    ],
    [
      'of an issuer with a trailing slash',
      'token: iss',
      /from another issuer/,
      withClaims({ iss: `${provider.issuer}/` }),
    ],
    ['of another sign-in', 'token: nonce', /belongs to another sign-in/, withClaims({ nonce: 'x'.repeat(43) })],
    ['without a nonce', 'token: nonce', /nonce/, (valid, sign) => sign(without(valid, 'nonce'), key)],
    [
      'that expired 70 seconds ago',
      'token: exp',
      /has expired\. Check the clocks/,
      withClaims({ exp: seconds() - 70 }),
    ],
    ['that begins in 100 seconds', 'token: nbf', /from the future/, withClaims({ nbf: seconds() + 100 })],
  ])('%s is refused', async (_what, reason, says, make) => {
    const page = await signInWith(make);
    expectRefusal(page, 'identity_refused', 403, says);
    expect(service.people).toEqual([]);
    expect(service.refused).toMatchObject([{ address: '127.0.0.1', sent: '', reason }]);
    expect(service.notices).toHaveLength(1);
    expect(service.reports.map(({ code }) => code)).toEqual(['identity_refused']);
  });

  test('may be from a clock that differs by less than 60 seconds', async () => {
    for (const claims of [
      { exp: seconds() - 45 },
      { iat: seconds() + 45, nbf: seconds() + 45, exp: seconds() + 300 },
    ]) {
      expect((await signInWith(withClaims(claims))).status).toBe(200);
    }
  });

  test('must say that the person has just authenticated, if the sign-in must be fresh', async () => {
    const fresh = (claims: Claims) => signInWith(withClaims(claims), service, provider, '?again=1');
    expectRefusal(await fresh({}), 'identity_refused', 403, /auth_time/);
    expectRefusal(await fresh({ auth_time: seconds() - 400 }), 'identity_refused', 403, /auth_time/);
    const page = await fresh({ auth_time: seconds() - 100 });
    expect(page.status).toBe(200);
    expect(Date.now() - (service.people[0]?.signedInAt.getTime() ?? 0)).toBeGreaterThan(95_000);
  });
});

test("the service's messages match the samples of the catalog", async () => {
  const browser = new Browser();
  const begun = await browser.visit(`${service.url}/console/sign-in`);
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state');
  const cancelled = await browser.visit(
    `${service.url}/console/sign-in/callback?error=consent_required&state=${state}`,
  );
  expectSample(cancelled, 'sign_in_refused');
  expectSample(await signInWith((valid, sign) => sign(valid, newKey('other'))), 'identity_refused');
});

test("a token is checked with the provider's new keys, which the service reads once for an unknown id and then not again for 30 seconds", async () => {
  const rotating = await startForgingProvider(key);
  const at = await chooseUrl();
  const other = await startSignIn(at, settingsAt(rotating.issuer, at.url));
  const next = newKey('two');
  const signedBy = (one: Key) => signInWith((valid, sign) => sign(valid, one), other, rotating);
  expect([(await signedBy(key)).status, rotating.keyReads]).toEqual([200, 1]);
  rotating.keys = [key, next];
  // The keys were just read, so an unknown id does not cause another read.
  expectRefusal(await signedBy(next), 'identity_refused', 403, /a key that the provider does not have/);
  expectRefusal(await signedBy(newKey('three')), 'identity_refused', 403, /a key that the provider does not have/);
  expect(rotating.keyReads).toBe(1);
  const realNow = Date.now;
  try {
    // jose measures the pause with this clock.
    Date.now = () => realNow() + 31_000;
    expect([(await signedBy(next)).status, rotating.keyReads]).toEqual([200, 2]);
    expectRefusal(await signedBy(newKey('three')), 'identity_refused', 403, /a key that the provider does not have/);
    expect(rotating.keyReads).toBe(2);
  } finally {
    Date.now = realNow;
  }
});

describe('a discovery document', () => {
  /** Begins a sign-in on a service whose provider has this document. */
  async function beginWith(discovery: object, change: (issuer: string) => string = (issuer) => issuer) {
    const odd = await startForgingProvider(key);
    odd.discovery = { ...discovery };
    const at = await chooseUrl();
    const other = await startSignIn(at, settingsAt(change(odd.issuer), at.url));
    return { odd, other, begun: await new Browser().visit(`${other.url}/console/sign-in`) };
  }

  test('with an issuer that differs in a trailing slash is refused with that reason', async () => {
    const { begun } = await beginWith({}, (issuer) => `${issuer}/`);
    expectRefusal(begun, 'provider_unavailable', 503, /differs in a trailing slash/);
    const other = await beginWith({ issuer: 'http://127.0.0.1:1/other' });
    expectRefusal(
      other.begun,
      'provider_unavailable',
      503,
      /its issuer is 'http:\/\/127\.0\.0\.1:1\/other', but OIDC_ISSUER/,
    );
  });

  test('with endpoints on other hosts causes no request to them', async () => {
    const elsewhere = await startForgingProvider(key);
    const { odd, other, begun } = await beginWith({
      token_endpoint: `${elsewhere.issuer}/token`,
      jwks_uri: `${elsewhere.issuer}/keys`,
    });
    expect(begun.status).toBe(302);
    const page = await signInWith((valid, sign) => sign(valid, key), other, odd);
    expectRefusal(page, 'provider_unavailable', 503, /Requests for sign-in go only to .*, the host of OIDC_ISSUER/);
    expect(elsewhere.requests).toEqual([]);
  });

  test('at a private address is read only if the settings name the address', async () => {
    const odd = await startForgingProvider(key);
    const at = await chooseUrl();
    const other = await startSignIn(at, { ...settingsAt(odd.issuer, at.url), allowedNetworks: [] });
    const begun = await new Browser().visit(`${other.url}/console/sign-in`);
    expectRefusal(begun, 'provider_unavailable', 503, /neither public nor in WEBHOOK_ALLOWED_NETWORKS/);
    expect(odd.requests).toEqual([]);
  });
});

describe('a logout token', () => {
  const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
  const valid = (): Claims => ({ jti: crypto.randomUUID(), sid: 'session', events: { [EVENT]: {} } });
  const send = async (token: string | undefined, type = 'application/x-www-form-urlencoded') => {
    const response = await fetch(`${service.url}/console/back-channel-logout`, {
      method: 'POST',
      headers: { 'Content-Type': type },
      body: token === undefined ? '' : new URLSearchParams({ logout_token: token }).toString(),
    });
    const fields = (await response.json()) as Readonly<Record<string, unknown>>;
    return { status: response.status, fields, cacheControl: response.headers.get('cache-control') };
  };

  test('ends the sessions that it names, once', async () => {
    const token = await provider.sign(valid(), key);
    expect(await send(token)).toEqual({ status: 200, fields: {}, cacheControl: 'no-store' });
    const { issuer } = provider;
    expect(service.ended).toEqual([{ issuer, subject: 'ada', providerSession: 'session' }]);
    expect(await send(token)).toMatchObject({ status: 400, fields: { Code: 'logout_token_refused' } });
    expect(service.ended).toHaveLength(1);
    expect(service.refused).toMatchObject([{ reason: 'token: jti' }]);
  });

  test.each<[string, RegExp, () => Promise<string> | string]>([
    [
      'without a signature',
      /signature/,
      () => unsigned({ iss: provider.issuer, aud: CLIENT_ID, iat: seconds(), ...valid() }),
    ],
    ['with another key', /no valid signature/, () => provider.sign(valid(), stranger)],
    ['for another client', /for another client/, () => provider.sign({ ...valid(), aud: 'other' }, key)],
    ['of another issuer', /from another issuer/, () => provider.sign({ ...valid(), iss: 'https://evil.test' }, key)],
    ['with a nonce, as an identity token has', /has a 'nonce'/, () => provider.sign({ ...valid(), nonce: 'n' }, key)],
    ['without the event', /no event/, () => provider.sign(without(valid(), 'events'), key)],
    ['with another event', /no event/, () => provider.sign({ ...valid(), events: { other: {} } }, key)],
    ['without a person or session', /neither/, () => provider.sign(without(valid(), 'sub', 'sid'), key)],
    ['without an id', /no 'jti'/, () => provider.sign(without(valid(), 'jti'), key)],
    ['that is too old', /older than 300 seconds/, () => provider.sign({ ...valid(), iat: seconds() - 400 }, key)],
    ['that has expired', /has expired/, () => provider.sign({ ...valid(), exp: seconds() - 70 }, key)],
  ])('%s is refused', async (_what, says, make) => {
    const { status, fields } = await send(await make());
    expect(fields.Message).toMatch(says);
    expect([status, fields.Code]).toEqual([400, 'logout_token_refused']);
    expect(service.ended).toEqual([]);
    expect(service.refused).toHaveLength(1);
  });

  test('is refused if it is malformed or missing', async () => {
    expect((await send('token')).fields.Message).toBe(SIGN_IN_ERRORS.logout_token_refused.sample.message);
    expect((await send(undefined)).fields).toMatchObject({ Code: 'logout_token_refused' });
    expect((await fetch(`${service.url}/console/back-channel-logout`, { method: 'PUT' })).status).toBe(405);
  });
});
