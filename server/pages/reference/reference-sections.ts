import { OPERATIONS, type OperationId, SECTIONS, type Section } from '../../../contract/operations.ts';

/** The sections of the reference with the operations that a service serves: those of the sandbox only in a sandbox. */
export function sectionsOf(mode: 'sandbox' | 'live'): readonly Section[] {
  return SECTIONS.map((section) => ({
    ...section,
    operations: section.operations.filter((id) => isServed(id, mode)),
  })).filter(({ operations }) => operations.length > 0);
}

/** Whether a service in this mode serves the operation. */
export function isServed(id: OperationId, mode: 'sandbox' | 'live'): boolean {
  return mode === 'sandbox' || OPERATIONS[id].reach !== 'sandbox';
}
