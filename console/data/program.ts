import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';

/** The card program that the screens show. */
export type ChosenProgram = {
  /** Undefined if the caller can act in every program and has chosen none. */
  readonly programId: string | undefined;
  readonly isKnown: boolean;
  /** Chooses another one without leaving the screen; does nothing for a caller of one program. */
  readonly choose: (programId: string) => void;
};

export const ProgramContext = createContext<ChosenProgram>({
  programId: undefined,
  isKnown: false,
  choose: () => undefined,
});

/** The chosen card program. */
export function useProgram(): ChosenProgram {
  return useContext(ProgramContext);
}

/** The id of the chosen card program; undefined if the service chooses it by the caller. */
export function useProgramId(): string | undefined {
  return useContext(ProgramContext).programId;
}

/**
 * Chooses the program of what a screen shows, once that is known. Only for routes with `choosesProgram`: all others begin
 * again when the program changes.
 */
export function useProgramOf(programId: string | null | undefined): void {
  const { programId: chosen, choose } = useContext(ProgramContext);
  useEffect(() => {
    if (programId !== null && programId !== undefined && programId !== chosen) choose(programId);
  }, [programId]);
}
