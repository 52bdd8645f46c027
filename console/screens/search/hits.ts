import type { SearchResults } from '../../../sdk/client.ts';
import { pathOf } from '../../format/ids.ts';

export type Group = SearchResults['data'][number];
export type Hit = Group['results'][number];

export const KIND_TITLES: Readonly<Record<Group['kind'], string>> = {
  transfer: 'Transfers',
  card: 'Cards',
  request: 'Requests',
  case: 'Cases',
  incident: 'Incidents',
  reversal: 'Reversals',
  idempotency_key: 'Idempotency keys',
  deposit: 'Deposits',
  withdrawal: 'Withdrawals',
  event: 'Events',
  program: 'Card programs',
  webhook: 'Webhooks',
  api_key: 'API keys',
  person: 'People',
  approval: 'Approvals',
  audit_entry: 'Audit log',
  error_code: 'Error codes',
};

export const KIND_NAMES: Readonly<Record<Group['kind'], string>> = {
  transfer: 'Transfer',
  card: 'Card',
  request: 'Request',
  case: 'Case',
  incident: 'Incident',
  reversal: 'Reversal',
  idempotency_key: 'Idempotency key',
  deposit: 'Deposit',
  withdrawal: 'Withdrawal',
  event: 'Event',
  program: 'Program',
  webhook: 'Webhook',
  api_key: 'Key',
  person: 'Person',
  approval: 'Approval',
  audit_entry: 'Audit log',
  error_code: 'Error code',
};

const TRANSFER = /\btr_[0-9a-f]{32}\b/;
const SUBJECT = /\b(?:tr|prog|wh|req|case|inc|apr)_[0-9a-f]{32}\b/;
const CARD = / about the card '(.+)'$/;

/** Returns the link to a hit, without the program. Undefined if no screen shows it. */
export function pathOfHit(kind: Group['kind'], { id, program_id, summary }: Hit): string | undefined {
  switch (kind) {
    case 'transfer':
    case 'card':
    case 'request':
    case 'case':
    case 'incident':
    case 'program':
    case 'webhook':
    case 'person':
    case 'approval':
      return pathOf(id, kind);
    case 'reversal':
      return pathOfFirst(TRANSFER, summary);
    case 'event': {
      const [, card] = CARD.exec(summary) ?? [];
      return card === undefined ? pathOfFirst(SUBJECT, summary) : pathOf(card, 'card');
    }
    case 'deposit':
    case 'withdrawal':
      return program_id === null ? undefined : pathOf(program_id);
    case 'api_key':
      return '/console/keys';
    case 'audit_entry':
      return '/console/audit';
    case 'error_code':
      return `/errors/${encodeURIComponent(id)}`;
    case 'idempotency_key':
      return undefined;
  }
}

function pathOfFirst(pattern: RegExp, text: string): string | undefined {
  const [id] = pattern.exec(text) ?? [];
  return id === undefined ? undefined : pathOf(id);
}

export function onlyHit(groups: readonly Group[]): { readonly kind: Group['kind']; readonly hit: Hit } | undefined {
  const [group, ...others] = groups;
  const [hit, ...more] = group?.results ?? [];
  if (group === undefined || hit === undefined || others.length > 0 || more.length > 0) return undefined;
  return { kind: group.kind, hit };
}

/** Whether a hit equals the search term, so that nothing else can be meant. */
export function isExact({ matched }: Hit): boolean {
  return matched !== 'name' && matched !== 'holder_reference' && matched !== 'id_prefix';
}
