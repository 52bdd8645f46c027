/** A piece of a text: an id, or what is between ids. */
export type TextPiece = { readonly text: string; readonly isId: boolean };

/** Ids that the service makes: a prefix and 32 hexadecimal digits. */
const ID = /\b((?:tr|rev|req|prog|evt|wh|key|dep|wd)_[0-9a-f]{32})\b/;

/** The pieces of a text, so that each id in it can be a link. */
export function piecesOf(text: string): readonly TextPiece[] {
  return text
    .split(ID)
    .map((piece, at) => ({ text: piece, isId: at % 2 === 1 }))
    .filter((piece) => piece.text !== '');
}
