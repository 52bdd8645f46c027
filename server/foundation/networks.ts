import { isIP } from 'node:net';

/** An address of either family, as a number, so that every spelling of it is the same. */
type Address = { readonly family: 4 | 6; readonly bits: bigint };

/** The addresses that begin with the same bits. One address is a network with all of its bits. */
export type Network = Address & { readonly prefix: number };

const BITS = { 4: 32, 6: 128 } as const;

/** Networks of organizations. WEBHOOK_ALLOWED_NETWORKS may name them, or parts of them. */
const PRIVATE = readAll('10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', '198.18.0.0/15', 'fc00::/7');

/**
 * The machine itself, its link, and the services of cloud providers that give credentials to everybody who asks from
 * within. They are only allowed one by one, because a range of them is hardly ever meant.
 */
const LOCAL = readAll(
  '127.0.0.0/8',
  '::1',
  '169.254.0.0/16',
  'fe80::/10',
  // AWS, Google Cloud, Scaleway, Alibaba Cloud and Azure; the address that most of them share is 169.254.169.254.
  'fd00:ec2::/32',
  'fd20:ce::/32',
  'fd00:42::42',
  '100.100.100.200',
  '168.63.129.16',
);

/** All global IPv6 addresses are in it. What is not, such as ::/96, ::ffff:0:0/96, 64:ff9b::/96 and 5f00::/16, is special. */
const GLOBAL_IPV6 = requireNetwork('2000::/3');

/**
 * Addresses of no single machine on the internet, by the registries of special-purpose addresses of IANA. Webhooks are
 * never sent to them. An IPv6 address that contains an IPv4 address could lead to any address of a private network.
 */
const SPECIAL = readAll(
  '0.0.0.0/8',
  '192.0.0.0/24',
  // Documentation.
  '192.0.2.0/24',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '2001:db8::/32',
  '3fff::/20',
  // AS112, AMT, and relays to IPv6.
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.175.48.0/24',
  '2620:4f:8000::/48',
  // Multicast; reserved, and broadcast.
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Protocols, with Teredo (2001::/32) and ORCHID; 6to4; the former 6bone.
  '2001::/23',
  '2002::/16',
  '3ffe::/16',
);

/** What may be sent to an address: `local` ones are allowed one by one, `special` ones never. */
export type AddressKind = 'public' | 'private' | 'local' | 'special';

/** Tells the kind of an address. What is no address, or one with a zone such as fe80::1%eth0, is special. */
export function kindOf(text: string): AddressKind {
  const address = readAddress(text);
  if (address === undefined) return 'special';
  if (isIn(LOCAL, address)) return 'local';
  if (isIn(PRIVATE, address)) return 'private';
  const isGlobal = address.family === 4 || contains(GLOBAL_IPV6, address);
  return isGlobal && !isIn(SPECIAL, address) ? 'public' : 'special';
}

/** Whether an address is in one of the networks. Those of IPv4 do not contain the IPv6 addresses that are made of them. */
export function isInNetworks(networks: readonly Network[], text: string): boolean {
  const address = readAddress(text);
  return address !== undefined && isIn(networks, address);
}

/** Whether a network is one address. */
export function isSingle({ family, prefix }: Network): boolean {
  return prefix === BITS[family];
}

/** Reads an address, or a network in CIDR notation; undefined if it is neither. */
export function readNetwork(text: string): Network | undefined {
  const [, base = '', length] = /^([^/]*)(?:\/([0-9]{1,3}))?$/.exec(text) ?? [];
  const address = readAddress(base);
  if (address === undefined) return undefined;
  const prefix = length === undefined ? BITS[address.family] : Number(length);
  return prefix <= BITS[address.family] ? { ...address, prefix } : undefined;
}

/** What is wrong with an entry of WEBHOOK_ALLOWED_NETWORKS, as the end of a sentence that begins with the entry. */
export function findNetworkProblem(text: string): string | undefined {
  const network = readNetwork(text);
  if (network === undefined) return 'is neither an IP address nor a network such as 10.0.0.0/8';
  if (isSingle(network)) {
    const isSpecial = kindOf(text.replace(/\/.*$/, '')) === 'special';
    return isSpecial ? 'is an address for a special purpose, to which webhooks are never sent' : undefined;
  }
  const hostBits = BigInt(BITS[network.family] - network.prefix);
  if ((network.bits >> hostBits) << hostBits !== network.bits) {
    return 'has bits after its prefix: write the first address of the network, or a single address without a prefix';
  }
  const isPrivate = isPart(network, PRIVATE);
  if (isPart(network, LOCAL) || (!isPrivate && LOCAL.some((range) => overlap(range, network)))) {
    return (
      'contains loopback, link-local or metadata addresses, which are only allowed one by one: ' +
      'write each address that you need, such as 127.0.0.1'
    );
  }
  const isGlobal = network.family === 4 || isPart(network, [GLOBAL_IPV6]);
  if (isPrivate || (isGlobal && ![...PRIVATE, ...SPECIAL].some((range) => overlap(range, network)))) return undefined;
  return 'contains addresses for special purposes, to which webhooks are never sent';
}

function isIn(networks: readonly Network[], address: Address): boolean {
  return networks.some((network) => contains(network, address));
}

function contains(network: Network, address: Address): boolean {
  const rest = BigInt(BITS[network.family] - network.prefix);
  return network.family === address.family && network.bits >> rest === address.bits >> rest;
}

function isPart(network: Network, ranges: readonly Network[]): boolean {
  return ranges.some((range) => contains(range, network) && range.prefix <= network.prefix);
}

function overlap(one: Network, other: Network): boolean {
  return contains(one, other) || contains(other, one);
}

function readAll(...texts: readonly string[]): readonly Network[] {
  return texts.map(requireNetwork);
}

/** Reads a network that is known to be valid. */
export function requireNetwork(text: string): Network {
  const network = readNetwork(text);
  if (network === undefined) throw new TypeError(`${text} is not a network`);
  return network;
}

function readAddress(text: string): Address | undefined {
  const family = isIP(text);
  if (family === 4) return { family, bits: joined(text.split('.').map(Number), 8n) };
  if (family !== 6 || text.includes('%')) return undefined;
  const [head = [], tail] = text.split('::').map(readGroups);
  if (tail === undefined) return { family, bits: joined(head, 16n) };
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0);
  return { family, bits: joined([...head, ...zeros, ...tail], 16n) };
}

/** Groups of 16 bits. The last 32 bits may be written as an IPv4 address. */
function readGroups(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function joined(parts: readonly number[], bits: bigint): bigint {
  return parts.reduce((sum, part) => (sum << bits) | BigInt(part), 0n);
}
