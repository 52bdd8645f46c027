import type { Scope } from './operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from './operations.ts';

/** Operations that the reference shows together. */
export type Section = {
  readonly title: string;
  readonly description: string;
  readonly scopes: readonly Scope[];
};

/** The sections of the reference, in its order; the scope of an operation says where it belongs. */
export const SECTIONS: readonly Section[] = [
  {
    title: 'Transfers',
    description:
      'Move money to, from and between cards, at once, later or held first; give it back, and find out what became of it.',
    scopes: ['transfers:read', 'transfers:write'],
  },
  {
    title: 'Cards',
    description: 'Register cards, change their states and limits, read their balances and statements.',
    scopes: ['cards:read', 'cards:write'],
  },
  { title: 'Errors', description: 'Look up what an answer was about.', scopes: ['errors:read'] },
  {
    title: 'Operators',
    description: "Run the service: card programs, their funding and limits, keys, the switch. Needs an operator's key.",
    scopes: ['operator'],
  },
  {
    title: 'Sandbox',
    description: 'Only in the sandbox: make things fail on purpose, and time pass.',
    scopes: ['sandbox'],
  },
  { title: 'Catalogue of errors', description: 'Every error code explained, for people and programs.', scopes: [] },
];

/** The section of an operation. Every scope has one; an operation without is a mistake in the table above. */
export function sectionOf(id: OperationId): Section {
  const section = SECTIONS.find(({ scopes }) => scopes.includes(OPERATIONS[id].scope));
  if (section === undefined) throw new TypeError(`The scope of ${id} belongs to no section.`);
  return section;
}

/** The operations of a section, in the order of the table of operations. */
export function operationsIn(section: Section): readonly OperationId[] {
  return OPERATION_IDS.filter((id) => section.scopes.includes(OPERATIONS[id].scope));
}
