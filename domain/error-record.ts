import type { ErrorType } from './catalogue-entry.ts';
import { CATALOGUE, type ErrorCode } from './errors.ts';

/** The body of every answer that is not 2xx: these four members, in this order (specification, section 2.1). */
export type ErrorRecord = {
  readonly Message: string;
  readonly Status: number;
  readonly Code: ErrorCode;
  readonly Type: ErrorType;
};

/** Whom a caller turns to, and what to quote there. */
export type Support = { readonly contact: string; readonly requestId: string };

/** A message with the sentence that sends to support: every error that the caller cannot resolve says so (7.1). */
export function withSupport(message: string, support: Support): string {
  return `${message} Please contact support (${support.contact}) and quote the request id ${support.requestId}.`;
}

/** The error record for a code (specification, section 2.1): status and type are the catalogue's. */
export function errorRecord(code: ErrorCode, message: string): ErrorRecord {
  const entry = CATALOGUE[code];
  return { Message: message, Status: entry.status, Code: code, Type: entry.type };
}
