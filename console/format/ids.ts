export type IdKind =
  | 'transfer'
  | 'reversal'
  | 'request'
  | 'card'
  | 'program'
  | 'event'
  | 'webhook'
  | 'key'
  | 'person'
  | 'deposit'
  | 'withdrawal'
  | 'audit entry'
  | 'case'
  | 'incident'
  | 'attempt'
  | 'break'
  | 'settlement file'
  | 'move-in'
  | 'comparison'
  | 'approval'
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
  ['per', 'person'],
  ['dep', 'deposit'],
  ['wd', 'withdrawal'],
  ['aud', 'audit entry'],
  ['case', 'case'],
  ['inc', 'incident'],
  ['pat', 'attempt'],
  ['brk', 'break'],
  ['stl', 'settlement file'],
  ['mvi', 'move-in'],
  ['cmp', 'comparison'],
  ['apr', 'approval'],
]);

/** Returns the kind of an id, from its prefix. */
export function kindOf(id: string): IdKind {
  return PREFIXES.get(/^([a-z]+)_/.exec(id)?.[1] ?? '') ?? 'other';
}

/**
 * Returns the kind of the subject of an event or an audit entry, from the event's type or the entry's action, or undefined if
 * the prefix of the id is enough. The id of a card can be anything.
 */
export function kindOfSubject(name: string): IdKind | undefined {
  return /^card\.|_card(?:_holder)?$/.test(name) ? 'card' : undefined;
}

/** Returns the path of the screen for an id, or undefined if there is none. */
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
    case 'approval':
      return `/console/approval/${name}`;
    case 'break':
      return `/console/break/${name}`;
    case 'settlement file':
      return `/console/settlement/${name}`;
    case 'move-in':
      return `/console/move-ins/${name}`;
    case 'comparison':
      return `/console/move-ins/comparison/${name}`;
    case 'person':
      return '/console/keys';
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

/** Returns when a request was received, from its id, in milliseconds since 1970. NaN if it is not the id of a request. */
export function timeOfRequest(requestId: string): number {
  const [, digits = ''] = /^req_([0-9a-f]{12})/.exec(requestId) ?? [];
  return Number.parseInt(digits, 16);
}

/**
 * Shortens a long id to its prefix and its end: `tr_…8c2e41`. The digits between them are the time, so ids of one minute differ only
 * at the end. Copying it still copies the whole id.
 */
export function shortId(id: string): string {
  if (id.length <= 20) return id;
  const [prefix = id.slice(0, 10)] = /^[a-z]+_(?=[0-9a-f]{32}$)/.exec(id) ?? [];
  return `${prefix}…${id.slice(-6)}`;
}

export type TextPiece = { readonly text: string; readonly kind: 'id' | 'card' | 'moment' | 'text' };

/**
 * Matches ids of the service (a prefix and 32 hexadecimal digits), moments in the format of the API, and ids of cards. The id of
 * a card can be any string, but in sentences the service writes it as card 'employee-7'.
 */
const PIECE =
  /(\b(?:tr|rev|req|prog|evt|wh|key|per|dep|wd|case|inc|apr|brk|stl|mvi|cmp|card)_[0-9a-f]{32}\b|(?<=\bcard )'[\x21-\x7e]{1,255}?'(?=[\s.,:;)]|$)|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** Splits a sentence, so that each id in it can become a name or a link, and each moment can be in the user's time zone. */
export function piecesOf(text: string): readonly TextPiece[] {
  return text
    .split(PIECE)
    .map((piece, at, pieces): TextPiece => {
      if (at % 2 === 0) return { text: beforeMoment(piece, pieces[at + 1]), kind: 'text' };
      if (piece.startsWith("'")) return { text: piece.slice(1, -1), kind: 'card' };
      if (piece.startsWith('card_')) return { text: piece, kind: 'card' };
      return { text: piece, kind: /^\d/.test(piece) ? 'moment' : 'id' };
    })
    .filter((piece) => piece.text !== '');
}

/** A moment is shown as a date with a time: "at 2026-11-23T20:21:43Z" becomes "on 23 Nov 2026, 21:21:43". */
function beforeMoment(text: string, next: string | undefined): string {
  return next !== undefined && /^\d/.test(next) ? text.replace(/\bat $/, 'on ') : text;
}
