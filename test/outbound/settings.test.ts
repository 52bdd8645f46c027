import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfiguration, showConfiguration } from '../../server/foundation/configuration/configuration.ts';
import { createAuthority } from './certificates.ts';

const LIVE = { MODE: 'live', SUPPORT_CONTACT: 'help@bank.test' };

let directory: string;
let certificate: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'transfer-service-ca-'));
  const authority = createAuthority();
  certificate = authority.ca;
  authority.remove();
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('WEBHOOK_ALLOWED_NETWORKS', () => {
  test.each([
    [{}, ['127.0.0.1', '::1']],
    [{ HOST: '::1' }, ['127.0.0.1', '::1']],
    [{ HOST: '0.0.0.0' }, []],
    [LIVE, []],
    [{ WEBHOOK_ALLOWED_NETWORKS: '10.1.0.0/16' }, ['10.1.0.0/16']],
    [
      { ...LIVE, WEBHOOK_ALLOWED_NETWORKS: ' 10.0.0.0/8 ,fd00:1::/32,127.0.0.1' },
      ['10.0.0.0/8', 'fd00:1::/32', '127.0.0.1'],
    ],
  ])('with the settings %j allows %j', (environment, networks) => {
    const configuration = readConfiguration(environment);
    expect(configuration.webhookAllowedNetworks).toEqual(networks);
    expect(showConfiguration(configuration)).toContain(`\nWEBHOOK_ALLOWED_NETWORKS=${networks.join(',')}\n`);
  });

  test.each([
    [
      '127.0.0.0/8',
      "'127.0.0.0/8' contains loopback, link-local or metadata addresses, which are only allowed one by one",
    ],
    ['10.0.0.0/8,169.254.0.0/16', "'169.254.0.0/16' contains loopback, link-local or metadata addresses"],
    ['::/0', "'::/0' contains loopback"],
    ['0.0.0.0', "'0.0.0.0' is an address for a special purpose, and the service never sends there"],
    ['10.0.0.1/8', "'10.0.0.1/8' has host bits set"],
    ['localhost', "'localhost' is neither an IP address nor a network such as 10.0.0.0/8"],
    ['10.0.0.0/8;192.168.0.0/16', 'neither an IP address nor a network'],
    ['10.0.0.0/8,', "'' is neither"],
  ])('refuses %j and gives the reason', (WEBHOOK_ALLOWED_NETWORKS, problem) => {
    const read = () => readConfiguration({ WEBHOOK_ALLOWED_NETWORKS });
    expect(read).toThrow(`WEBHOOK_ALLOWED_NETWORKS is '${WEBHOOK_ALLOWED_NETWORKS}', but `);
    expect(read).toThrow(problem);
  });
});

describe('WEBHOOK_CA', () => {
  const write = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };

  test('is read with all its certificates, without the text between them', () => {
    expect(readConfiguration({}).webhookCa).toBeNull();
    const path = write('two.pem', `# first\n${certificate}\n# second\n${certificate}`);
    const configuration = readConfiguration({ ...LIVE, WEBHOOK_CA: path });
    expect(configuration.webhookCa).toEqual({ path, certificates: `${certificate.trim()}\n${certificate.trim()}` });
    expect(showConfiguration(configuration)).toContain(`\nWEBHOOK_CA=${path}\n`);
  });

  test.each([
    ['empty.pem', () => ''],
    ['text.pem', () => 'certificate'],
    ['key.pem', () => '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'],
    ['damaged.pem', () => certificate.replace(/\n.{20}/, '\n')],
    ['half.pem', () => `${certificate}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`],
  ])('refuses a file without valid certificates: %s', (name, text) => {
    const path = write(name, text());
    expect(() => readConfiguration({ WEBHOOK_CA: path })).toThrow(
      'but that file does not contain valid certificates in PEM format.',
    );
  });

  test('refuses a file that cannot be read', () => {
    const path = join(directory, 'missing.pem');
    expect(() => readConfiguration({ WEBHOOK_CA: path })).toThrow('but that file cannot be read: ENOENT.');
    expect(() => readConfiguration({ WEBHOOK_CA: directory })).toThrow('but that file cannot be read: EISDIR.');
  });
});
