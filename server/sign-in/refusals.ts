import { errors as joseErrors } from 'jose';
import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import type { RefusalCode } from '../../domain/error-codes.ts';
import { Refusal, type RefusalDetails } from '../../domain/refusal.ts';
import { ProviderOutage } from './door.ts';

const MAX_QUOTED = 200;

/** Quotes text from the provider, on one line and with printable characters only. */
export function quote(text: unknown): string {
  const printable = String(text).replaceAll(/[\p{C}\s]+/gu, ' ');
  return `'${printable.slice(0, MAX_QUOTED)}'`;
}

/** Refuses a sign-in. `reason` is for the audit log. */
export function refuseSignIn(
  code: RefusalCode,
  message: string,
  reason: string,
  more: Pick<RefusalDetails, 'endsIn'> = {},
): Refusal {
  return new Refusal(code, message, { saw: { refused_because: reason }, ...more });
}

export function notBegun(problem: string, reason: string): Refusal {
  return refuseSignIn('sign_in_not_begun', `${problem} Sign in again.`, reason);
}

export function identityRefused(problem: string, reason: string): Refusal {
  return refuseSignIn('identity_refused', problem, reason);
}

export function unavailable(problem: string): Refusal {
  return refuseSignIn('provider_unavailable', problem, 'provider unavailable', { endsIn: 1_000 });
}

/** Returns the refusal for an error of the provider's client. If the error is a bug, returns it unchanged. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const outage = outageIn(error);
  if (outage !== undefined) return unavailable(outage.message);
  if (error instanceof AuthorizationResponseError) return providerRefusal(error.error, error.error_description, 0);
  if (error instanceof ResponseBodyError) return providerRefusal(error.error, error.error_description, error.status);
  if (error instanceof ClientError) return ofClient(error);
  if (error instanceof joseErrors.JOSEError) return ofToken(error);
  return error;
}

function outageIn(error: unknown): ProviderOutage | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof ProviderOutage) return at;
  return undefined;
}

const OUTAGES = ['server_error', 'temporarily_unavailable'];

function providerRefusal(code: string, description: string | undefined, status: number): Refusal {
  const said = `${quote(code)}${description === undefined ? '' : `: ${quote(description)}`}`;
  if (OUTAGES.includes(code) || status >= 500) return unavailable(`The OpenID provider has a problem: ${said}.`);
  if (code === 'invalid_grant') {
    return notBegun(
      `The OpenID provider refused the code, because it was used before or is too old: ${said}.`,
      'code used',
    );
  }
  const isOurs = code === 'invalid_client' || code === 'unauthorized_client';
  const hint = isOurs ? ' Check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET.' : '';
  return refuseSignIn(
    'sign_in_refused',
    `The OpenID provider refused the sign-in: ${said}.${hint}`,
    `provider: ${code}`,
  );
}

/** Errors about answers that no working provider would send. */
const UNUSABLE = [
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_MISSING_SERVER_METADATA',
  'OAUTH_INVALID_SERVER_METADATA',
];

function ofClient(error: ClientError): Refusal {
  const { code = '' } = error;
  if (UNUSABLE.includes(code))
    return unavailable(`The OpenID provider did not send a usable answer: ${error.message}.`);
  const inner = error.cause instanceof Error ? error.cause : error;
  const facts: unknown = inner.cause;
  const claim = typeof facts === 'object' && facts !== null ? Reflect.get(facts, 'claim') : undefined;
  if (typeof claim === 'string') return ofClaim(claim);
  const [, missing] = /"([a-z_]+)"[^"]* claim missing/.exec(inner.message) ?? [];
  if (missing !== undefined) {
    return identityRefused(`The provider's identity token has no claim '${missing}'.`, `token: ${missing}`);
  }
  return identityRefused(`The provider's identity token is not valid: ${inner.message}.`, 'invalid token');
}

/** The problem of each claim, and what to do about it. */
const CLAIM_PROBLEMS: Readonly<Record<string, string>> = {
  aud: 'is for another client. Check OIDC_CLIENT_ID',
  azp: 'is for another client. Check OIDC_CLIENT_ID',
  iss: 'is from another issuer. Check OIDC_ISSUER',
  nonce: 'belongs to another sign-in. Sign in again',
  exp: 'has expired. Check the clocks of the provider and of the service',
  iat: 'is from the future. Check the clocks of the provider and of the service',
  nbf: 'is from the future. Check the clocks of the provider and of the service',
  auth_time: 'does not say that the person has just authenticated. Sign in again',
};

function ofClaim(claim: string): Refusal {
  const problem = CLAIM_PROBLEMS[claim] ?? 'has an invalid claim';
  return identityRefused(`The provider's identity token ${problem} (claim '${claim}').`, `token: ${claim}`);
}

function ofToken(error: joseErrors.JOSEError): Refusal {
  if (error instanceof joseErrors.JWKSTimeout || error instanceof joseErrors.JWKSInvalid || isFetchProblem(error)) {
    return unavailable(`The keys of the OpenID provider could not be read: ${error.message}.`);
  }
  if (error instanceof joseErrors.JWTClaimValidationFailed || error instanceof joseErrors.JWTExpired) {
    return ofClaim(error.claim);
  }
  const problem =
    error instanceof joseErrors.JWKSNoMatchingKey
      ? 'is signed with a key that the provider does not have'
      : error instanceof joseErrors.JOSEAlgNotAllowed || error instanceof joseErrors.JOSENotSupported
        ? 'has a signature of a kind that is not accepted'
        : 'has no valid signature';
  return identityRefused(`The provider's identity token ${problem}.`, 'token: signature');
}

/** Returns whether the key set could not be fetched. In that case, jose throws its base class. */
function isFetchProblem(error: joseErrors.JOSEError): boolean {
  return error.code === 'ERR_JOSE_GENERIC';
}
