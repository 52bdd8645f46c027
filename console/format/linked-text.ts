/** A piece of a text: an id, the id of a card without its quotes, a moment, or what is between them. */
export type TextPiece = { readonly text: string; readonly kind: 'id' | 'card' | 'moment' | 'text' };

/**
 * Ids that the service makes, a prefix and 32 hexadecimal digits; ids of cards, which can be anything, as the service writes
 * them in sentences: card 'employee-7'; and moments as the API writes them.
 */
const PIECE =
  /(\b(?:tr|rev|req|prog|evt|wh|key|dep|wd|case|inc|card)_[0-9a-f]{32}\b|(?<=\bcard )'[\x21-\x7e]{1,255}?'(?=[\s.,:;)]|$)|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** The pieces of a text, so that each id in it can be a name or a link, and each moment in the time zone of the reader. */
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
