import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** The card program that the screens show. */
export type ChosenProgram = {
  /** Undefined if the caller can act in every program and has chosen none. */
  readonly programId: string | undefined;
  readonly isKnown: boolean;
};

export const ProgramContext = createContext<ChosenProgram>({ programId: undefined, isKnown: false });

/** The chosen card program. */
export function useProgram(): ChosenProgram {
  return useContext(ProgramContext);
}

/** The id of the chosen card program; undefined if the service chooses it by the caller. */
export function useProgramId(): string | undefined {
  return useContext(ProgramContext).programId;
}
