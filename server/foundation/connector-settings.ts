import type { Traits } from '../../domain/processors/order.ts';
import {
  type AddressRules,
  addressesInHost,
  hostOf,
  isInNetworks,
  isSingle,
  kindOf,
  type Network,
  portOf,
  requireNetwork,
} from './networks.ts';

// Invariant: A connector is called only at public addresses or addresses that its operator has named, and only over TLS unless the
//   address is loopback
// Kept by: this file for the setting and for each connection; `server/background/outbound/send.ts`
// Tested by: `server/background/processors/http-connector.test.ts`, `server/foundation/configuration/connectors.test.ts`

export type ConnectorAddress = {
  readonly mode: 'sandbox' | 'live';
  /** The URL without a slash at the end. */
  readonly url: string;
  /** Networks and addresses that are allowed in addition to public ones. In a sandbox, loopback is also allowed. */
  readonly allowedNetworks: readonly string[];
};

/** A connector of the setting CONNECTORS. It has only plain values, which can be passed to a worker thread. */
export type ConnectorSettings = ConnectorAddress & {
  readonly connectorId: string;
  /** The inner UUIDs of the card programs that may have cards of this connector. Omitted for all. */
  readonly programIds?: readonly string[] | undefined;
  /** Certificates in PEM to trust in addition to Node's, or null. */
  readonly ca: string | null;
  /** One or two secrets, each `whsec_…`. A request is signed with all of them. A notice needs a signature with one of them. */
  readonly secrets: readonly string[];
  readonly traits: Traits;
};

const LOOPBACK: readonly Network[] = ['127.0.0.0/8', '::1'].map(requireNetwork);

/** Opens the rules for the addresses of one connector. Throws if an allowed network is invalid. */
export function openConnectorRules({ mode, allowedNetworks }: Omit<ConnectorAddress, 'url'>): AddressRules {
  const networks = allowedNetworks.map(requireNetwork);
  const singles = networks.filter(isSingle);
  const isNamed = (address: string): boolean => {
    const kind = kindOf(address);
    return kind !== 'special' && isInNetworks(kind === 'local' ? singles : networks, address);
  };
  const isReachable = (address: string): boolean =>
    isNamed(address) || kindOf(address) === 'public' || (mode === 'sandbox' && isInNetworks(LOOPBACK, address));
  const isAllowed = (address: string, { protocol }: { readonly protocol: string }): boolean =>
    isReachable(address) && (protocol === 'https:' || isInNetworks(LOOPBACK, address));
  return {
    isAllowed,
    findUrlProblem(text) {
      const url = URL.parse(text);
      if (url === null || !/^https?:\/\/[^/\\]/.test(text)) return 'it must be a URL that begins with https://';
      if (url.username !== '' || url.password !== '') return 'it must not contain a user name or a password';
      if (/[?#]/.test(text)) return 'it must have neither a query nor a fragment';
      if (/[\s\p{Cc}\\]/u.test(text)) return 'it contains a space, a control character or a backslash';
      if (url.port === '0') return 'it has port 0, where nothing can listen';
      const addresses = addressesInHost(hostOf(url));
      if (url.protocol === 'http:' && !addresses?.every((address) => isInNetworks(LOOPBACK, address))) {
        return 'it begins with http://, which is allowed only for addresses of this machine, such as http://127.0.0.1:9000';
      }
      const to = { protocol: url.protocol, port: portOf(url) };
      const refused = addresses?.find((address) => !isAllowed(address, to));
      return refused === undefined
        ? undefined
        : `its address ${refused} is not public, and allowed_networks does not list it`;
    },
  };
}
