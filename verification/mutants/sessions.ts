import type { Mutant, Witness } from './mutant.ts';

const CSRF: Witness = { file: 'test/security/csrf.test.ts' };
const LIVES: Witness = { file: 'test/security/sessions.test.ts' };
const ROLES: Witness = { file: 'test/security/roles.test.ts' };

/** Mistakes about the console's sessions, and about granting scopes. */
export const SESSIONS: readonly Mutant[] = [
  {
    name: 'csrf-header-not-asked-for',
    mistake: 'the cookie counts for any request of the browser, such as a form',
    find: "if (purpose !== '1' && purpose !== 'background') {",
    replace: "if (purpose === 'never') {",
    witnesses: [CSRF],
  },
  {
    name: 'fetch-site-not-compared',
    mistake: 'the cookie counts for pages of any site, if the browser sends Sec-Fetch-Site',
    find: "if (fetchSite !== undefined) return fetchSite.toLowerCase() === 'same-origin';",
    replace: 'if (fetchSite !== undefined) return true;',
    witnesses: [CSRF],
  },
  {
    name: 'same-site-is-enough',
    mistake: 'a page of a subdomain or another port counts as a page of the service',
    find: "return fetchSite.toLowerCase() === 'same-origin';",
    replace: "return fetchSite.toLowerCase().startsWith('same-');",
    witnesses: [CSRF],
  },
  {
    name: 'origin-not-compared',
    mistake: 'in browsers without Sec-Fetch-Site, pages of any origin count',
    find: 'return origin?.toLowerCase() === transport.origin;',
    replace: 'return origin !== undefined || transport.origin === undefined;',
    witnesses: [CSRF],
  },
  {
    name: 'session-over-clear-text',
    mistake: 'a session begins through any proxy that claims to use TLS',
    find: 'if (!isForwardedAsHttps(context, trustedProxies)) return undefined;',
    replace: 'if (!isForwardedAsHttps(context, Math.max(1, trustedProxies))) return undefined;',
    witnesses: [CSRF],
  },
  {
    name: 'forwarded-scheme-of-the-caller',
    mistake: "the caller's claim about its connection counts, not the trusted proxy's",
    find: "return schemes.at(-Math.min(schemes.length, trustedProxies)) === 'https';",
    replace: "return schemes.slice(-Math.max(schemes.length, trustedProxies)).at(0) === 'https';",
    witnesses: [CSRF],
  },
  {
    name: 'cookie-beside-a-key',
    mistake: 'a request with a session and a key counts as a request of the session',
    find: 'if (head.authorization !== undefined) {',
    replace: "if (head.authorization === 'never') {",
    witnesses: [CSRF],
  },
  {
    name: 'cookie-removed-for-other-pages',
    mistake: 'a page of another site can sign a user out',
    find: "    reportRefusal(reporter, context, '', error);\n    throw error;\n  }\n  if (session === undefined)",
    replace:
      "    context.setCookie = sessionCookie(context, trustedProxies, null);\n    reportRefusal(reporter, context, '', error);\n    throw error;\n  }\n  if (session === undefined)",
    witnesses: [CSRF],
  },
  {
    name: 'session-outlives-its-key',
    mistake: 'a session continues after its key was revoked',
    find: 'if (session.revokedAt !== null)',
    replace: 'if (session.revokedAt !== null && session.left <= 0)',
    witnesses: [LIVES],
  },
  {
    name: 'session-outlives-a-roll',
    mistake: 'a session of the old key continues after the key was rolled',
    find: 'if (session.replacedBy !== null)',
    replace: 'if (session.replacedBy !== null && session.left <= 0)',
    witnesses: [LIVES],
  },
  {
    name: 'session-outlives-the-expiry-of-its-key',
    mistake: 'a session continues after its key has expired',
    find: 'if (session.keyLeft !== null && session.keyLeft <= 0)',
    replace: 'if (session.keyLeft !== null && session.left <= 0)',
    witnesses: [LIVES],
  },
  {
    name: 'idle-end-not-enforced',
    mistake: 'an idle session never ends',
    find: 'if (session.idleLeft <= 0)',
    replace: 'if (session.idleLeft <= -1e12)',
    witnesses: [LIVES],
  },
  {
    name: 'session-without-an-end',
    mistake: 'a session never ends while it is used',
    find: 'if (session.left <= 0) throw',
    replace: 'if (session.left <= -1e12) throw',
    witnesses: [LIVES],
  },
  {
    name: 'polls-keep-a-session-alive',
    mistake: 'polls of an open page keep its session alive',
    find: "isActive: purpose === '1' && !context.begun",
    replace: 'isActive: !context.begun',
    witnesses: [LIVES],
  },
  {
    name: 'session-of-a-revoked-key-begins',
    mistake: 'a session begins with a key that was revoked a moment ago',
    find: 'key.revokedAt !== null || row.expired === true',
    replace: 'row.expired === true',
    witnesses: [LIVES],
  },
  {
    name: 'keys-write-is-everything',
    mistake: 'a key creates keys with more scopes than it has',
    find: "  refuseFurtherScopes(call.caller, scopes, 'create');\n",
    replace: '',
    witnesses: [ROLES],
  },
  {
    name: 'rolled-into-an-administrator',
    mistake: 'a key rolls a key with more scopes and so gets its secret',
    find: "      refuseFurtherScopes(call.caller, old.scopes, 'roll');\n",
    replace: '',
    witnesses: [ROLES],
  },
];
