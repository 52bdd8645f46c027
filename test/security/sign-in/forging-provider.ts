import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type JWTPayload, SignJWT } from 'jose';
import { afterAll } from 'vitest';
import { CLIENT_ID } from '../../harness/openid-provider.ts';

export type Key = { readonly kid: string; readonly private: KeyObject; readonly public: KeyObject };

export function newKey(kid: string): Key {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { kid, private: privateKey, public: publicKey };
}

export type Claims = JWTPayload & Readonly<Record<string, unknown>>;

/** A provider that returns whatever a test wants and checks nothing. */
export type ForgingProvider = {
  readonly issuer: string;
  /** The provider's published keys, and the number of times that they were read. */
  keys: Key[];
  keyReads: number;
  /** The `id_token` that the token endpoint returns. */
  idToken: string;
  /** Fields of the discovery document that replace the provider's own. */
  discovery: Readonly<Record<string, unknown>>;
  /** How far the provider's clock is ahead in the Date of its responses. */
  aheadSeconds: number;
  readonly requests: string[];
  /** Signs claims with a key. The defaults are the values of a valid token. */
  readonly sign: (claims: Claims, key: Key, header?: Readonly<Record<string, unknown>>) => Promise<string>;
};

export const seconds = (): number => Math.floor(Date.now() / 1000);

/** Starts a provider that forges tokens, on loopback. It stops at the end of the file. */
export async function startForgingProvider(key: Key): Promise<ForgingProvider> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realms/cards`;
  const provider: ForgingProvider = {
    issuer,
    keys: [key],
    keyReads: 0,
    idToken: '',
    discovery: {},
    aheadSeconds: 0,
    requests: [],
    sign: (claims, { kid, private: secret }, header = {}) =>
      new SignJWT({ iss: issuer, aud: CLIENT_ID, sub: 'ada', iat: seconds(), exp: seconds() + 300, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid, ...header })
        .sign(secret),
  };
  server.on('request', ({ url = '' }, response) => {
    provider.requests.push(url);
    response.setHeader('Date', new Date(Date.now() + provider.aheadSeconds * 1000).toUTCString());
    const answer = (fields: object): void => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(fields));
    };
    if (url.endsWith('/.well-known/openid-configuration')) {
      answer({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
        ...provider.discovery,
      });
    } else if (url.endsWith('/keys')) {
      provider.keyReads += 1;
      answer({
        keys: provider.keys.map(({ kid, public: shown }) => ({ ...shown.export({ format: 'jwk' }), kid, use: 'sig' })),
      });
    } else if (url.endsWith('/token')) {
      answer({ access_token: 'access', token_type: 'bearer', id_token: provider.idToken });
    } else {
      response.writeHead(404).end();
    }
  });
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return provider;
}

export function unsigned(claims: Claims): string {
  const encode = (fields: object): string => Buffer.from(JSON.stringify(fields)).toString('base64url');
  return `${encode({ alg: 'none' })}.${encode(claims)}.`;
}
