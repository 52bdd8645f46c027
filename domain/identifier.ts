const HEX = /^[0-9a-f]{32}$/;

/** The prefix of an identifier on the wire, which names the kind of its record. */
export type IdentifierPrefix =
  | ('tr' | 'rev' | 'pst' | 'card' | 'prog' | 'dep' | 'wd' | 'evt' | 'req' | 'key' | 'aud')
  | ('wh' | 'sec' | 'rpl' | 'att' | 'ses' | 'per' | 'apr')
  | ('case' | 'msg' | 'inc')
  | ('pat' | 'brk' | 'stl' | 'mvi' | 'cmp');

/** An identifier as the caller sees it: the prefix and the 32 hex digits of its UUID, such as `tr_0192…`. */
export function toWireId(prefix: IdentifierPrefix, uuid: string): string {
  return `${prefix}_${uuid.slice(0, 8)}${uuid.slice(9, 13)}${uuid.slice(14, 18)}${uuid.slice(19, 23)}${uuid.slice(24)}`;
}

/** The UUID inside an identifier on the wire, or undefined if `id` does not have this prefix and form. */
export function fromWireId(prefix: IdentifierPrefix, id: string): string | undefined {
  if (!id.startsWith(`${prefix}_`)) return undefined;
  const hex = id.slice(prefix.length + 1);
  if (!HEX.test(hex)) return undefined;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The version digit of the UUIDs of people (RFC 9562, version 8). Those of keys have 7, so one column can hold both. */
export const PERSON_VERSION = '8';

/** The identifier of the key or the person with this UUID. */
export function toCredentialId(uuid: string): string {
  return toWireId(uuid[14] === PERSON_VERSION ? 'per' : 'key', uuid);
}
