import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { parseJson } from '../../domain/parse-json.ts';
import type { Claims } from '../../domain/people/access.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { EndedByProvider } from '../calls/sign-in.ts';
import { CLOCK_SKEW_SECONDS } from './provider.ts';
import { refusalOf, refuseSignIn, unavailable } from './refusals.ts';

// Invariant: The provider's token counts only if it is signed with one of the provider's keys
// Kept by: `verified`, which does not accept symmetric algorithms or `none`
// Tested by: `test/security/sign-in/tokens.test.ts`

const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

export type TokenRules = { readonly issuer: string; readonly clientId: string; readonly keys: JWTVerifyGetKey };

/** Verifies a token's signature, issuer, audience and times. Returns its claims. Throws the errors of jose. */
export async function verified(token: string, { issuer, clientId, keys }: TokenRules): Promise<Claims & JWTPayload> {
  await jwtVerify(token, keys, {
    issuer,
    audience: clientId,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_SKEW_SECONDS,
    requiredClaims: ['iat'],
  });
  // The token is parsed again here, because jose uses JSON.parse. See `parseJson`.
  return parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims & JWTPayload;
}

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Maximum age of a logout token. Providers send it immediately. Its id is remembered for this time. */
const MAX_LOGOUT_SECONDS = 300;

/** Reads logout tokens (OpenID Connect Back-Channel Logout 1.0). Each is accepted once. */
export function openLogoutTokens(issuer: string, now: () => number = Date.now) {
  /** The ids of tokens, with the times when the tokens will be too old, in milliseconds since 1970. */
  const seen = new Map<string, number>();

  return async (token: string, rules: Omit<TokenRules, 'issuer'>): Promise<EndedByProvider> => {
    const claims = await verified(token, { issuer, ...rules }).catch((error: unknown) => {
      const refused = refusalOf(error);
      if (!(refused instanceof Refusal)) throw error;
      if (refused.code === 'provider_unavailable') throw unavailable(refused.message);
      throw bad(
        refused.message.replace('identity token', 'logout token'),
        String(refused.details.saw?.refused_because),
      );
    });
    const { iat = 0, jti, sub, sid, nonce, events } = claims;
    const event = typeof events === 'object' && events !== null ? Reflect.get(events, LOGOUT_EVENT) : undefined;
    if (typeof event !== 'object' || event === null)
      throw bad(`The token is not a logout token: it has no event ${LOGOUT_EVENT}.`, 'token: events');
    if (nonce !== undefined) throw bad("The token is not a logout token: it has a 'nonce'.", 'token: nonce');
    const subject = typeof sub === 'string' ? sub : undefined;
    const providerSession = typeof sid === 'string' ? sid : undefined;
    if (subject === undefined && providerSession === undefined) {
      throw bad("The logout token has neither a 'sub' nor a 'sid'.", 'token: sub');
    }
    if (now() / 1000 - iat > MAX_LOGOUT_SECONDS + CLOCK_SKEW_SECONDS) {
      throw bad(`The logout token is older than ${MAX_LOGOUT_SECONDS} seconds.`, 'token: iat');
    }
    if (typeof jti !== 'string' || jti === '') throw bad("The logout token has no 'jti'.", 'token: jti');
    for (const [id, until] of seen) if (until < now()) seen.delete(id);
    if (seen.has(jti)) throw bad('The logout token was used before.', 'token: jti');
    seen.set(jti, now() + (MAX_LOGOUT_SECONDS + 2 * CLOCK_SKEW_SECONDS) * 1000);
    return {
      issuer,
      ...(subject !== undefined && { subject }),
      ...(providerSession !== undefined && { providerSession }),
    };
  };
}

function bad(message: string, reason: string): Refusal {
  return refuseSignIn('logout_token_refused', message, reason);
}
