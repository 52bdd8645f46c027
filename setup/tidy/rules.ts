import { generatedAreCurrent } from './generated.ts';
import { arrow, noCycles } from './imports.ts';
import { callsNobody } from './network.ts';
import { environmentInOnePlace, pureDomain, sqlInOnePlace } from './places.ts';
import { type Project, type Rule, readProject, type Violation } from './project.ts';
import { fileSize, functionSize } from './sizes.ts';
import { comments, docComments, names, noAny, noForeignTraces, noPartialRuns } from './words.ts';

/** What tidy checks, in the order of STYLE.md. */
export const rules: readonly Rule[] = [
  arrow,
  noCycles,
  names,
  fileSize,
  functionSize,
  environmentInOnePlace,
  sqlInOnePlace,
  callsNobody,
  pureDomain,
  noAny,
  comments,
  noPartialRuns,
  docComments,
  generatedAreCurrent,
  noForeignTraces,
];

/** Reads the project below a directory and holds it against every rule. */
export function inspect(root: string): { readonly project: Project; readonly violations: readonly Violation[] } {
  const project = readProject(root);
  const violations = [...project.unreadable, ...rules.flatMap((rule) => rule(project))];
  violations.sort((one, other) => one.file.localeCompare(other.file) || one.line - other.line);
  return { project, violations };
}

/** A violation as an editor or a terminal makes a link of it. */
export function describe({ file, line, sentence }: Violation): string {
  return `${file}:${line}: ${sentence}`;
}
