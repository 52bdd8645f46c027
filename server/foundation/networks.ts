import { isIP } from 'node:net';
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';

/** A network: its first address, and the number of leading bits that its addresses share (all bits for a single address). */
export type Network = readonly [address: IPv4 | IPv6, prefix: number];

export type AddressRules = {
  /**
   * Returns the reason why requests cannot go to a URL, as a sentence. Looks up no names: their addresses are checked when the
   * connection is opened.
   */
  findUrlProblem(url: string): string | undefined;
  /** Returns whether a request with this protocol and port may go to this address. */
  isAllowed(address: string, to: Destination): boolean;
};

/** The parts of a URL that the rules check, other than its address. The protocol ends in a colon. */
export type Destination = { readonly protocol: string; readonly port: number };

const BITS = { ipv4: 32, ipv6: 128 } as const;

/**
 * Addresses of the machine itself, link-local addresses, and addresses where cloud providers give credentials to any process on a
 * machine. They are allowed only one by one, because allowing a whole range of them is rarely intended.
 */
const LOCAL = readAll(
  '127.0.0.0/8',
  '::1',
  '169.254.0.0/16',
  'fe80::/10',
  // AWS, Google Cloud, Scaleway, Alibaba Cloud and Azure. Most of them use 169.254.169.254.
  'fd00:ec2::/32',
  'fd20:ce::/32',
  'fd00:42::42',
  '100.100.100.200',
  '168.63.129.16',
);

/** Private networks, such as those of companies. WEBHOOK_ALLOWED_NETWORKS may contain them or parts of them. */
const PRIVATE = readAll('10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', '198.18.0.0/15', 'fc00::/7');

/**
 * Addresses that do not belong to a single machine on the internet, from IANA's registries of special-purpose addresses.
 * Webhooks are never sent to them. An IPv6 address that contains an IPv4 address could lead to any address of a private
 * network. The ranges of ipaddr.js are not used, because an update of that package must not make an address allowed.
 */
const SPECIAL = readAll(
  '0.0.0.0/8',
  '192.0.0.0/24',
  // All IPv6 addresses outside 2000::/3, the range of global addresses. This includes ::/96, ::ffff:0:0/96, 64:ff9b::/96,
  // 5f00::/16 and others.
  '::/3',
  '4000::/2',
  '8000::/1',
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
  // Multicast, reserved, and broadcast.
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Addresses for protocols, including Teredo (2001::/32) and ORCHID, then 6to4 and the former 6bone.
  '2001::/23',
  '2002::/16',
  '3ffe::/16',
);

/** The kinds of addresses: `local` ones are allowed only one by one, `special` ones never. */
export type AddressKind = 'public' | 'private' | 'local' | 'special';

/** Returns the kind of an address. Text that is not an address, or that has a zone such as fe80::1%eth0, is special. */
export function kindOf(text: string): AddressKind {
  const address = readAddress(text);
  if (address === undefined) return 'special';
  if (isIn(LOCAL, address)) return 'local';
  if (isIn(PRIVATE, address)) return 'private';
  return isIn(SPECIAL, address) ? 'special' : 'public';
}

/**
 * Returns whether an address is in one of the networks. IPv4 networks do not contain the IPv6 addresses that embed their addresses.
 */
export function isInNetworks(networks: readonly Network[], text: string): boolean {
  const address = readAddress(text);
  return address !== undefined && isIn(networks, address);
}

export function isSingle([address, prefix]: Network): boolean {
  return prefix === BITS[address.kind()];
}

/** Reads an address, or a network in CIDR notation. Returns undefined for any other text. */
export function readNetwork(text: string): Network | undefined {
  const [, base = '', length] = /^([^/]*)(?:\/([0-9]{1,3}))?$/.exec(text) ?? [];
  const address = readAddress(base);
  if (address === undefined) return undefined;
  const bits = BITS[address.kind()];
  const prefix = length === undefined ? bits : Number(length);
  return prefix <= bits ? [address, prefix] : undefined;
}

/** Returns the problem with an entry of WEBHOOK_ALLOWED_NETWORKS, as the end of a sentence that begins with the entry. */
export function findNetworkProblem(text: string): string | undefined {
  const network = readNetwork(text);
  if (network === undefined) return 'is neither an IP address nor a network such as 10.0.0.0/8';
  const [address] = network;
  if (isSingle(network)) {
    const isSpecial = kindOf(address.toString()) === 'special';
    return isSpecial ? 'is an address for a special purpose, and the service never sends there' : undefined;
  }
  const first = ipaddr[address.kind() === 'ipv4' ? 'IPv4' : 'IPv6'].networkAddressFromCIDR(text);
  if (first.toString() !== address.toString()) {
    return 'has host bits set: write the first address of the network, or a single address without a prefix';
  }
  const isPrivate = isPart(network, PRIVATE);
  if (isPart(network, LOCAL) || (!isPrivate && LOCAL.some((range) => overlap(range, network)))) {
    return (
      'contains loopback, link-local or metadata addresses, which are only allowed one by one: ' +
      'write each address that you need, such as 127.0.0.1'
    );
  }
  if (isPrivate || ![...PRIVATE, ...SPECIAL].some((range) => overlap(range, network))) return undefined;
  return 'contains addresses for special purposes, and the service never sends there';
}

/** Returns the host of a URL for a look-up: without the brackets of IPv6 and without a dot at the end. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

export function portOf({ protocol, port }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** Returns the addresses of a host that needs no look-up: an address, or localhost, which is always this machine (RFC 6761). */
export function addressesInHost(host: string): readonly string[] | undefined {
  if (isIP(host) !== 0) return [host];
  return host === 'localhost' || host.endsWith('.localhost') ? ['127.0.0.1', '::1'] : undefined;
}

function isIn(networks: readonly Network[], address: IPv4 | IPv6): boolean {
  return networks.some((network) => contains(network, address));
}

function contains([first, prefix]: Network, address: IPv4 | IPv6): boolean {
  return first.kind() === address.kind() && address.match(first, prefix);
}

function isPart(network: Network, ranges: readonly Network[]): boolean {
  return ranges.some((range) => contains(range, network[0]) && range[1] <= network[1]);
}

function overlap(one: Network, other: Network): boolean {
  return contains(one, other[0]) || contains(other, one[0]);
}

function readAll(...texts: readonly string[]): readonly Network[] {
  return texts.map(requireNetwork);
}

export function requireNetwork(text: string): Network {
  const network = readNetwork(text);
  if (network === undefined) throw new TypeError(`${text} is not a network`);
  return network;
}

/** Reads an address. Node decides whether it is valid, because ipaddr.js also accepts 127.1, 0x7f.1 and 010.0.0.1. */
function readAddress(text: string): IPv4 | IPv6 | undefined {
  return isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text);
}
