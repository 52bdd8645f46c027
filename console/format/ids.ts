/** What an id names. */
export type IdKind =
  | 'transfer'
  | 'reversal'
  | 'request'
  | 'card'
  | 'program'
  | 'event'
  | 'webhook'
  | 'key'
  | 'deposit'
  | 'withdrawal'
  | 'audit entry'
  | 'case'
  | 'incident'
  | 'attempt'
  | 'break'
  | 'other';

const PREFIXES: ReadonlyMap<string, IdKind> = new Map([
  ['tr', 'transfer'],
  ['rev', 'reversal'],
  ['req', 'request'],
  ['card', 'card'],
  ['prog', 'program'],
  ['evt', 'event'],
  ['wh', 'webhook'],
  ['key', 'key'],
  ['dep', 'deposit'],
  ['wd', 'withdrawal'],
  ['aud', 'audit entry'],
  ['case', 'case'],
  ['inc', 'incident'],
  ['pat', 'attempt'],
  ['brk', 'break'],
]);

/** What an id names, by its prefix. */
export function kindOf(id: string): IdKind {
  return PREFIXES.get(/^([a-z]+)_/.exec(id)?.[1] ?? '') ?? 'other';
}

/**
 * What the subject of an event or an audit entry is, by the event's type or the entry's action; undefined if its id tells.
 * The id of a card can be anything.
 */
export function kindOfSubject(name: string): IdKind | undefined {
  return /^card\.|_card(?:_holder)?$/.test(name) ? 'card' : undefined;
}

/** The path of the screen about an id; undefined if there is none. */
export function pathOf(id: string, kind: IdKind = kindOf(id)): string | undefined {
  const name = encodeURIComponent(id);
  switch (kind) {
    case 'transfer':
      return `/console/transfer/${name}`;
    case 'request':
      return `/console/request/${name}`;
    case 'card':
      return `/console/card/${name}`;
    case 'program':
      return `/console/programs/${name}`;
    case 'webhook':
      return `/console/webhooks/${name}`;
    case 'case':
      return `/console/case/${name}`;
    case 'incident':
      return `/console/incident/${name}`;
    case 'reversal':
    case 'event':
    case 'key':
    case 'deposit':
    case 'withdrawal':
      return `/console/search?q=${name}`;
    default:
      return undefined;
  }
}

/** When a request was received by its id, in milliseconds since 1970; NaN for what is no id of a request. */
export function timeOfRequest(requestId: string): number {
  const [, digits = ''] = /^req_([0-9a-f]{12})/.exec(requestId) ?? [];
  return Number.parseInt(digits, 16);
}

/** An id with its middle left out where it is long: `tr_01936f…8c2e41`. The whole id stays in what is copied. */
export function shortId(id: string): string {
  return id.length <= 20 ? id : `${id.slice(0, 10)}…${id.slice(-6)}`;
}
