import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { examineSignIn } from '../../../server/sign-in/examine.ts';
import type { SignInSettings } from '../../../server/sign-in/sign-in.ts';
import { CLIENT_ID, CLIENT_SECRET, startOpenidProvider } from '../../harness/openid-provider.ts';
import { runCommand } from '../../harness/process.ts';
import { useDirectory } from '../../harness/service.ts';
import { newKey, startForgingProvider } from './forging-provider.ts';
import { LUMEN, settingsAt } from './world.ts';

const publicUrl = 'http://localhost:1024';
const provider = await startOpenidProvider(publicUrl, {});
afterAll(provider.stop);
const settings = settingsAt(provider.issuer, publicUrl);

async function examine(changes: Partial<SignInSettings> = {}, claims?: string) {
  const checks = await examineSignIn({ ...settings, ...changes }, claims);
  return Object.fromEntries(checks.map(({ name, outcome, message }) => [name, `${outcome}: ${message}`]));
}

test('the sign-in check finds no problem with a provider that has registered the client', async () => {
  expect(await examine()).toEqual({
    'OpenID provider': `ok: the discovery document of ${provider.issuer} was read`,
    'redirect URI': `ok: ${publicUrl}/console/sign-in/callback is accepted; after signing out, people come back to ${publicUrl}/console/signed-out`,
    'its clock': 'ok: the same as here',
    scopes: "ok: openid profile email groups; the provider lists the claim 'groups'",
    roles: "ok: 4 values of the claim 'groups' give a role",
  });
});

test.each<[string, Partial<SignInSettings>, string, RegExp]>([
  [
    'an issuer with a trailing slash',
    { issuer: `${provider.issuer}/x/` },
    'OpenID provider',
    /^problem: .*no valid discovery/,
  ],
  ['a provider that is down', { issuer: 'http://127.0.0.1:1' }, 'OpenID provider', /^problem: .*ECONNREFUSED/],
  [
    'an address that is not allowed',
    { allowedNetworks: [] },
    'OpenID provider',
    /^problem: .*WEBHOOK_ALLOWED_NETWORKS/,
  ],
  [
    'a different URL of the service',
    { publicUrl: 'http://localhost:1025' },
    'redirect URI',
    /^problem: .*Register http:\/\/localhost:1025/,
  ],
  ['an unknown client', { clientId: 'other' }, 'redirect URI', /^problem: .*check OIDC_CLIENT_ID/],
  ['a scope that is not requested', { scopes: 'openid' }, 'scopes', /^warning: The provider has a scope 'groups'/],
  ['a scope that the provider lacks', { scopes: 'openid roles' }, 'scopes', /^warning: .*: roles\.$/],
])('the sign-in check reports %s', async (_what, changes, name, says) => {
  expect((await examine(changes))[name]).toMatch(says);
});

test('the sign-in check compares the clocks', async () => {
  const forging = await startForgingProvider(newKey('one'));
  const clock = async (seconds: number) => {
    forging.aheadSeconds = seconds;
    return (await examine({ issuer: forging.issuer }))['its clock'];
  };
  expect(await clock(-40)).toMatch(/^warning: .* differ by (?:39|40|41) s; 60 s are allowed/);
  expect(await clock(90)).toMatch(/^problem: .*tokens are refused/);
});

test('the sign-in check shows which roles a claim would give, or why it would give none', async () => {
  const become = async (claims: object | string) =>
    (await examine({}, typeof claims === 'string' ? claims : JSON.stringify(claims))).claims;
  expect(await become({ sub: 'ada', name: 'Ada', groups: ['card-ops', 'card-support'] })).toBe(
    "ok: 'Ada' becomes: support, operator.",
  );
  expect(await become({ sub: 'lin', groups: ['lumen'] })).toBe(`ok: 'lin' becomes: viewer@${LUMEN}.`);
  expect(await become({ groups: ['lumen', 'nova'] })).toMatch(/^ok: roles in 2 card programs/);
  expect(await become({ groups: ['/card-ops'] })).toMatch(/^problem: .*only in a leading slash/);
  expect(await become({ sub: 'x' })).toMatch(/^problem: The provider sent no claim 'groups'\. It sent: sub\./);
  expect(await become('nonsense')).toMatch(/^problem: The file contains neither/);
});

test('the sign-in check verifies the signature of a token', async () => {
  const key = newKey('one');
  const forging = await startForgingProvider(key);
  const token = await forging.sign({ groups: ['card-ops'] }, key);
  const checks = await examine({ issuer: forging.issuer }, `${token}\n`);
  expect(checks).toMatchObject({
    claims: "ok: 'ada' becomes: operator.",
    token: 'ok: signed by the provider, for this client',
  });
  const forged = await forging.sign({ groups: ['card-ops'] }, newKey('one'));
  expect((await examine({ issuer: forging.issuer }, forged)).token).toMatch(/^warning: .*no valid signature/);
});

const { path: directory } = await useDirectory();

test('the sign-in check is part of the command doctor', async () => {
  const claims = join(directory, 'claims.json');
  writeFileSync(claims, JSON.stringify({ sub: 'ada', groups: ['card-ops'] }));
  const { output } = await runCommand(['doctor', '--claims', claims, '--json', '--url', 'http://127.0.0.1:1024'], {
    DATA_DIR: directory,
    PORT: '0',
    PUBLIC_URL: publicUrl,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: CLIENT_ID,
    OIDC_CLIENT_SECRET: CLIENT_SECRET,
    OIDC_ROLES: 'card-ops=operator',
  });
  const { sections } = JSON.parse(output) as { sections: { checks: { name: string; message: string }[] }[] };
  const found = new Map(sections.flatMap(({ checks }) => checks.map(({ name, message }) => [name, message])));
  expect(found.get('OpenID provider')).toContain(provider.issuer);
  expect(found.get('claims')).toBe("'ada' becomes: operator.");
  expect(output).not.toContain(CLIENT_SECRET);
});
