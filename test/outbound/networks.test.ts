import { assert, constantFrom, integer, property, tuple, uint8Array } from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, test } from 'vitest';
import { findNetworkProblem, kindOf } from '../../server/foundation/networks.ts';
import { openAddressRules } from '../../server/subjects/webhooks/addresses.ts';

const RUNS = { numRuns: 5_000 };
const HTTPS = { protocol: 'https:', port: 443 };

/** Networks whose first and last addresses would reveal a mistake. */
const BORDERS = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4', '255.255.255.255/32'],
  ...['::/128', '::1/128', '::/96', '::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64'],
  ...[
    '2000::/3',
    '2001::/32',
    '2001::/23',
    '2001:2::/48',
    '2001:10::/28',
    '2001:20::/28',
    '2001:db8::/32',
    '2002::/16',
  ],
  ...['2620:4f:8000::/48', '3ffe::/16', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
];

const toText = (bytes: readonly number[]) => ipaddr.fromByteArray([...bytes]).toString();

/** Returns the first and the last address of a network. */
function endsOf(cidr: string): readonly [readonly number[], readonly number[]] {
  const [address, prefix] = ipaddr.parseCIDR(cidr);
  const first = address.toByteArray().map((byte, index) => byte & maskAt(index, prefix));
  return [first, first.map((byte, index) => byte | (255 - maskAt(index, prefix)))];
}

function maskAt(index: number, prefix: number): number {
  return 256 - 2 ** (8 - Math.min(8, Math.max(0, prefix - 8 * index)));
}

/** Adds a value to an address, with carry and wrap-around. */
function add(bytes: readonly number[], value: number): readonly number[] {
  const size = 8n * BigInt(bytes.length);
  const sum = BigInt.asUintN(Number(size), BigInt(`0x${Buffer.from(bytes).toString('hex')}`) + BigInt(value));
  return [...Buffer.from(sum.toString(16).padStart(bytes.length * 2, '0'), 'hex')];
}

const anyIpv4 = uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => [...bytes]);
const anyIpv6 = uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => [...bytes]);
const atBorder = tuple(constantFrom(...BORDERS), constantFrom(0, 1), integer({ min: -2, max: 2 })).map(
  ([cidr, end, distance]) => add(endsOf(cidr)[end as 0 | 1], distance),
);

/** Azure's metadata address, which ipaddr.js does not treat as special. */
const AZURE = '168.63.129.16';

describe('a public address', () => {
  test('is unicast according to ipaddr.js in IPv4', () => {
    for (const addresses of [anyIpv4, atBorder.filter((bytes) => bytes.length === 4)]) {
      assert(
        property(addresses, (bytes) => {
          const text = toText(bytes);
          const isUnicast = ipaddr.parse(text).range() === 'unicast' && text !== AZURE;
          expect([text, kindOf(text) === 'public']).toEqual([text, isUnicast]);
        }),
        RUNS,
      );
    }
  });

  test('is unicast according to ipaddr.js in IPv6, and inside 2000::/3', () => {
    // The product also refuses the former 6bone, and the unassigned part of 2001::/23.
    const alsoRefused = ['3ffe::/16', '2001::/23'].map((cidr) => ipaddr.IPv6.parseCIDR(cidr));
    for (const addresses of [anyIpv6, atBorder.filter((bytes) => bytes.length === 16)]) {
      assert(
        property(addresses, (bytes) => {
          const text = toText(bytes);
          const address = ipaddr.IPv6.parse(text);
          const isGlobal = address.range() === 'unicast' && address.match(ipaddr.IPv6.parseCIDR('2000::/3'));
          const isExpected = isGlobal && !alsoRefused.some((range) => address.match(range));
          expect([text, kindOf(text) === 'public']).toEqual([text, isExpected]);
        }),
        RUNS,
      );
    }
  });

  test('is recognized in every spelling', () => {
    assert(
      property(anyIpv6, (bytes) => {
        const address = ipaddr.IPv6.parse(toText(bytes));
        const groups = Buffer.from(bytes).toString('hex').match(/.{4}/g) ?? [];
        const dotted = `${groups.slice(0, 6).join(':')}:${bytes.slice(12).join('.')}`;
        const spellings = [address.toNormalizedString(), groups.join(':'), dotted];
        for (const text of [...spellings, ...spellings.map((each) => each.toUpperCase())]) {
          expect([text, kindOf(text)]).toEqual([text, kindOf(address.toString())]);
        }
      }),
      RUNS,
    );
  });

  test.each([
    '',
    'x',
    '1.2.3',
    '1.2.3.4.5',
    '8.8.8.8 ',
    '08.8.8.8',
    '2606:4700::1%eth0',
    '[2606:4700::1]',
    ':::',
    '::8.8.8',
  ])('is never %j, which is not an address', (text) => expect(kindOf(text)).toBe('special'));
});

/** Generates private networks, and subnets of every size within them. */
const privateNetwork = tuple(
  constantFrom('10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', '198.18.0.0/15', 'fc00::/7'),
  uint8Array({ minLength: 16, maxLength: 16 }),
  integer({ min: 0, max: 128 }),
).map(([range, noise, size]) => {
  const [base, min] = ipaddr.parseCIDR(range);
  const bytes = base.toByteArray();
  const prefix = Math.min(bytes.length * 8, min + size);
  const inside = bytes.map((byte, index) => {
    const ofRange = maskAt(index, min);
    return (byte & ofRange) | ((noise[index] ?? 0) & maskAt(index, prefix) & ~ofRange & 255);
  });
  return `${toText(inside)}/${prefix}`;
});

const METADATA = ['100.100.100.200/32', 'fd00:ec2::/32', 'fd20:ce::/32', 'fd00:42::42/128'];
const METADATA_RANGES = METADATA.map((cidr) => ipaddr.parseCIDR(cidr));

/** Calls `expect` only if the values differ, because calling it for each of these many comparisons would be slow. */
function expectEqual(found: readonly unknown[], expected: readonly unknown[]): void {
  if (found.some((each, index) => each !== expected[index])) expect(found).toEqual(expected);
}

describe('WEBHOOK_ALLOWED_NETWORKS', () => {
  test('allows exactly the private networks that it lists, except their metadata addresses', () => {
    const inside = tuple(privateNetwork, uint8Array({ minLength: 16, maxLength: 16 }), integer({ min: -2, max: 2 }));
    assert(
      property(inside, constantFrom('sandbox', 'live'), ([cidr, noise, distance], mode) => {
        const [base, prefix] = ipaddr.parseCIDR(cidr);
        const [first, last] = endsOf(cidr);
        const random = first.map((byte, index) => byte | ((noise[index] ?? 0) & (255 - maskAt(index, prefix))));
        const { isAllowed } = openAddressRules({ mode, allowedNetworks: [cidr] });
        const closed = openAddressRules({ mode, allowedNetworks: [] });
        const metadata = METADATA.map((each) => [...endsOf(each)[0]]);
        const borders = [first, last, add(first, distance), add(last, distance)];
        for (const bytes of [...borders, ...metadata, random, [...noise.slice(0, 4)]]) {
          const text = toText(bytes);
          const address = ipaddr.parse(text);
          const isIn = address.kind() === base.kind() && address.match([base, prefix] as never);
          const isMetadata = METADATA_RANGES.some(
            ([other, length]) => other.kind() === address.kind() && address.match([other, length] as never),
          );
          // A metadata address is allowed only if it is listed as a single address.
          const isNamed = isIn && (!isMetadata || prefix === base.toByteArray().length * 8);
          const isExpected = isNamed || closed.isAllowed(text, HTTPS);
          expectEqual([cidr, text, isAllowed(text, HTTPS)], [cidr, text, isExpected]);
          // Outside the listed networks, live mode allows only HTTPS and its ports.
          if (mode === 'live') expectEqual([isAllowed(text, { protocol: 'http:', port: 80 })], [isNamed]);
        }
      }),
      RUNS,
    );
  });

  test.each([
    '127.0.0.1',
    '127.0.0.1/32',
    '127.9.9.9',
    '169.254.169.254',
    '100.100.100.200',
    '::1',
    'fd00:ec2::254',
    AZURE,
  ])('allows %s but not the adjacent addresses', (single) => {
    expect(findNetworkProblem(single)).toBeUndefined();
    const { isAllowed } = openAddressRules({ mode: 'live', allowedNetworks: [single] });
    const address = ipaddr.parse(single.replace('/32', ''));
    expect(isAllowed(address.toString(), { protocol: 'http:', port: 1 })).toBe(true);
    for (const distance of [-1, 1]) {
      const neighbour = toText(add(address.toByteArray(), distance));
      expect(isAllowed(neighbour, { protocol: 'http:', port: 1 })).toBe(false);
      expect(isAllowed(neighbour, HTTPS)).toBe(kindOf(neighbour) === 'public');
    }
    const mapped = single.includes('.') ? `::ffff:${address.toString()}` : '::ffff:127.0.0.1';
    expect(isAllowed(mapped, HTTPS)).toBe(false);
  });

  test('allows other ports and HTTP in live mode for a public network', () => {
    const { isAllowed } = openAddressRules({ mode: 'live', allowedNetworks: ['8.8.8.0/24'] });
    const to = { protocol: 'http:', port: 8080 };
    expect([isAllowed('8.8.8.8', to), isAllowed('8.8.9.8', to), isAllowed('8.8.9.8', HTTPS)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  test.each<readonly [string, RegExp]>([
    ['127.0.0.0/8', /one by one/],
    ['127.0.0.0/31', /one by one/],
    ['0.0.0.0/0', /one by one/],
    ['::/0', /one by one/],
    ['::/127', /one by one/],
    ['169.254.0.0/16', /one by one/],
    ['169.254.169.254/31', /one by one/],
    ['168.0.0.0/8', /one by one/],
    ['fe80::/10', /one by one/],
    ['fe80::/64', /one by one/],
    ['fd00:ec2::/32', /one by one/],
    ['fd00:ec2::/64', /one by one/],
    ['224.0.0.0/4', /special purposes/],
    ['192.0.0.0/8', /special purposes/],
    ['8.0.0.0/5', /special purposes/],
    ['64:ff9b::/96', /special purposes/],
    ['2001::/16', /special purposes/],
    ['2002::/16', /special purposes/],
    ['2000::/3', /special purposes/],
    ['4000::/16', /special purposes/],
    ['0.0.0.0', /special purpose/],
    ['255.255.255.255/32', /special purpose/],
    ['::', /special purpose/],
    ['::ffff:127.0.0.1', /special purpose/],
    ['64:ff9b::7f00:1', /special purpose/],
    ['10.0.0.5/8', /host bits set/],
    ['fd00::1/64', /host bits set/],
    ...[
      '',
      '10.0.0.0/33',
      'fd00::/129',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '10/8',
      '10.0.0.0/',
      '/8',
      '10.0.0.0/0x8',
      '010.0.0.1',
    ].map((text) => [text, /neither an IP address nor a network/] as const),
    ...['localhost', 'receiver.test', '*', 'any', '127.1', '0x7f.1', '[::1]', 'fe80::1%eth0', '10.0.0.0-10.0.0.9'].map(
      (text) => [text, /neither an IP address nor a network/] as const,
    ),
  ])('refuses %j', (text, problem) => {
    expect(findNetworkProblem(text)).toMatch(problem);
  });
});
