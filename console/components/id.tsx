import { hrefTo } from '../data/location.ts';
import { isNamedKind } from '../data/name-book.ts';
import { type IdKind, kindOf, pathOf, piecesOf, shortId } from '../format/ids.ts';
import { CopyButton } from './button.tsx';
import { Moment } from './moment.tsx';
import { Name } from './name.tsx';

/**
 * Shows an id as a link to its screen, with a button that copies the whole id. If the record has a name, the link shows the
 * name. Cards can have any id, so pass `kind="card"`. Pass `programId` if the link leads to a program other than the chosen one.
 */
export function Id({
  id,
  kind,
  programId,
  whole = false,
  plain = false,
}: {
  readonly id: string | null | undefined;
  readonly kind?: IdKind | undefined;
  readonly programId?: string | null | undefined;
  /** Whether to show the whole id instead of the name. */
  readonly whole?: boolean;
  /** For sentences: without the button that copies the id. Its space would separate the id from the next word. */
  readonly plain?: boolean;
}) {
  if (id === null || id === undefined || id === '') return <span class="quiet none">–</span>;
  const known = kind ?? kindOf(id);
  if (!whole && isNamedKind(known)) return <Name kind={known} id={id} programId={programId} plain={plain} />;
  const path = pathOf(id, known);
  const text = whole ? id : shortId(id);
  const program = programId === null || programId === undefined ? {} : { program: programId };
  return (
    <span class="id">
      {path === undefined ? (
        <code title={id}>{text}</code>
      ) : (
        <a href={hrefTo(path, program)} title={id}>
          <code>{text}</code>
        </a>
      )}
      {!plain && <CopyButton text={id} label={`Copy the ${known === 'other' ? 'id' : `${known}'s id`}`} />}
    </span>
  );
}

/**
 * Shows a sentence from the service. Each id becomes a link, with the name of the record if it has one, and each time is in local
 * time. This is the only place that turns ids in sentences into names.
 */
export function LinkedText({
  text,
  programId,
  linked = true,
}: {
  readonly text: string;
  /** The program of the cards in the text, if it may not be the chosen one. */
  readonly programId?: string | null | undefined;
  /** False inside a link, which can't contain other links. */
  readonly linked?: boolean;
}) {
  return (
    <>
      {piecesOf(text).map((piece, at) => {
        const key = `${at} ${piece.text}`;
        if (piece.kind === 'moment') return <Moment key={key} at={piece.text} />;
        const kind = piece.kind === 'card' ? 'card' : piece.kind === 'id' ? kindOf(piece.text) : 'other';
        if (isNamedKind(kind)) {
          return <Name key={key} kind={kind} id={piece.text} programId={programId} plain linked={linked} />;
        }
        const path = piece.kind === 'id' && linked ? pathOf(piece.text) : undefined;
        if (path === undefined) return piece.text;
        return (
          <a key={key} href={hrefTo(path, { program: programId ?? undefined })}>
            {piece.text}
          </a>
        );
      })}
    </>
  );
}
