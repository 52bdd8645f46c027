import { hash } from 'node:crypto';
import { ERRORS, isStored } from '../../contract/errors/catalogue.ts';
import { canonicalJson } from '../../contract/reading/json.ts';
import type { StoredAnswer } from '../../domain/idempotency.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Call, Reply } from '../operations/call.ts';

/** Part of every fingerprint, so that another way of making them never takes an old key for a different request. */
const FINGERPRINT_VERSION = 1;

/** SHA-256 in hex of what makes two requests the same: operation, path parameters, members as sent. */
export function fingerprintOf(call: Pick<Call, 'operation' | 'parameters' | 'sent'>): string {
  const path = Object.entries(call.parameters).sort(([left], [right]) => (left < right ? -1 : 1));
  const text = `${FINGERPRINT_VERSION}\n${call.operation}\n${JSON.stringify(path)}\n${canonicalJson(call.sent)}`;
  return hash('sha256', text, 'hex');
}

/** What is kept of a success under its key. */
export function keepSuccess(fingerprint: string, status: 200 | 201, subjectId: string, body: string): StoredAnswer {
  return { fingerprint, status, subjectId, body, code: null, message: null, field: null };
}

/** What is kept of a refusal under its key; undefined for those that may come out differently next time. */
export function keepRefusal(fingerprint: string, refusal: Refusal): StoredAnswer | undefined {
  if (!isStored(refusal.code)) return undefined;
  return {
    fingerprint,
    status: ERRORS[refusal.code].status,
    subjectId: null,
    body: null,
    code: refusal.code,
    message: refusal.message,
    field: refusal.details.field ?? null,
  };
}

/** A kept refusal as it was thrown the first time. */
export function refuseAgain(answer: StoredAnswer): Refusal | undefined {
  if (answer.code === null) return undefined;
  return new Refusal(answer.code, answer.message ?? '', {
    replayed: true,
    ...(answer.field === null ? {} : { field: answer.field }),
  });
}

/** A kept success as it was answered the first time. */
export function replyAgain(status: 200 | 201, body: string, location?: string): Reply {
  return { status, body, ...(location === undefined ? {} : { location }), replayed: true };
}
