import type { Mutants, Witness } from './mutant.ts';

const CSRF: Witness = { file: 'test/security/csrf.test.ts' };
const LIVES: Witness = { file: 'test/security/sessions.test.ts' };
const ROLES: Witness = { file: 'test/security/roles.test.ts' };

/** Mistakes about the console's sessions, and about granting scopes. */
export const SESSIONS: Mutants = {
  'csrf-header-not-asked-for': {
    mistake: 'the cookie counts for any request of the browser, such as a form',
    edits: { readSessionCookie: ["purpose !== '1' && purpose !== 'background'", "purpose === 'never'"] },
    witnesses: [CSRF],
  },
  'fetch-site-not-compared': {
    mistake: 'the cookie counts for pages of any site, if the browser sends Sec-Fetch-Site',
    edits: { isFromOwnPage: ["fetchSite.toLowerCase() === 'same-origin'", 'true'] },
    witnesses: [CSRF],
  },
  'same-site-is-enough': {
    mistake: 'a page of a subdomain or of a different port counts as a page of the service',
    edits: { isFromOwnPage: [" === 'same-origin'", ".startsWith('same-')"] },
    witnesses: [CSRF],
  },
  'origin-not-compared': {
    mistake: 'in browsers without Sec-Fetch-Site, pages of any origin count',
    edits: {
      isFromOwnPage: ['?.toLowerCase() === transport.origin', ' !== undefined || transport.origin === undefined'],
    },
    witnesses: [CSRF],
  },
  'session-over-clear-text': {
    mistake: 'a session begins through any proxy that claims to use TLS',
    edits: { transportOf: ['context, trustedProxies', 'context, Math.max(1, trustedProxies)'] },
    witnesses: [CSRF],
  },
  'forwarded-scheme-of-the-caller': {
    mistake: "the caller's claim about its connection counts, not the trusted proxy's",
    edits: {
      isForwardedAsHttps: [
        'at(-Math.min(schemes.length, trustedProxies))',
        'slice(-Math.max(schemes.length, trustedProxies)).at(0)',
      ],
    },
    witnesses: [CSRF],
  },
  'cookie-beside-a-key': {
    mistake: 'a request with a session and a key counts as a request of the session',
    edits: { readSessionCookie: ['head.authorization !== undefined', "head.authorization === 'never'"] },
    witnesses: [CSRF],
  },
  'cookie-removed-for-other-pages': {
    mistake: 'a page of a different site can sign a user out',
    edits: {
      identifyBySession: [
        "reportRefusal(reporter, context, '', error);\n    throw",
        'context.setCookie = sessionCookie(context, trustedProxies, null);\n    $&',
      ],
    },
    witnesses: [CSRF],
  },
  'session-outlives-its-key': {
    mistake: 'a session continues after its key was revoked',
    edits: { toCaller: ['session.revokedAt !== null', '$& && session.left <= 0'] },
    witnesses: [LIVES],
  },
  'session-outlives-a-roll': {
    mistake: 'a session of the old key continues after the key was rolled',
    edits: { toCaller: ['session.replacedBy !== null', '$& && session.left <= 0'] },
    witnesses: [LIVES],
  },
  'session-outlives-the-expiry-of-its-key': {
    mistake: 'a session continues after its key has expired',
    edits: { toCaller: ['session.keyLeft <= 0', 'session.left <= 0'] },
    witnesses: [LIVES],
  },
  'idle-end-not-enforced': {
    mistake: 'an idle session never ends',
    edits: { toCaller: ['session.idleLeft <= 0', 'session.idleLeft <= -1e12'] },
    witnesses: [LIVES],
  },
  'session-without-an-end': {
    mistake: 'a session never ends while it is used',
    edits: { toCaller: ['session.left <= 0', 'session.left <= -1e12'] },
    witnesses: [LIVES],
  },
  'polls-keep-a-session-alive': {
    mistake: 'polls of an open page keep its session alive',
    edits: { readSessionCookie: ["purpose === '1' && !context.begun", '!context.begun'] },
    witnesses: [LIVES],
  },
  'session-of-a-revoked-key-begins': {
    mistake: 'a session begins with a key that was revoked a moment ago',
    edits: { createSession: ['key.revokedAt !== null || row.expired', 'row.expired'] },
    witnesses: [LIVES],
  },
  'keys-write-is-everything': {
    mistake: 'a key creates keys with more scopes than it has',
    edits: { readScopes: ["refuseFurtherScopes(call.caller, scopes, 'create');", ''] },
    witnesses: [ROLES],
  },
  'rolled-into-an-administrator': {
    mistake: 'a key rolls a key with more scopes and so gets its secret',
    edits: { rollKey: ["refuseFurtherScopes(call.caller, old.scopes, 'roll');", ''] },
    witnesses: [ROLES],
  },
};
