import { errorCode, type SampleRequest } from '../error.ts';

const CALLBACK: SampleRequest = {
  method: 'GET',
  path: '/console/sign-in/callback?code=code&state=state',
  headers: {},
};

const LOGOUT: SampleRequest = {
  method: 'POST',
  path: '/console/back-channel-logout',
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  body: 'logout_token=token',
};

/** Errors of sign-in with an OpenID provider. A person or the provider gets them, not a program that calls operations. */
export const SIGN_IN_ERRORS = {
  sign_in_not_begun: errorCode({
    status: 400,
    problem: 'Sign-in with the OpenID provider failed',
    meaning: 'This browser has no matching sign-in in progress, so the sign-in cannot be completed.',
    causes: [
      'The sign-in began in another browser, or at another URL of the service than PUBLIC_URL.',
      'The page was reloaded or opened from the history, so its code was already used.',
      'The sign-in took longer than ten minutes, or another one began in the same browser.',
      'The browser accepts no cookies.',
    ],
    resolution: 'Sign in again, from the console, in one window.',
    alsoCalled:
      'state mismatch, login state missing, invalid_grant, code already used, code expired, authorization code replayed, ' +
      'cookies blocked, login csrf, session lost during login',
    sample: {
      reproduce: 'Open the sign-in callback directly, without beginning a sign-in first.',
      given: 'an OpenID provider',
      request: CALLBACK,
      message:
        'This browser has no sign-in in progress: the sign-in cookie is missing. The cookie lasts ten minutes and can be used once. Sign in again.',
    },
  }),
  sign_in_refused: errorCode({
    status: 403,
    problem: 'Sign-in with the OpenID provider failed',
    meaning: 'The OpenID provider refused the sign-in. The message has its error.',
    causes: [
      'The person cancelled, or may not use this service at the provider (access_denied).',
      'The id or the secret of this service at the provider is wrong (invalid_client, unauthorized_client).',
      'The provider does not know the redirect URI, or a scope in OIDC_SCOPES (invalid_request, invalid_scope).',
    ],
    resolution:
      'Ask the administrator of the OpenID provider for access. Operators compare the settings with the client at the provider: "transfer-service doctor".',
    support: {
      tell: "Your organization's identity provider refused the sign-in.",
      next: 'Ask the administrator of the provider whether the person may use this service.',
    },
    alsoCalled:
      'invalid_client, unauthorized_client, invalid_scope, consent required, login_required, interaction_required, ' +
      'wrong client secret, redirect_uri mismatch',
    sample: {
      reproduce: 'Begin a sign-in for an application that has no consent at the OpenID provider.',
      given: 'an OpenID provider',
      request: { ...CALLBACK, path: '/console/sign-in/callback?error=consent_required&state=state' },
      message: "The OpenID provider refused the sign-in: 'consent_required'.",
    },
  }),
  identity_refused: errorCode({
    status: 403,
    problem: 'Sign-in with the OpenID provider failed',
    meaning: "The OpenID provider's identity token is not valid for this sign-in.",
    causes: [
      'It is for another client (aud) or from another issuer (iss): OIDC_CLIENT_ID or OIDC_ISSUER is wrong.',
      'It has expired or is from the future: the clocks differ by more than 60 seconds.',
      'It belongs to another sign-in (nonce), or does not say that the person has just authenticated (auth_time).',
      'It is not signed with a key of the provider. If this happens again, it may be an attack.',
    ],
    resolution:
      'Sign in again. If it happens again, operators check OIDC_CLIENT_ID, OIDC_ISSUER and the clocks: "transfer-service doctor".',
    support: {
      tell: 'The sign-in could not be verified. Please try again.',
      next: 'Escalate to the operators if it happens again: they compare the settings with the provider.',
    },
    alsoCalled:
      'invalid id token, id_token, wrong audience, wrong issuer, nonce mismatch, identity token expired, clock skew, wrong signing key, alg ' +
      'none, unknown kid, jwt invalid, auth_time missing',
    sample: {
      reproduce: 'Complete a sign-in at a provider that signs the identity token with a key that it does not publish.',
      given: 'an OpenID provider',
      request: CALLBACK,
      message: "The provider's identity token is signed with a key that the provider does not have.",
    },
  }),
  no_role: errorCode({
    status: 403,
    problem: 'Sign-in with the OpenID provider failed',
    meaning: 'The person is known to the OpenID provider, but has no role in this service.',
    causes: [
      'OIDC_ROLES assigns no role to any value of the claim. The message lists the values.',
      'A value differs in its case, or in a leading slash as Keycloak sends it. Values are compared exactly.',
      'The provider does not send the claim: its client needs a mapper, or OIDC_SCOPES needs a scope such as groups.',
    ],
    resolution:
      'Ask an administrator to add you to a group with a role. Operators compare OIDC_ROLES and OIDC_ROLE_CLAIM with the values in the message.',
    support: {
      tell: "Your organization's identity provider knows you, but you have no role in this service yet.",
      next: 'Ask an administrator to add the person to a group with a role.',
    },
    alsoCalled:
      'no access, not authorized, role mapping, group mapping, groups claim missing, missing groups, user has no roles, group ' +
      'not found, claim missing, keycloak groups, entra groups overage',
    sample: {
      reproduce: 'Sign in as a person who is in no group of OIDC_ROLES.',
      given: 'an OpenID provider',
      request: CALLBACK,
      message:
        "OIDC_ROLES assigns no role to these values of the claim 'groups': 'everyone'. OIDC_ROLE_CLAIM names the claim.",
    },
  }),
  provider_unavailable: errorCode({
    status: 503,
    type: 'Server Error',
    problem: 'Sign-in with the OpenID provider failed',
    meaning: 'The OpenID provider cannot be reached, or does not send usable answers, so no one can sign in with it.',
    causes: [
      'The provider is down, or this host cannot reach it.',
      'OIDC_ISSUER differs from the issuer that the provider names, for example in a trailing slash.',
      'Its address is private and not in WEBHOOK_ALLOWED_NETWORKS, or its certificate is not trusted (WEBHOOK_CA).',
    ],
    resolution:
      'Sign in again later. Sessions and API keys still work. Operators find the cause with "transfer-service doctor".',
    support: {
      tell: 'Signing in does not work at the moment. API keys and open sessions still work.',
      next: 'Escalate to the operators: they find the cause with "transfer-service doctor".',
    },
    headers: [{ name: 'Retry-After', value: '1', description: 'Seconds to wait before the next try.' }],
    alsoCalled:
      'identity provider down, idp down, discovery failed, issuer mismatch, trailing slash, openid-configuration, jwks unreachable, ' +
      'sso down, single sign-on down',
    sample: {
      reproduce: 'Stop the OpenID provider, then open /console/sign-in.',
      given: 'an OpenID provider',
      request: { method: 'GET', path: '/console/sign-in', headers: {} },
      message: 'The OpenID provider at 127.0.0.1 cannot be reached. No connection could be established: ECONNREFUSED.',
    },
  }),
  logout_token_refused: errorCode({
    status: 400,
    problem: 'Sign-in with the OpenID provider failed',
    meaning: 'The OpenID provider asked to end sessions with a logout token that is not valid, so no session ended.',
    causes: [
      'The token is for another client, from another issuer, older than five minutes, or was used before.',
      'The token is not a logout token: it has a nonce, or no logout event.',
      'The token is not signed with a key of the provider.',
    ],
    resolution:
      'Compare the client at the OpenID provider with OIDC_CLIENT_ID and OIDC_ISSUER. To end sessions now, block the person or revoke the sessions.',
    support: {
      tell: 'Signing out at the identity provider did not end the sessions here.',
      next: 'Ask an operator to end the sessions, and to compare the settings with the provider.',
    },
    alsoCalled: 'back-channel logout, backchannel logout failed, logout_token, single logout, slo',
    sample: {
      reproduce: 'Send a logout token that the provider has not signed.',
      given: 'an OpenID provider',
      request: LOGOUT,
      message: "The provider's logout token has no valid signature.",
    },
  }),
};
