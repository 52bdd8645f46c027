import { hrefTo } from '../data/location.ts';
import { isNamedKind } from '../data/name-book.ts';
import { type IdKind, kindOf, pathOf, piecesOf, shortId } from '../format/ids.ts';
import { CopyButton } from './button.tsx';
import { Moment } from './moment.tsx';
import { Name } from './name.tsx';

/**
 * What an id names: by its name where people give it one, else the id itself, as a link to its screen, and a button that
 * copies all of it. Cards can have any id, so say `kind="card"`. `programId` for a link into another program than the chosen
 * one.
 */
export function Id({
  id,
  kind,
  programId,
  whole = false,
}: {
  readonly id: string | null | undefined;
  readonly kind?: IdKind | undefined;
  readonly programId?: string | null | undefined;
  /** Whether the id itself is shown, and in full. */
  readonly whole?: boolean;
}) {
  if (id === null || id === undefined || id === '') return <span class="quiet none">–</span>;
  const known = kind ?? kindOf(id);
  if (!whole && isNamedKind(known)) return <Name kind={known} id={id} programId={programId} />;
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
      <CopyButton text={id} label={`Copy the ${known === 'other' ? 'id' : `${known}'s id`}`} />
    </span>
  );
}

/**
 * A text of the service, with each id as a link, by its name where it has one, and each time in local time. The one place
 * where ids in sentences become names.
 */
export function LinkedText({
  text,
  programId,
  linked = true,
}: {
  readonly text: string;
  /** Of the cards in it, if it may be another program than the chosen one. */
  readonly programId?: string | null | undefined;
  /** False within a link, which cannot contain others. */
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
