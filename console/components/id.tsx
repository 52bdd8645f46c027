import { hrefTo } from '../data/location.ts';
import { type IdKind, kindOf, pathOf, shortId } from '../format/ids.ts';
import { piecesOf } from '../format/linked-text.ts';
import { CopyButton } from './copy-button.tsx';
import { Moment } from './moment.tsx';
import { Name } from './name.tsx';

/**
 * An id: a link to the screen of what it names, and a button that copies all of it. Cards can have any id, so say
 * `kind="card"`. `programId` for a link into another program than the chosen one.
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
  /** Whether a long id is shown in full. */
  readonly whole?: boolean;
}) {
  if (id === null || id === undefined || id === '') return <span class="quiet">–</span>;
  const known = kind ?? kindOf(id);
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

/** A text of the service, with each id as a link, by its name where it has one, and each time in local time. */
export function LinkedText({ text }: { readonly text: string }) {
  return (
    <>
      {piecesOf(text).map((piece, at) => {
        const key = `${at} ${piece.text}`;
        if (piece.kind === 'moment') return <Moment key={key} at={piece.text} />;
        const kind = piece.kind === 'id' ? kindOf(piece.text) : 'other';
        if (kind === 'program' || kind === 'key' || kind === 'webhook') {
          return <Name key={key} kind={kind} id={piece.text} plain />;
        }
        const path = piece.kind === 'id' ? pathOf(piece.text) : undefined;
        if (path === undefined) return piece.text;
        return (
          <a key={key} href={hrefTo(path)}>
            {piece.text}
          </a>
        );
      })}
    </>
  );
}
