import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';

export type ChosenProgram = {
  /** Undefined if the caller can act in every program and has chosen none. */
  readonly programId: string | undefined;
  readonly isKnown: boolean;
  /** Chooses another program without leaving the screen. Does nothing for a caller of one program. */
  readonly choose: (programId: string) => void;
};

export const ProgramContext = createContext<ChosenProgram>({
  programId: undefined,
  isKnown: false,
  choose: () => undefined,
});

export function useProgram(): ChosenProgram {
  return useContext(ProgramContext);
}

/** Returns the id of the chosen card program, or undefined if the service derives it from the caller. */
export function useProgramId(): string | undefined {
  return useContext(ProgramContext).programId;
}

/**
 * Chooses the program of the record on the screen, once it is known. Only for routes with `choosesProgram`: all other screens
 * start again when the program changes.
 */
export function useProgramOf(programId: string | null | undefined): void {
  const { programId: chosen, choose } = useContext(ProgramContext);
  useEffect(() => {
    if (programId !== null && programId !== undefined && programId !== chosen) choose(programId);
  }, [programId]);
}
