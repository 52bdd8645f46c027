import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthority } from '../../../test/outbound/certificates.ts';
import { StartupProblem } from '../startup-problem.ts';
import { readConfiguration, showConfiguration } from './configuration.ts';
import { admits } from './connectors.ts';

const secretOf = (bytes: number): string => `whsec_${randomBytes(bytes).toString('base64')}`;
const SECRET = secretOf(24);
const OLD_SECRET = secretOf(64);
const LIVE = { MODE: 'live', SUPPORT_CONTACT: 'help@bank.test' };
const VARIABLES = {
  INCREASE_SECRET: SECRET,
  OLD_SECRET,
  SHORT: secretOf(23),
  LONG: secretOf(65),
  PLAIN: 'in plain words',
};

let directory: string;
let file: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'connectors-'));
  file = join(directory, 'connectors.json');
});
afterAll(() => rmSync(directory, { recursive: true }));

const MINIMAL = { connector_id: 'increase', url: 'https://adapter.test/v1/', secret_variable: 'INCREASE_SECRET' };

function readText(text: string, environment: Readonly<Record<string, string>> = {}) {
  writeFileSync(file, text);
  return readConfiguration({ ...VARIABLES, CONNECTORS: file, ...environment });
}

const read = (connectors: unknown, environment = {}) => readText(JSON.stringify({ connectors }), environment);

/**
 * Returns the reason why a file is refused. Checks that the message begins with the setting and the file, and contains no secret.
 */
function refusalOf(start: () => unknown): string {
  try {
    start();
  } catch (error) {
    expect(error).toBeInstanceOf(StartupProblem);
    const { message } = error as StartupProblem;
    expect(message).toMatch(`CONNECTORS is '${file}', but `);
    for (const secret of Object.values(VARIABLES)) expect(message).not.toContain(secret);
    return message.slice(`CONNECTORS is '${file}', but `.length);
  }
  throw new Error('not refused');
}

test('has no connectors without the setting', () => {
  expect(readConfiguration({}).connectors).toBeNull();
  expect(showConfiguration(readConfiguration({}))).toContain('\nCONNECTORS=\n');
});

describe('ca_file', () => {
  test('is read when the service starts', () => {
    const authority = createAuthority();
    const path = join(directory, 'authority.pem');
    writeFileSync(path, authority.ca);
    authority.remove();
    const [connector] = read([{ ...MINIMAL, ca_file: path }]).connectors?.connectors ?? [];
    expect(connector?.ca?.trim()).toBe(authority.ca.trim());
  });

  test.each([
    [7, ''],
    ['', ''],
    ['/nonexistent/authority.pem', ', but that file cannot be read: ENOENT'],
    [import.meta.filename, ', but that file does not contain valid certificates in PEM format'],
  ])('with the value %j is refused', (path, why) => {
    const rule = "in that file the connector 'increase' has an invalid 'ca_file': it must be the path of a file of";
    expect(refusalOf(() => read([{ ...MINIMAL, ca_file: path }]))).toContain(
      `${rule} certificates in PEM format${why}`,
    );
  });
});

test('gives a connector cautious defaults, and shows the setting without secrets', () => {
  const configuration = read([MINIMAL]);
  expect(configuration.connectors).toEqual({
    path: file,
    connectors: [
      {
        connectorId: 'increase',
        mode: 'sandbox',
        url: 'https://adapter.test/v1',
        allowedNetworks: [],
        ca: null,
        secrets: [SECRET],
        traits: {
          hasInquiry: true,
          canResend: false,
          keyMemorySeconds: null,
          settleDelaySeconds: 40,
          notFoundFinalSeconds: 900,
          reversal: 'none',
          readySeconds: 60,
          whenDown: 'refuse',
          maxInFlight: 16,
          settledWithinHours: 48,
        },
      },
    ],
  });
  expect(showConfiguration(configuration)).toContain(`\nCONNECTORS=${file}\n`);
  expect(showConfiguration(configuration)).not.toContain('whsec_');
});

test('reads every field of a connector', () => {
  const traits = {
    has_inquiry: false,
    can_resend: true,
    key_memory_seconds: 30,
    settle_delay_seconds: 0,
    not_found_final_seconds: 604_800,
    reversal: 'advice',
    ready_seconds: 86_400,
    when_down: 'queue',
    max_in_flight: 256,
    settled_within_hours: null,
  };
  const other = {
    connector_id: 'a_2-b',
    url: 'https://10.1.2.3:9443',
    secret_variable: ['INCREASE_SECRET', 'OLD_SECRET'],
    allowed_networks: ['10.0.0.0/8'],
    program_ids: ['prog_0196f5c2d9a17b40a5d2c08e6f1b3a97'],
    traits,
  };
  const { connectors } = read([{ ...MINIMAL, traits: { can_resend: true, key_memory_seconds: null } }, other], LIVE);
  expect(connectors?.connectors).toMatchObject([
    { mode: 'live', traits: { canResend: true, keyMemorySeconds: null } },
    {
      connectorId: 'a_2-b',
      url: 'https://10.1.2.3:9443',
      secrets: [SECRET, OLD_SECRET],
      allowedNetworks: ['10.0.0.0/8'],
      programIds: ['0196f5c2-d9a1-7b40-a5d2-c08e6f1b3a97'],
      traits: {
        hasInquiry: false,
        canResend: true,
        keyMemorySeconds: 30,
        settleDelaySeconds: 0,
        notFoundFinalSeconds: 604_800,
        reversal: 'advice',
        readySeconds: 86_400,
        whenDown: 'queue',
        maxInFlight: 256,
        settledWithinHours: null,
      },
    },
  ]);
  const [forAll, forOne] = connectors?.connectors ?? [];
  const [named, another] = ['0196f5c2-d9a1-7b40-a5d2-c08e6f1b3a97', '0196f5c2-d9a1-7b40-a5d2-c08e6f1b3a98'];
  expect([admits(forAll, named), admits(forAll, another), admits(undefined, another)]).toEqual([true, true, true]);
  expect([admits(forOne, named), admits(forOne, another)]).toEqual([true, false]);
});

test("reads a secret from a file, like the service's own secrets", () => {
  const path = join(directory, 'secret');
  writeFileSync(path, `${SECRET}\n`);
  const { connectors } = read([MINIMAL], { INCREASE_SECRET: '', INCREASE_SECRET_FILE: path });
  expect(connectors?.connectors[0]?.secrets).toEqual([SECRET]);
});

describe('refuses a file', () => {
  test('that does not exist', () => {
    const missing = join(directory, 'missing.json');
    const start = () => readConfiguration({ CONNECTORS: missing });
    expect(start).toThrow(`CONNECTORS is '${missing}', but that file cannot be read: ENOENT.`);
  });

  test.each([
    ['', 'that file is not valid JSON'],
    [`{"connectors":[{"secret":"${SECRET}"`, 'that file is not valid JSON'],
    [`${SECRET}`, 'that file is not valid JSON'],
    ['[]', 'that file must contain a JSON object'],
    ['{"connector":[]}', "that file has the unknown field 'connector'; the fields are 'connectors'"],
    ['{}', "in that file 'connectors' must be an array of at most 50 connectors"],
    ['{"connectors":[7]}', 'in that file connectors[0] must be an object'],
  ])('that contains %s', (text, says) => {
    expect(refusalOf(() => readText(text))).toContain(says);
  });

  test('with the same id twice', () => {
    const says = "two connectors in that file have the 'connector_id' 'increase'.";
    expect(refusalOf(() => read([MINIMAL, MINIMAL]))).toBe(says);
  });
});

describe('refuses a connector', () => {
  const refusal = (changes: object, environment = {}): string =>
    refusalOf(() => read([{ ...MINIMAL, ...changes }], environment));

  test.each([undefined, '', 'Increase', '2nd', 'a.b', 'x'.repeat(33), 7])('with the id %j', (connector_id) => {
    expect(refusal({ connector_id })).toMatch(/^in that file connectors\[0\] has an invalid 'connector_id': /);
  });

  test.each([
    ['simulator', 'the simulator of a sandbox'],
    ['other', 'metrics of connectors that are not in the settings'],
  ])('with the id %s', (connector_id, meaning) => {
    expect(refusal({ connector_id })).toBe(
      `in that file the connector '${connector_id}' has an invalid 'connector_id': that id is reserved for ${meaning}.`,
    );
  });

  test.each([
    ['uri', { uri: 'https://adapter.test' }, "the unknown field 'uri'; the fields are 'connector_id', 'url'"],
    ['a secret', { [SECRET]: true }, "the unknown field '[redacted]'"],
    ['a trait', { traits: { resend: true } }, "the unknown field 'traits.resend'; the fields are 'traits.has_inquiry'"],
  ])('with an unknown field: %s', (_, changes, says) => {
    expect(refusal(changes)).toContain(`in that file the connector 'increase' has ${says}`);
  });

  test.each([
    [undefined, 'it must be a URL'],
    ['adapter.test', 'it must be a URL'],
    ['ftp://adapter.test', 'it must be a URL'],
    ['https:///adapter.test', 'it must be a URL'],
    ['https://user:password@adapter.test', 'it must not contain a user name or a password'],
    ['https://adapter.test/?a=b', 'it must have neither a query nor a fragment'],
    ['https://adapter.test/#a', 'it must have neither a query nor a fragment'],
    ['https://adapter.test/a b', 'it contains a space'],
    ['https://adapter.test:0', 'it has port 0'],
    ['http://adapter.test', 'it begins with http://'],
    ['http://localhost.adapter.test', 'it begins with http://'],
    ['http://10.0.0.1', 'it begins with http://'],
    ['http://8.8.8.8', 'it begins with http://'],
    ['https://10.0.0.1', 'its address 10.0.0.1 is not public, and allowed_networks does not list it'],
    ['https://169.254.169.254', 'its address 169.254.169.254 is not public'],
    ['https://[::ffff:10.0.0.1]', 'its address ::ffff:a00:1 is not public'],
    ['https://0x7f000001', 'its address 127.0.0.1 is not public'],
  ])('with the URL %s', (url, says) => {
    expect(refusal({ url }, LIVE)).toContain(`in that file the connector 'increase' has an invalid 'url': ${says}`);
  });

  test.each([
    ['http://127.0.0.1:9000', ['127.0.0.1']],
    ['http://[::1]:9000', ['::1']],
    ['http://localhost:9000', ['127.0.0.1', '::1']],
  ])('with the loopback URL %s in live mode unless allowed_networks lists it', (url, allowed_networks) => {
    expect(refusal({ url }, LIVE)).toContain('is not public, and allowed_networks does not list it');
    for (const connector of [
      read([{ ...MINIMAL, url, allowed_networks }], LIVE).connectors,
      read([{ ...MINIMAL, url }]).connectors,
    ]) {
      expect(connector?.connectors[0]?.url).toBe(url);
    }
  });

  test.each([
    ['10.0.0.1', 'it must be an array'],
    [[7], 'its items must be strings'],
    [['10.0.0.0/33'], "'10.0.0.0/33' is neither an IP address nor a network"],
    [['10.0.0.1/8'], "'10.0.0.1/8' has host bits set"],
    [['127.0.0.0/8'], "'127.0.0.0/8' contains loopback"],
    [['0.0.0.0/0'], "'0.0.0.0/0' contains loopback"],
  ])('with the networks %j', (allowed_networks, says) => {
    expect(refusal({ allowed_networks })).toContain(`'increase' has an invalid 'allowed_networks': ${says}`);
  });

  test.each([
    ['prog_0196f5c2d9a17b40a5d2c08e6f1b3a97', 'it must be an array'],
    [['prog_1'], 'its items must be ids'],
    [[7], 'its items must be ids'],
  ])('with the card programs %j', (program_ids, says) => {
    expect(refusal({ program_ids })).toContain(`'increase' has an invalid 'program_ids': ${says}`);
  });

  test.each([
    [undefined, 'it must be the name of an environment variable'],
    [SECRET, 'it must be the name of an environment variable'],
    ['', 'it must be the name of an environment variable'],
    [[], 'it must be the name of an environment variable'],
    [['INCREASE_SECRET', 'INCREASE_SECRET'], 'it must be the name of an environment variable'],
    [['INCREASE_SECRET', 'OLD_SECRET', 'PLAIN'], 'it must be the name of an environment variable'],
    ['MISSING', 'neither MISSING nor MISSING_FILE is set'],
    [['INCREASE_SECRET', 'MISSING'], 'neither MISSING nor MISSING_FILE is set'],
    ['PLAIN', 'the value of PLAIN must be whsec_ and 24 to 64 bytes in Base64'],
    ['SHORT', 'the value of SHORT must be whsec_'],
    ['LONG', 'the value of LONG must be whsec_'],
  ])('with the secret variable %j', (secret_variable, says) => {
    expect(refusal({ secret_variable })).toContain(`'increase' has an invalid 'secret_variable': ${says}`);
  });

  test.each([
    ['has_inquiry', 'yes', 'true or false'],
    ['can_resend', 1, 'true or false'],
    ['key_memory_seconds', 0, 'a number of seconds from 1 to 315360000, or null (forever)'],
    ['settle_delay_seconds', -1, 'a number of seconds from 0 to 86400'],
    ['settle_delay_seconds', '40', 'a number of seconds from 0 to 86400'],
    ['not_found_final_seconds', 604_801, 'a number of seconds from 0 to 604800'],
    ['reversal', null, 'one of: none, request, advice'],
    ['ready_seconds', 0.5, 'a number of seconds from 1 to 86400'],
    ['when_down', 'wait', 'one of: refuse, queue'],
    ['max_in_flight', 257, 'a number of requests from 1 to 256'],
    ['settled_within_hours', 721, 'a number of hours from 1 to 720, or null (no check)'],
  ])('with the trait %s set to %j', (name, value, allowed) => {
    expect(refusal({ traits: { [name]: value } })).toBe(
      `in that file the connector 'increase' has an invalid 'traits.${name}': it must be ${allowed}.`,
    );
  });

  test('that resends without a key memory, or whose traits are not an object', () => {
    expect(refusal({ traits: { can_resend: true } })).toContain("'traits.key_memory_seconds': it must be set if");
    expect(refusal({ traits: [] })).toContain("'traits': it must be an object");
  });
});
