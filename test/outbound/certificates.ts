import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate in PEM with its key. */
export type Identity = { readonly cert: string; readonly key: string };

/** A certificate authority that belongs to a test. */
export type Certificates = {
  readonly ca: string;
  /** Issues a certificate for names such as `DNS:localhost,IP:127.0.0.1`. */
  readonly issue: (names: string, validity?: keyof typeof PERIODS) => Identity;
  readonly remove: () => void;
};

const PERIODS = {
  valid: ['20200101000000Z', '20491231000000Z'],
  expired: ['20200101000000Z', '20200102000000Z'],
  'not yet valid': ['20491230000000Z', '20491231000000Z'],
  'ends in a day': ['20200101000000Z', inHours(36)],
} as const;

/** Returns a time in the format of openssl. */
function inHours(hours: number): string {
  return `${new Date(Date.now() + hours * 3_600_000).toISOString().replaceAll(/\D/g, '').slice(0, 14)}Z`;
}

const CONFIGURATION = `[ca]
default_ca = own
[own]
database = index.txt
serial = serial
new_certs_dir = .
default_md = sha256
policy = any
unique_subject = no
copy_extensions = none
[any]
commonName = supplied
[req]
distinguished_name = req_name
[req_name]
`;

export function createAuthority(): Certificates {
  const cwd = mkdtempSync(join(tmpdir(), 'transfer-service-certificates-'));
  const openssl = (...options: readonly string[]) => execFileSync('openssl', options, { cwd, stdio: 'pipe' });
  const write = (file: string, text: string) => writeFileSync(join(cwd, file), text);
  const read = (file: string) => readFileSync(join(cwd, file), 'utf8');
  const request = (name: string) => [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-subj',
    `/CN=${name}`,
    '-config',
    'openssl.cnf',
  ];
  write('openssl.cnf', CONFIGURATION);
  write('index.txt', '');
  write('serial', '01\n');
  write('ca.ext', 'basicConstraints=critical,CA:TRUE\n');
  openssl('req', '-new', ...request('Test authority'), '-keyout', 'ca.key', '-out', 'ca.csr');
  openssl(
    'x509',
    '-req',
    '-in',
    'ca.csr',
    '-signkey',
    'ca.key',
    '-days',
    '9000',
    '-extfile',
    'ca.ext',
    '-out',
    'ca.pem',
  );
  return {
    ca: read('ca.pem'),
    issue(names, validity = 'valid') {
      const [start, end] = PERIODS[validity];
      write('leaf.ext', `subjectAltName=${names}\n`);
      openssl('req', '-new', ...request('endpoint'), '-keyout', 'leaf.key', '-out', 'leaf.csr');
      openssl(
        ...['ca', '-batch', '-notext', '-config', 'openssl.cnf', '-cert', 'ca.pem', '-keyfile', 'ca.key'],
        ...['-startdate', start, '-enddate', end, '-extfile', 'leaf.ext', '-in', 'leaf.csr', '-out', 'leaf.pem'],
      );
      return { cert: read('leaf.pem'), key: read('leaf.key') };
    },
    remove: () => rmSync(cwd, { recursive: true, force: true }),
  };
}
