import { OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { takesIfMatch } from '../../../contract/reading/versions.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { RequestHead } from './request-head.ts';

const VERSIONS = /^\s*(?:W\/)?"[\x21\x23-\x7e]*"(?:\s*,\s*(?:W\/)?"[\x21\x23-\x7e]*")*\s*$/;

type Preconditions = Pick<RequestHead, 'ifMatch' | 'ifNoneMatch' | 'ifUnmodifiedSince'>;

/**
 * The versions of a record that a change accepts, each in quotation marks; undefined for any. A precondition that the operation
 * cannot check is refused: ignored, it would overwrite what the caller wanted to protect. `If-None-Match` on a GET only asks
 * for less to be sent, and is ignored.
 *
 * A weak version counts as the same strong one: proxies that compress responses make them weak.
 *
 * @throws {Refusal} `<operation>_schema`
 */
export function readPrecondition(id: OperationId, head: Preconditions): readonly string[] | undefined {
  const { ifMatch, ifNoneMatch, ifUnmodifiedSince } = head;
  if (ifUnmodifiedSince !== undefined) throw unsupported(id, 'If-Unmodified-Since');
  if (ifNoneMatch !== undefined && OPERATIONS[id].method !== 'GET') throw unsupported(id, 'If-None-Match');
  if (ifMatch === undefined) return undefined;
  if (!takesIfMatch(id)) throw unsupported(id, 'If-Match');
  if (ifMatch.trim() === '*') return undefined;
  if (!VERSIONS.test(ifMatch)) {
    const message =
      'The If-Match header is not an ETag in quotation marks. Send the ETag of the response in which you read the record, ' +
      'unchanged, or omit the header.';
    throw new Refusal(`${id}_schema`, message);
  }
  return ifMatch.match(/"[^"]*"/g) ?? [];
}

function unsupported(id: OperationId, header: string): Refusal {
  const advice = takesIfMatch(id) ? 'Send If-Match with the ETag of the record.' : `Omit it.`;
  return new Refusal(`${id}_schema`, `${id} cannot check the ${header} header, which would be ignored. ${advice}`);
}
