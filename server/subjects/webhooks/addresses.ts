import { MAX_WEBHOOK_URL_CHARACTERS } from '../../../domain/webhooks/webhook.ts';
import {
  type AddressRules,
  addressesInHost,
  type Destination,
  hostOf,
  isInNetworks,
  isSingle,
  kindOf,
  portOf,
  requireNetwork,
} from '../../foundation/networks.ts';

// Invariant: A webhook is sent only to public addresses and addresses in WEBHOOK_ALLOWED_NETWORKS, regardless of its URL, of
//   look-ups and of redirects
// Kept by: this file for URLs; `send.ts` looks a name up once per connection and checks all of its addresses, and the connected
//   address again before it writes a byte
// Tested by: `test/outbound`, `verification/mutants/webhooks.ts`

// Invariant: In live mode every webhook goes over TLS to a verified host, unless the operator has allowed its addresses
// Kept by: the rules of addresses, and `server/background/outbound/send.ts`
// Tested by: `test/outbound/names.test.ts`, `test/outbound/tls.test.ts`

/** The settings that decide where webhooks may be sent. They are plain values, which can be passed to a worker thread. */
export type AddressSettings = {
  readonly mode: 'sandbox' | 'live';
  /** Networks and addresses that are allowed in addition to public ones: WEBHOOK_ALLOWED_NETWORKS. */
  readonly allowedNetworks: readonly string[];
};

/** The ports that are allowed in live mode. On other ports, a webhook could reach a different kind of service. */
const LIVE_PORTS = [443, 8443];

const ADDRESS_PROBLEM =
  'The URL has an address to which webhooks are not sent: it is private, local or for a special purpose, ' +
  'and WEBHOOK_ALLOWED_NETWORKS does not name it.';

/** Opens the rules. Throws if an allowed network is invalid. The configuration has already been checked for that. */
export function openAddressRules({ mode, allowedNetworks }: AddressSettings): AddressRules {
  const networks = allowedNetworks.map(requireNetwork);
  const singles = networks.filter(isSingle);

  const isNamed = (address: string): boolean => {
    const kind = kindOf(address);
    return kind !== 'special' && isInNetworks(kind === 'local' ? singles : networks, address);
  };
  const isAllowed = (address: string, to: Destination): boolean =>
    isNamed(address) || (kindOf(address) === 'public' && (mode === 'sandbox' || findLiveProblem(to) === undefined));

  return {
    isAllowed,
    findUrlProblem(text) {
      const problem = findSyntaxProblem(text);
      if (problem !== undefined) return problem;
      const url = new URL(text);
      const destination = { protocol: url.protocol, port: portOf(url) };
      const addresses = addressesInHost(hostOf(url));
      if (addresses?.every(isNamed)) return undefined;
      const isLimited = mode === 'live' && (addresses !== undefined || networks.length === 0);
      const liveProblem = isLimited ? findLiveProblem(destination) : undefined;
      if (liveProblem !== undefined) return liveProblem;
      return addresses?.every((address) => isAllowed(address, destination)) === false ? ADDRESS_PROBLEM : undefined;
    },
  };
}

function findSyntaxProblem(text: string): string | undefined {
  if (text.length > MAX_WEBHOOK_URL_CHARACTERS) {
    return `The URL is longer than ${MAX_WEBHOOK_URL_CHARACTERS} characters.`;
  }
  // Parsers treat these characters differently: some remove them, others end the host there.
  if (/[\s\p{Cc}\\]/u.test(text)) return 'The URL contains a space, a control character or a backslash.';
  const url = URL.parse(text);
  if (url === null) return 'The URL cannot be parsed.';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'The URL must begin with https:// or http://.';
  if (!/^https?:\/\/[^/]/i.test(text)) return 'The URL must have a host after the two slashes.';
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)) {
    return 'The URL must not contain a user name or a password: use a header for credentials.';
  }
  if (text.includes('#')) return 'The URL must not have a fragment: it would not be sent.';
  return url.port === '0' ? 'The URL has port 0, where nothing can listen.' : undefined;
}

function findLiveProblem({ protocol, port }: Destination): string | undefined {
  if (protocol !== 'https:') return 'The URL must begin with https:// in live mode.';
  if (LIVE_PORTS.includes(port)) return undefined;
  return `The URL has port ${port}, but in live mode it must have port 443 or 8443.`;
}
