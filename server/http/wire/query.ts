import type { JsonValue } from '../../../contract/json.ts';
import { maskedText } from '../../redaction.ts';

/** What is wrong with a query, in a sentence. */
export class QueryFault extends Error {
  override readonly name = 'QueryFault';
  readonly field: string | undefined;

  constructor(message: string, field?: string) {
    super(message);
    this.field = field;
  }
}

/** The members of a query, by name; every value is a string. */
export type QueryMembers = { readonly [name: string]: JsonValue };

/**
 * Reads the query of a request target. A name may stand there once, so that no two readers can choose different values.
 *
 * @throws {QueryFault}
 */
export function readQuery(target: string): QueryMembers {
  const members: { [name: string]: JsonValue } = Object.create(null);
  const start = target.indexOf('?');
  if (start === -1) return members;
  for (const pair of target.slice(start + 1).split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodePart(equals === -1 ? pair : pair.slice(0, equals));
    if (name === '__proto__') throw new QueryFault("The query parameter '__proto__' is not allowed.");
    if (members[name] !== undefined) {
      throw new QueryFault(`The query parameter '${maskedText(name)}' is there twice.`, `/${maskedText(name)}`);
    }
    members[name] = equals === -1 ? '' : decodePart(pair.slice(equals + 1));
  }
  return members;
}

function decodePart(part: string): string {
  const text = decoded(part.replaceAll('+', ' '));
  if (text.includes('\0')) throw new QueryFault('The query holds the character %00, which is not allowed.');
  return text;
}

function decoded(part: string): string {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw new QueryFault("The query holds a '%' that does not begin an escape of valid UTF-8.");
  }
}
