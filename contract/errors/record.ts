import type { RefusalCode } from '../../domain/error-codes.ts';

// Invariant: Fields, codes and types match the specification
// Kept by: `contract/errors/`
// Tested by: `test/api/requests/conformance.test.ts`

/** The three types of errors (specification, sections 2.1 and 7.1). */
export const ERROR_TYPES = ['Request Error', 'Server Error', 'Process Error'] as const;

export type ErrorType = (typeof ERROR_TYPES)[number];

/** The body of every response that is not 2xx: these four fields, in this order (specification, section 2.1). */
export type ErrorRecord = {
  readonly Message: string;
  readonly Status: number;
  readonly Code: RefusalCode;
  readonly Type: ErrorType;
};

const TO_SUPPORT = / Please contact support \([^)]{0,300}\) and quote the request id req_[0-9a-f]{32}\./;

/** Returns a message without the sentence that {@link withSupport} adds. Support staff need no reference to support. */
export function withoutSupport(message: string): string {
  return message.replace(TO_SUPPORT, '');
}

/** How to contact support, and the request id to quote. */
export type Support = { readonly contact: string; readonly requestId: string };

/** Adds a sentence that refers to support. Every error that the caller cannot resolve has it (specification, section 7.1). */
export function withSupport(message: string, support: Support): string {
  return `${message} Please contact support (${support.contact}) and quote the request id ${support.requestId}.`;
}
