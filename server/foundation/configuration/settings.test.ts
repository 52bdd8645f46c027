import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfiguration, showConfiguration } from './configuration.ts';
import { LISTED_SETTINGS, liveBuffersMegabytes } from './settings.ts';

const linesOf = (environment: Readonly<Record<string, string>>) =>
  showConfiguration(readConfiguration(environment)).split('\n');

test('shows every setting once, in the order of the table', () => {
  const names = LISTED_SETTINGS.map(({ name }) => name);
  expect(linesOf({}).map((line) => line.split('=', 1)[0])).toEqual(names);
  expect(new Set(names).size).toBe(names.length);
});

test('accepts each setting in the form in which it is shown, unless it is a secret', () => {
  const set = {
    MODE: 'live',
    SUPPORT_CONTACT: 'help@bank.test',
    HOST: '0.0.0.0',
    PORT: '0',
    DATABASE_SCHEMA: 'ledger',
    BACKUP_DIR: '/backups',
    RATE_LIMIT_PER_KEY: '7',
    OVERLOAD_DELAY_MILLISECONDS: '0',
    PUBLIC_URL: 'https://transfers.example.com',
    WEBHOOK_ALLOWED_NETWORKS: '10.1.0.0/16,192.168.7.9',
    OIDC_ROLE_CLAIM: 'realm_access.roles',
    METRICS_PORT: '9464',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    OTEL_TRACES_SAMPLER_ARG: '0.5',
  };
  const lines = linesOf(set);
  expect(lines).toEqual(expect.arrayContaining(Object.entries(set).map(([name, value]) => `${name}=${value}`)));
  const secrets = ['DATABASE_URL', 'WEBHOOK_KEY'];
  const shown = lines.map((line) => line.split(/=(.*)/s)).filter(([name = '']) => !secrets.includes(name));
  expect(linesOf(Object.fromEntries(shown))).toEqual(lines);
});

test('has every setting that ops/ uses', () => {
  const root = resolve(import.meta.dirname, '../../..');
  const known = new Set(LISTED_SETTINGS.map(({ name }) => name));
  const text = globSync('ops/{container,systemd}/*', { cwd: root })
    .map((file) => readFileSync(resolve(root, file), 'utf8'))
    .join('\n');
  const names = (text.match(/(?<=^ENV .*|^#?Environment=|^ {6})\b[A-Z][A-Z_]+(?==|: )/gm) ?? []).filter(
    (name) => !name.startsWith('POSTGRES_'),
  );
  expect(names).toEqual(expect.arrayContaining(['HOST', 'TRUSTED_PROXIES', 'DATABASE_URL_FILE']));
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test('has default retentions, and keeps counts of errors as long as errors', () => {
  const defaults = { attemptRetentionDays: 14, refusedKeyRetentionDays: 30, errorCountRetentionDays: 90 };
  expect(readConfiguration({})).toMatchObject(defaults);
  expect(readConfiguration({ ERROR_RETENTION_DAYS: '7' })).toMatchObject({ errorCountRetentionDays: 7 });
  const own = { ERROR_RETENTION_DAYS: '7', ERROR_COUNT_RETENTION_DAYS: '700' };
  expect(readConfiguration(own)).toMatchObject({ errorRetentionDays: 7, errorCountRetentionDays: 700 });
});

test.each([
  ['REFUSED_KEY_RETENTION_DAYS', '29', '30 to 3650'],
  ['EVENT_RETENTION_DAYS', '30', '31 to 3650'],
  ['WEBHOOK_ATTEMPT_RETENTION_DAYS', '0', '1 to 3650'],
  ['ERROR_COUNT_RETENTION_DAYS', 'all', '1 to 3650'],
])('refuses %s=%s', (name, value, allowed) => {
  expect(() => readConfiguration({ [name]: value })).toThrow(new RegExp(`^${name} is '${value}'.*${allowed}`));
});

test('accepts a required standby only for a database that may have one', () => {
  const required = { DATABASE_STANDBY: 'required' };
  const DATABASE_URL = 'postgresql://service@db.bank.test/ledger';
  expect(() => readConfiguration(required)).toThrow(/^DATABASE_STANDBY is 'required', but DATABASE_URL is not set/);
  expect(() => readConfiguration({ DATABASE_URL, DATABASE_STANDBY: '1' })).toThrow(
    /must be one of: optional, required\.$/,
  );
  expect(readConfiguration({ ...required, DATABASE_URL })).toMatchObject({ databaseStandby: 'required' });
  expect(readConfiguration({})).toMatchObject({ databaseStandby: 'optional' });
});

describe('sign-in with an OpenID provider', () => {
  const complete = {
    OIDC_ISSUER: 'https://login.bank.test/',
    OIDC_CLIENT_ID: 'cards',
    OIDC_CLIENT_SECRET: 'confidential',
    OIDC_ROLES: 'card-support=support, lumen=viewer@prog_0196f5c2d9a37d11b6e4f2a90c8d5e72',
    PUBLIC_URL: 'https://cards.bank.test',
  };

  test('keeps the issuer as it is written, and hides the secret', () => {
    const lines = linesOf(complete);
    const secret = { OIDC_CLIENT_SECRET: '(set)', OIDC_SCOPES: 'openid profile email', OIDC_ROLE_CLAIM: 'groups' };
    const shown = Object.entries({ ...complete, ...secret }).map(([name, value]) => `${name}=${value}`);
    expect(lines).toEqual(expect.arrayContaining(shown));
    expect(lines.join()).not.toContain('confidential');
  });

  test('can assign roles by email address', () => {
    const { oidcRoles } = readConfiguration({
      ...complete,
      OIDC_ROLES: 'ada@bank.test=operator, lin@bank.test=viewer',
    });
    expect(oidcRoles?.map(({ value }) => value)).toEqual(['ada@bank.test', 'lin@bank.test']);
  });

  test('requires the other sign-in settings if the issuer is set, and allows none without it', () => {
    const { OIDC_ISSUER, ...others } = complete;
    expect(() => readConfiguration({ OIDC_ISSUER })).toThrow(
      'OIDC_ISSUER is set, so these settings must be set too: OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_ROLES, PUBLIC_URL.',
    );
    expect(() => readConfiguration({ ...complete, PUBLIC_URL: '' })).toThrow(/must be set too: PUBLIC_URL\.$/);
    expect(() => readConfiguration(others)).toThrow(
      /^OIDC_ISSUER is not set, but these settings are: OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_ROLES\./,
    );
    expect(() => readConfiguration({ OIDC_NAME: 'Acme SSO' })).toThrow(/but these settings are: OIDC_NAME\./);
    expect(readConfiguration({ ...complete, OIDC_NAME: ' Élan SSO ' })).toMatchObject({ oidcName: 'Élan SSO' });
  });

  test.each([
    ['OIDC_ISSUER', 'http://login.bank.test', /must begin with https:/],
    ['OIDC_ISSUER', 'https://login.bank.test/.well-known/openid-configuration', /the URL before \/\.well-known\//],
    ['OIDC_ISSUER', 'https://login.bank.test?tenant=1', /exactly as its discovery document spells it/],
    ['OIDC_NAME', 'A'.repeat(41), /^OIDC_NAME is 'A+', but it has 41 characters, and the maximum is 40\.$/],
    ['OIDC_NAME', 'Acme\u202eSSO', /it contains an invisible character/],
    ['OIDC_SCOPES', 'profile email', /among them openid/],
    ['OIDC_ROLES', 'ops=boss', /the role 'boss' of 'ops' is none of: viewer, support/],
    ['PUBLIC_URL', 'http://cards.bank.test', /needs HTTPS/],
  ])('refuses %s=%s', (name, value, message) => {
    expect(() => readConfiguration({ ...complete, [name]: value })).toThrow(message);
  });
});

const GIGABYTE = 1024 ** 3;

test.each([
  [0.5 * GIGABYTE, 256],
  [6 * GIGABYTE, 1536],
  [256 * GIGABYTE, 4096],
])('with %d bytes of memory, gives a live ledger %d MB of buffers, and a sandbox 256 MB', (memory, megabytes) => {
  expect(liveBuffersMegabytes(memory)).toBe(megabytes);
  expect(readConfiguration({}).sharedBuffers).toBe(256);
});
