import { buildAuthorizationUrl } from 'openid-client';
import { type Check, ok, problem, warning } from '../../domain/doctor-check.ts';
import { parseJson } from '../../domain/parse-json.ts';
import { accessText, type Claims, decideAccess, nearMissText, valuesOfClaim } from '../../domain/people/access.ts';
import { Refusal } from '../../domain/refusal.ts';
import { CLOCK_SKEW_SECONDS, type FoundProvider, openProvider } from './provider.ts';
import { quote, refusalOf } from './refusals.ts';
import { CALLBACK_PATH, noRoleMessage, SIGNED_OUT_PATH, type SignInSettings } from './sign-in.ts';
import { verified } from './tokens.ts';

const PROVIDER = 'OpenID provider';
const ROLES = 'roles';

/**
 * Checks the settings of sign-in with the provider: discovery, the client and its redirect URI, scopes and clocks. If a token or
 * the claims (JSON) of a person are given, also reports the roles that they would give. Signs no one in.
 */
export async function examineSignIn(settings: SignInSettings, claims: string | undefined): Promise<readonly Check[]> {
  const provider = openProvider(settings);
  try {
    const found = await provider.find();
    const ofToken = claims === undefined ? [] : await examineClaims(settings, found, claims);
    return [
      ok(PROVIDER, `the discovery document of ${settings.issuer} was read`),
      await examineRedirect(settings, found),
      examineClock(provider.clockAhead()),
      ...examineScopes(settings, found),
      ok(ROLES, `${settings.roles.length} values of the claim '${settings.roleClaim}' give a role`),
      ...ofToken,
    ];
  } catch (error) {
    const ofToken = claims === undefined ? [] : await examineClaims(settings, undefined, claims);
    const message = error instanceof Error ? error.message : String(error);
    return [problem(PROVIDER, `${message} No one can sign in with it. Sessions and keys still work.`), ...ofToken];
  } finally {
    provider.close();
  }
}

/**
 * Requests a sign-in from the provider, without a person. If the redirect URI is not registered, the provider responds with an
 * error page.
 */
async function examineRedirect(
  { publicUrl, scopes }: SignInSettings,
  { configuration, fetch }: FoundProvider,
): Promise<Check> {
  const name = 'redirect URI';
  const uri = `${publicUrl}${CALLBACK_PATH}`;
  const { href } = buildAuthorizationUrl(configuration, {
    redirect_uri: uri,
    scope: scopes,
    prompt: 'none',
    state: 'doctor',
    nonce: 'doctor',
    // A challenge without a verifier, because no sign-in will follow.
    code_challenge: 'doctor'.padEnd(43, '-'),
    code_challenge_method: 'S256',
  });
  const { status } = await fetch(href, {
    method: 'GET',
    headers: { accept: 'text/html' },
    redirect: 'manual',
    body: undefined,
  });
  if (status < 400)
    return ok(name, `${uri} is accepted; after signing out, people come back to ${publicUrl}${SIGNED_OUT_PATH}`);
  return problem(
    name,
    `The provider answers a sign-in for this client with status ${status}. Register ${uri} as a redirect URI there, ` +
      'and check OIDC_CLIENT_ID.',
  );
}

function examineClock(aheadMilliseconds: number | undefined): Check {
  const name = 'its clock';
  if (aheadMilliseconds === undefined)
    return warning(name, 'The provider sends no time, so the clocks cannot be compared.');
  const seconds = Math.round(Math.abs(aheadMilliseconds) / 1000);
  const text = `The clocks of the provider and of this machine differ by ${seconds} s; ${CLOCK_SKEW_SECONDS} s are allowed.`;
  if (seconds >= CLOCK_SKEW_SECONDS) return problem(name, `${text} Synchronize them: tokens are refused.`);
  return seconds > CLOCK_SKEW_SECONDS / 2 ? warning(name, `${text} Synchronize them.`) : ok(name, 'the same as here');
}

function examineScopes({ scopes, roleClaim }: SignInSettings, { configuration }: FoundProvider): readonly Check[] {
  const { scopes_supported: known, claims_supported: claims } = configuration.serverMetadata();
  const asked = scopes.split(' ');
  const unknown = known === undefined ? [] : asked.filter((scope) => !known.includes(scope));
  const name = 'scopes';
  if (unknown.length > 0) {
    return [warning(name, `The provider does not list these scopes of OIDC_SCOPES: ${unknown.join(', ')}.`)];
  }
  const isMissing = known?.includes(roleClaim) === true && !asked.includes(roleClaim);
  const hint = `The provider has a scope '${roleClaim}', which OIDC_SCOPES does not ask for. It may not send the claim without it.`;
  if (isMissing) return [warning(name, hint)];
  const listed = claims?.includes(roleClaim) === true ? `; the provider lists the claim '${roleClaim}'` : '';
  return [ok(name, `${scopes}${listed}`)];
}

/** Reports the roles that a token or claims would give. Checks the signature of a token if the provider's keys could be read. */
async function examineClaims(
  { issuer, clientId, roles, roleClaim }: SignInSettings,
  found: FoundProvider | undefined,
  text: string,
): Promise<readonly Check[]> {
  const name = 'claims';
  const token = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(text.trim());
  let claims: Claims;
  try {
    claims = parseJson(token === null ? text : Buffer.from(token[1] ?? '', 'base64url').toString()) as Claims;
    if (typeof claims !== 'object' || claims === null) throw new SyntaxError('not an object');
  } catch {
    return [problem(name, 'The file contains neither a token nor the claims of one as a JSON object.')];
  }
  const { values, problem: fault } = valuesOfClaim(claims, roleClaim);
  const decision = decideAccess(values, roles, null);
  const near = decision.nearMisses.map(nearMissText);
  const become: Check =
    decision.kind === 'none'
      ? problem(name, noRoleMessage(roleClaim, values, fault, near, Object.keys(claims)))
      : decision.kind === 'choice'
        ? ok(name, `roles in ${decision.programIds.length} card programs; the person chooses one of them`)
        : ok(
            name,
            [
              `${quote(claims.name ?? claims.sub)} becomes: ${decision.access.map(accessText).join(', ')}.`,
              ...near,
            ].join(' '),
          );
  if (token === null || found === undefined) return [become];
  const refused = await verified(text.trim(), { issuer, clientId, keys: found.keys }).then(
    () => undefined,
    (error: unknown) => refusalOf(error),
  );
  if (refused === undefined) return [become, ok('token', 'signed by the provider, for this client')];
  return [become, warning('token', refused instanceof Refusal ? refused.message : String(refused))];
}
