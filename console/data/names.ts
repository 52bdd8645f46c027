import { createContext } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { backgroundClient, onChange, onSignedInAgain } from './client.ts';
import { NameBook, type NamedKind, type Naming } from './name-book.ts';
import { useProgramId } from './program.ts';
import { useSession } from './session.ts';

/** The cache of names, which the shell provides. Outside the shell nothing has a name. */
export const NameContext = createContext(new NameBook(backgroundClient, () => false));

/** Returns the cache with the names that the caller can read, including the names in the session. */
export function useNameBook(): NameBook {
  const { can, keyId, personId, name, programId, programName } = useSession();
  const book = useMemo(() => {
    const made = new NameBook(backgroundClient, can);
    if (keyId !== null && name !== null) made.note({ kind: 'key', id: keyId }, name);
    if (personId !== null && name !== null) made.note({ kind: 'person', id: personId }, name);
    if (programId !== null && programName !== null) made.note({ kind: 'program', id: programId }, programName);
    return made;
  }, []);
  useEffect(() => {
    const stops = [onChange(() => book.refresh()), onSignedInAgain(() => book.refresh())];
    return () => {
      for (const stop of stops) stop();
    };
  }, [book]);
  return book;
}

const NOTHING: Naming = { name: undefined, isLoading: false, isMissing: false };

/**
 * Returns the name of a program, key, webhook or card: `useName('key', keyId).name`. Renders again when the name is known or
 * changes. Pass `programId` for a card or webhook of a program other than the chosen one.
 */
export function useName(kind: NamedKind, id: string | null | undefined, programId?: string | null): Naming {
  const book = useContext(NameContext);
  const chosen = useProgramId();
  const [, setCount] = useState(0);
  const program = programId ?? chosen;
  const subject = id === null || id === undefined || id === '' ? undefined : { kind, id, programId: program };
  const naming = subject === undefined ? NOTHING : book.read(subject);
  useEffect(() => {
    if (subject === undefined) return undefined;
    const renderAgain = () => setCount((count) => count + 1);
    const stop = book.watch(subject, renderAgain);
    // The name may have become known since this was rendered.
    if (book.read(subject) !== naming) renderAgain();
    return stop;
  }, [book, kind, id, program]);
  return naming;
}

/** Stores a name that a screen has read, once the id is known. Pass undefined for a record without a name. */
export function useNoted(
  kind: NamedKind,
  id: string | undefined,
  name: string | undefined,
  programId?: string | undefined,
): void {
  const book = useContext(NameContext);
  useEffect(() => {
    if (id !== undefined) book.note({ kind, id, programId }, name);
  }, [book, kind, id, name, programId]);
}
