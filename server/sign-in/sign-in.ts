import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import { FRESH_SECONDS } from '../../contract/operation.ts';
import { scopesOf } from '../../contract/scope.ts';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import {
  type Access,
  type Claims,
  decideAccess,
  nearMissText,
  type RoleRule,
  valuesOfClaim,
} from '../../domain/people/access.ts';
import { Refusal } from '../../domain/refusal.ts';
import {
  LOGIN_SECONDS,
  type LoginState,
  type LoginWish,
  type NewDeadline,
  type PersonSessions,
  type SignIn,
  type SignInOutcome,
} from '../calls/sign-in.ts';
import { type FoundProvider, openProvider, type ProviderSettings } from './provider.ts';
import { notBegun, quote, refusalOf, refuseSignIn } from './refusals.ts';
import { openLogoutTokens, verified } from './tokens.ts';

// Invariant: A sign-in is completed only in the browser that began it, once, and within ten minutes
// Kept by: `checkLogin` (the cookie and `state`), PKCE and `nonce`; the provider accepts a code once
// Tested by: `test/security/sign-in/sign-in.test.ts`

export const CALLBACK_PATH = '/console/sign-in/callback';
export const SIGNED_OUT_PATH = '/console/signed-out';

const MAX_NAME_CHARACTERS = 200;

export type SignInSettings = ProviderSettings & {
  /** The name that people know the provider by. Null for its host. */
  readonly name: string | null;
  readonly scopes: string;
  readonly roleClaim: string;
  readonly roles: readonly RoleRule[];
  /** The origin that people use. The redirect URI is derived from it, never from the Host of a request. */
  readonly publicUrl: string;
};

/** Called with a sentence for the log, and with facts. */
export type OnNotice = (sentence: string, facts: Readonly<Record<string, unknown>>) => void;

export type RunningSignIn = SignIn & { readonly close: () => void };

export function openSignIn(settings: SignInSettings, people: PersonSessions, onNotice: OnNotice): RunningSignIn {
  const { issuer, clientId, publicUrl } = settings;
  const provider = openProvider(settings);
  const readLogoutToken = openLogoutTokens(issuer);
  const noted = async <Result>(what: string, work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (thrown) {
      const error = refusalOf(thrown);
      if (error instanceof Refusal) {
        onNotice(error.message, { what, code: error.code, reason: error.details.saw?.refused_because });
      }
      throw error;
    }
  };

  const finish = async (
    parameters: URLSearchParams,
    sent: LoginState | undefined,
    newDeadline: NewDeadline,
  ): Promise<SignInOutcome> => {
    const login = checkLogin(parameters, sent);
    const found = await provider.find();
    const { claims, providerSession } = await readIdentity(settings, found, parameters, login);
    const outcome = decide(settings, claims, login, onNotice);
    if (outcome.kind === 'choice') {
      const named = outcome.programIds.map(async (programId) => ({
        programId: toWireId('prog', programId),
        name: await people.programName(programId).catch(() => null),
      }));
      return { kind: 'choice', programs: await Promise.all(named) };
    }
    const { token } = await people.signInPerson(newDeadline(), {
      issuer,
      subject: claims.sub,
      ...describe(claims),
      roles: outcome.access,
      programId: outcome.kind === 'one_program' ? outcome.programId : null,
      scopes: scopesOf(outcome.access),
      signedInAt: authenticatedAt(claims),
      providerSession,
    });
    return { kind: 'signed_in', token };
  };

  return {
    provider: settings.name ?? new URL(issuer).host,
    begin: (wish) => noted('begin', () => begin(settings, provider.find, wish)),
    finish: (parameters, login, newDeadline) => noted('finish', () => finish(parameters, login, newDeadline)),
    signOutUrl: async () => {
      // Even if the provider is down, people must be able to sign out here.
      const found = await provider.find().catch(() => undefined);
      if (found?.configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
      const back = { post_logout_redirect_uri: `${publicUrl}${SIGNED_OUT_PATH}` };
      return buildEndSessionUrl(found.configuration, back).href;
    },
    logOut: (token, newDeadline) =>
      noted('logout', async () => {
        const { keys } = await provider.find();
        const ended = await readLogoutToken(token, { clientId, keys });
        return people.endProviderSessions(newDeadline(), ended);
      }),
    close: provider.close,
  };
}

async function begin(
  { scopes, publicUrl }: SignInSettings,
  find: () => Promise<FoundProvider>,
  wish: LoginWish,
): Promise<{ readonly url: string; readonly login: LoginState }> {
  const { configuration } = await find();
  const login: LoginState = {
    ...wish,
    state: randomState(),
    nonce: randomNonce(),
    codeVerifier: randomPKCECodeVerifier(),
    begunAt: Date.now(),
  };
  const url = buildAuthorizationUrl(configuration, {
    redirect_uri: `${publicUrl}${CALLBACK_PATH}`,
    scope: scopes,
    state: login.state,
    nonce: login.nonce,
    code_challenge: await calculatePKCECodeChallenge(login.codeVerifier),
    code_challenge_method: 'S256',
    ...(wish.isFresh && { prompt: 'login', max_age: String(FRESH_SECONDS) }),
  });
  return { url: url.href, login };
}

/** Checks that this browser began the sign-in of a callback. */
function checkLogin(parameters: URLSearchParams, login: LoginState | undefined): LoginState {
  if (login === undefined) {
    const message =
      'This browser has no sign-in in progress: the sign-in cookie is missing. The cookie lasts ten minutes and can be used once.';
    throw notBegun(message, 'no login state');
  }
  if (parameters.getAll('state').join() !== login.state) {
    throw notBegun('This browser did not begin this sign-in, or has begun another one since.', 'other login state');
  }
  const age = Date.now() - login.begunAt;
  if (!(age >= 0 && age < LOGIN_SECONDS * 1000))
    throw notBegun('The sign-in took longer than ten minutes.', 'old login state');
  return login;
}

type Identity = Claims & { readonly sub: string };

/** Exchanges the code. Returns the claims of the person and the provider's id for the session. */
async function readIdentity(
  { issuer, clientId, roleClaim, publicUrl }: SignInSettings,
  { configuration, keys }: FoundProvider,
  parameters: URLSearchParams,
  login: LoginState,
): Promise<{ readonly claims: Identity; readonly providerSession: string | null }> {
  const callback = new URL(`${publicUrl}${CALLBACK_PATH}?${parameters}`);
  const tokens = await authorizationCodeGrant(configuration, callback, {
    expectedState: login.state,
    expectedNonce: login.nonce,
    pkceCodeVerifier: login.codeVerifier,
    ...(login.isFresh && { maxAge: FRESH_SECONDS }),
  });
  // The client has checked the claims, but not the signature.
  const claims = (await verified(tokens.id_token ?? '', { issuer, clientId, keys })) as Identity;
  const providerSession = typeof claims.sid === 'string' ? claims.sid : null;
  const isComplete = valuesOfClaim(claims, roleClaim).problem === null && claims.name !== undefined;
  if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return { claims, providerSession };
  const more = await fetchUserInfo(configuration, tokens.access_token, claims.sub).catch((error: unknown) => {
    // Entra ID has this endpoint on a different host, but sends all claims in the token.
    if (valuesOfClaim(claims, roleClaim).problem === null) return {};
    throw error;
  });
  return { claims: { ...more, ...claims }, providerSession };
}

type Decided =
  | { readonly kind: 'all_programs'; readonly access: readonly Access[] }
  | { readonly kind: 'one_program'; readonly access: readonly Access[]; readonly programId: string }
  | { readonly kind: 'choice'; readonly programIds: readonly string[] };

/**
 * Returns the permissions that the claims give. Refuses a person without a role, with a message that says which values were found.
 */
function decide(
  { roleClaim, roles }: SignInSettings,
  claims: Identity,
  { program }: LoginState,
  onNotice: OnNotice,
): Decided {
  const { values, problem } = valuesOfClaim(claims, roleClaim);
  const decision = decideAccess(values, roles, program === null ? null : (fromWireId('prog', program) ?? null));
  const near = decision.nearMisses.map(nearMissText);
  for (const sentence of near) onNotice(sentence, { claim: roleClaim, subject: claims.sub });
  if (decision.kind !== 'none') return decision;
  throw refuseSignIn('no_role', noRoleMessage(roleClaim, values, problem, near, Object.keys(claims)), 'no role');
}

const MAX_SHOWN_VALUES = 20;

/** Explains why a person has no role: which claim was checked, and which values it has. */
export function noRoleMessage(
  claim: string,
  values: readonly string[],
  problem: ReturnType<typeof valuesOfClaim>['problem'],
  near: readonly string[],
  claimNames: readonly string[],
): string {
  const shown = values.slice(0, MAX_SHOWN_VALUES).map(quote).join(', ');
  const rest = values.length > MAX_SHOWN_VALUES ? `, and ${values.length - MAX_SHOWN_VALUES} more` : '';
  const found =
    values.length > 0
      ? `OIDC_ROLES assigns no role to these values of the claim '${claim}': ${shown}${rest}.`
      : {
          missing: `The provider sent no claim '${claim}'. It sent: ${claimNames.slice(0, 40).join(', ')}.`,
          unverified: `The provider does not say that the address in the claim '${claim}' is verified, so it gives no role.`,
          not_text: `The claim '${claim}' is neither a string nor a list of strings.`,
          left_out: `The provider left out the claim '${claim}', because the person is in too many groups. Let it send only the groups of this service.`,
        }[problem ?? 'missing'];
  const none = values.length === 0 && problem === null ? `The claim '${claim}' is empty.` : found;
  return [none, ...near, 'OIDC_ROLE_CLAIM names the claim.'].join(' ');
}

function describe(claims: Identity): { readonly name: string; readonly email: string | null } {
  // A claim that contains only invisible characters names no one.
  const names = [claims.name, claims.preferred_username, claims.email].map((claim) =>
    typeof claim === 'string' ? plain(claim) : '',
  );
  const name = names.find((one) => one !== '') ?? claims.sub;
  return { name, email: typeof claims.email === 'string' ? plain(claims.email) : null };
}

function plain(text: string): string {
  return text
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_NAME_CHARACTERS);
}

/** Returns when the person authenticated. Without `auth_time`, the authentication counts as old, because it may be. */
function authenticatedAt({ auth_time: seconds }: Identity): Date {
  return new Date(typeof seconds === 'number' ? Math.min(seconds * 1000, Date.now()) : 0);
}
