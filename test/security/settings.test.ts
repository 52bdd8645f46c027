import { describe, expect, test } from 'vitest';
import { hasKey } from '../../console/format/card-numbers.ts';
import { readConfiguration, showConfiguration } from '../../server/foundation/configuration/configuration.ts';
import { LISTED_SETTINGS } from '../../server/foundation/configuration/settings.ts';
import { withoutSecrets } from '../../server/foundation/redaction.ts';
import { StartupProblem } from '../../server/foundation/startup-problem.ts';
import { runCommand, startInVain } from '../harness/process.ts';

/** Characters that end a URL, a quotation or a word. Each test password has one of them between two halves. */
const PASSWORDS = ['"', '<', '/', '@', ' ', '>', "'", '?', '#', '%', '\n', ':', '\\'].map(
  (mark) => `vorne${mark}hinten`,
);
const urlsWith = (password: string): readonly string[] => [
  `postgresql://service:${password}@db.bank.test/ledger`,
  `postgresql://ser/vice:${password}@db.bank.test/ledger`,
  `postgresql://${password}@db.bank.test/ledger`,
  `postgres://service:${password}@`,
  `mysql://service:${password}@db.bank.test/ledger`,
  `https://service:${password}@bank.test/help`,
  `see https://bank.test/ or redis://:${password}@db.bank.test`,
];
const OTHERS = LISTED_SETTINGS.map(({ name }) => name).filter((name) => name !== 'DATABASE_URL');

/** Fails if the text shows either half of a password, or of a user name that contains a '/'. */
function expectNothingShown(text: string): void {
  expect(text).not.toMatch(/vorne|hinten/);
}

function refusalOf(environment: Record<string, string>): string {
  try {
    readConfiguration(environment);
  } catch (error) {
    expect(error).toBeInstanceOf(StartupProblem);
    return (error as StartupProblem).message;
  }
  throw new Error(`not refused: ${JSON.stringify(environment)}`);
}

describe('a URL with a password, set under the name of a different setting', () => {
  test.each(OTHERS)('is refused by %s without repeating it', (name) => {
    for (const MODE of ['sandbox', 'live']) {
      for (const url of PASSWORDS.flatMap(urlsWith)) {
        const message = refusalOf({ MODE, SUPPORT_CONTACT: 'help@bank.test', [name]: url });
        expect(message).toMatch(new RegExp(`^${name} is `));
        expectNothingShown(message);
      }
    }
  });

  test.each(OTHERS)('is refused by %s with a password parameter or without slashes', (name) => {
    for (const url of [
      'postgresql://db.bank.test/ledger?user=service&password=vorne-hinten',
      'postgresql://db.bank.test/ledger?user=service&%70assword=vorne-hinten',
      'mysql://db.bank.test/ledger?password=vorne-hinten',
      'postgresql:service:vorne-hinten@db.bank.test',
      'DATABASE_URL=postgresql://service:vorne-hinten@db.bank.test',
    ]) {
      expectNothingShown(refusalOf({ [name]: url }));
    }
  });

  test.each([
    'MODE',
    'HOST',
    'PORT',
    'ERROR_RETENTION_DAYS',
    'EVENT_RETENTION_DAYS',
    'RATE_LIMIT_PER_KEY',
    'OVERLOAD_DELAY_MILLISECONDS',
    'KEEP_ALIVE_MILLISECONDS',
    'TRUSTED_PROXIES',
    'LOG_LEVEL',
    'LOG_FORMAT',
  ])('is not repeated by the error of %s if it lacks its scheme', (name) =>
    expectNothingShown(refusalOf({ [name]: 'service:vorne-hinten@db.bank.test' })),
  );

  test('is not shown at startup or with the settings', async () => {
    const url = 'postgresql://service:vorne"hinten<hinten@db.bank.test/ledger';
    // This path cannot be written to, so a service that wrongly accepts the URL also ends.
    const DATA_DIR = '/dev/null/ledger';
    const settings = [{ DATA_DIR: `/dev/null/${url}` }, { DATA_DIR, HOST: url }, { DATA_DIR, SUPPORT_CONTACT: url }];
    const runs = settings.flatMap((environment) => [startInVain(environment), runCommand(['config'], environment)]);
    for (const { exitCode, output, errors } of await Promise.all(runs)) {
      expect([exitCode, output]).toEqual([1, '']);
      expect(errors).toContain('not shown');
      expectNothingShown(errors);
    }
  });
});

test.each([
  'help@bank.test',
  'mailto:help@bank.test',
  'Help desk <help@bank.test>, +1 555 0100',
  'https://bank.test/help',
  'https://bank.test:8443/team/@help?from=card@bank.test',
  'https://bank.test/help or help@bank.test',
  'help@bank.test, https://bank.test/help',
])('SUPPORT_CONTACT may be %s and is shown unchanged', (contact) => {
  const configuration = readConfiguration({ MODE: 'live', SUPPORT_CONTACT: contact });
  expect(configuration.supportContact).toBe(contact);
  expect(showConfiguration(configuration)).toContain(`\nSUPPORT_CONTACT=${contact}\n`);
});

describe('DATABASE_URL', () => {
  test('is shown without its password, even if it is malformed', () => {
    for (const password of PASSWORDS) {
      const urls = urlsWith(password).filter((url) => /^postgres(ql)?:\/\/ser/.test(url));
      const broken = [`postgresql://db/ledger?user=a&password=${password}`];
      // The text after an @ could also be the host.
      if (!password.includes('@')) broken.push(`postgresql://service:${password}`);
      for (const DATABASE_URL of [...urls, ...broken]) {
        const shown = showConfiguration(readConfiguration({ DATABASE_URL }));
        expect(shown).toContain('***');
        expectNothingShown(shown);
      }
    }
  });

  test.each([
    ['postgresql://service:x@db.bank.test:5433/ledger', 'postgresql://service:***@db.bank.test:5433/ledger'],
    ['postgresql://service@[2001:db8::1]/ledger', 'postgresql://service@[2001:db8::1]/ledger'],
    ['postgresql://service@%2Frun%2Fpostgresql/ledger', 'postgresql://service@%2Frun%2Fpostgresql/ledger'],
    [
      'postgres://s:x@/ledger?host=/run&sslmode=verify-full&password=x&port=1',
      'postgres://s:***@/ledger?host=/run&sslmode=verify-full&password=***&port=1',
    ],
  ])('%s is shown as %s', (DATABASE_URL, shown) => {
    expect(showConfiguration(readConfiguration({ DATABASE_URL }))).toContain(`DATABASE_URL=${shown}\n`);
  });
});

describe('the log', () => {
  test('has no user name or password of a URL', () => {
    for (const password of PASSWORDS.filter((one) => !one.includes('\n'))) {
      for (const url of urlsWith(password)) {
        const logged = withoutSecrets(`cannot connect to ${url} just now`);
        expect(logged).toContain('[redacted]@');
        expectNothingShown(logged);
      }
    }
  });

  test.each([
    'see https://bank.test/help or write to help@bank.test',
    'http://localhost:8080/?q=a@b',
    '    at run (file:///srv/node_modules/@scope/package/index.js:1:2)',
    'help@bank.test, postgresql://db.bank.test/ledger',
  ])('has %s unchanged', (text) => expect(withoutSecrets(text)).toBe(text));

  // The text of a case or an incident can have 4,000 characters. An emoji counts as one character.
  test('cuts text by characters, not by bytes', () => {
    const [whole, longer] = ['🙂'.repeat(4_000), '🙂'.repeat(4_001)];
    expect(withoutSecrets(whole, 4_000)).toBe(whole);
    expect(withoutSecrets(longer, 4_000)).toBe(`${whole}…`);
  });

  test('redacts the same keys and secrets that the console removes from its forms', () => {
    const starts = ['', 'key: ', 'x', '9', '"', 'a=b&'];
    const prefixes = ['ts_', 'TS_', 'Ts-', 'whsec_', 'WHSEC_', 'whsec'];
    const bodies = [
      '',
      'till',
      '7f3a9',
      '7F3A9C',
      '7f3a9c',
      'Qm2Lk9Rd3Ew7Vb5',
      'Qm2Lk9Rd3Ew7Vb5X',
      'Zm9v/YmFy+YmF6=',
      'Zm9vYmF',
      'a b c d e f',
    ];
    const texts = starts.flatMap((start) => prefixes.flatMap((prefix) => bodies.map((body) => start + prefix + body)));
    const redacted = texts.filter((text) => withoutSecrets(text) !== text);
    expect(redacted.length).toBeGreaterThan(50);
    expect(texts.filter(hasKey)).toEqual(redacted);
  });

  test('redacts adversarial text in linear time', () => {
    const began = process.cpuUsage();
    for (const piece of ['a://', 'https://b/ ', 'file:///', '://@', 'a'.repeat(50)]) {
      withoutSecrets(piece.repeat(4_000), 4_000);
      withoutSecrets(`${piece.repeat(990)}@`, 4_000);
    }
    // Linear time takes milliseconds of CPU time, and quadratic time takes minutes.
    expect(process.cpuUsage(began).user).toBeLessThan(20_000_000);
  });
});

describe('OTEL_EXPORTER_OTLP_HEADERS', () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';

  test.each([
    'Bearer vorne-hinten',
    'authorization=%vorne-hinten',
    'a b=vorne-hinten',
    'a=vorne%0d%0ahinten',
    '=vorne-hinten',
  ])('is not shown if it is invalid: %s', (headers) => {
    const message = refusalOf({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: headers });
    expect(message).toMatch(/^OTEL_EXPORTER_OTLP_HEADERS must be names and percent-encoded values/);
    expectNothingShown(message);
  });

  test('is not shown with the settings', () => {
    const configuration = readConfiguration({
      OTEL_EXPORTER_OTLP_ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: ' Authorization = Bearer%20vorne-hinten , x-tenant=vorne ',
    });
    expect(configuration.tracesHeaders).toEqual({ authorization: 'Bearer vorne-hinten', 'x-tenant': 'vorne' });
    const shown = showConfiguration(configuration);
    expect(shown).toContain('OTEL_EXPORTER_OTLP_HEADERS=(set)\n');
    expectNothingShown(shown);
  });
});

test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://collector:4317'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector/?key=1'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.1'],
  ['OTEL_TRACES_SAMPLER_ARG', 'always'],
  ['OTEL_TRACES_SAMPLER_ARG', '-1'],
  ['REQUEST_LOG', 'some'],
])('%s refuses %s in a sentence that begins with its name', (name, value) => {
  expect(refusalOf({ [name]: value })).toMatch(new RegExp(`^${name} is .*must be `));
});
