import type { TObject } from 'typebox';
import type { ErrorCode } from '../domain/errors.ts';
import type { KeyScope } from '../domain/scope.ts';

/** What a key must be allowed to do. A route of the sandbox needs no key there, and the scope `operator` of one. */
export type Scope = KeyScope | 'sandbox';

/** The scope that a key must have for the scope of a route. */
export function scopeOfKey(scope: Scope): KeyScope {
  return scope === 'sandbox' ? 'operator' : scope;
}

/** How one operation looks from outside. */
export type Operation = {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Path with its parameters in braces; every parameter is a string of 1 to 255 characters. */
  readonly path: string;
  readonly summary: string;
  readonly scope: Scope;
  /** Whether the operation acts within one card program, which the key, or the Program-Id header, names. */
  readonly program: boolean;
  readonly body?: TObject;
  /** Bytes of the body at most, where it is not the usual 16 KiB. */
  readonly maxBodyBytes?: number;
  readonly query?: TObject;
  readonly status: 200 | 201;
  readonly reply: object;
  /** Whether the answer is a stream of lines of comma-separated values, and `reply` the shape of one line. */
  readonly csv?: true;
  readonly idempotency: 'none' | 'optional' | 'required';
  /** Whether a POST without an idempotency key does the same sent twice as sent once. */
  readonly repeatable?: true;
  /** Codes of the rules of the operation itself, in the order in which they are checked; the first that applies wins. */
  readonly rules: readonly ErrorCode[];
};

/** The media type of a merge patch (RFC 7396), as which the body of a PATCH is read; `application/json` says the same. */
export const MERGE_PATCH = 'application/merge-patch+json';

/** What is common to operations that read within a card program. */
export const READ = { method: 'GET', status: 200, idempotency: 'none', program: true } as const;
