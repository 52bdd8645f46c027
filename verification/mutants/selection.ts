import { RULES } from './rules.ts';

/**
 * The mutants that `npm run verify` runs. For each promise about money, order and access, it has the mutants whose witnesses take
 * a few seconds. Together they take four minutes on two cores. Run the others with `npm run mutants`.
 */
export const SELECTION: readonly string[] = [
  ...Object.keys(RULES),
  // Durability, and the fence of a lost COMMIT.
  'unknown-commit-read-back',
  'warning-at-commit-ignored',
  // Locks and the guard of chains.
  'account-lock-left-out',
  'version-not-compared',
  'refusals-left-out-of-the-guard',
  'unwritten-refusals-not-checked',
  'version-read-last',
  'counters-read-before-the-version',
  'groups-without-writes-counted',
  'thrown-decision-not-repeated',
  'version-not-raised-under-locks',
  'version-not-raised-in-chains',
  'same-transfer-decided-twice',
  'switch-remembered',
  'chained-on-a-failed-group',
  'remembered-after-a-break',
  'limits-not-handed-on',
  // The relay.
  'relay-after-the-last-id',
  'relay-in-the-order-of-ids',
  'relay-without-lock',
  'relay-reads-before-it-holds-the-lock',
  'relay-does-not-mark',
  'relay-never-searches-all',
  'events-not-told-to-the-fence',
  'unrelayed-fences-dropped',
  // Leases.
  'webhook-epoch-unchecked',
  'webhook-owner-unchecked',
  'webhook-lease-taken-early',
  // Erasure.
  'open-card-erased',
  'erased-transfers-decided-on',
  // Authentication and access.
  'policy-lets-all-through',
  'secret-not-compared',
  'csrf-header-not-asked-for',
  'origin-not-compared',
  'session-over-clear-text',
  'cookie-beside-a-key',
  'session-outlives-its-key',
  'session-without-an-end',
  'session-of-a-revoked-key-begins',
  'keys-write-is-everything',
  // Webhooks.
  'outbound-url-unchecked',
  'outbound-first-address-checked',
  'outbound-follows-redirects',
  'outbound-metadata-in-a-private-network',
  'signature-of-the-body-only',
  'webhook-disabled-by-an-outage',
  // Connectors.
  'connector-written-but-not-sent',
  'connector-another-amount',
];
