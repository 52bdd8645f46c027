import { OPERATION_IDS, OPERATIONS, precedenceOf } from '../../contract/operations.ts';
import { RefusedCall } from './tool.ts';

/** Returns a schema without the members that only this project reads. Their names begin with `x-`. */
export function plainSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).filter(([name]) => !name.startsWith('x-'));
  return Object.fromEntries(members.map(([name, member]) => [name, plainSchema(member)]));
}

/** Describes an operation of the API: how to call it, and which error codes it returns. Throws RefusedCall if there is none. */
export function operationRecord(name: string): object {
  const id = OPERATION_IDS.find((one) => one === name);
  if (id === undefined) throw new RefusedCall('There is no such operation. Use search_docs to find its name.');
  const { method, path, summary, scope, query, body, status, reply, movesMoney, idempotency } = OPERATIONS[id];
  return {
    operation: id,
    method,
    path,
    about: summary,
    scope,
    moves_money: movesMoney,
    idempotency_key: idempotency,
    query: query === undefined ? null : plainSchema(query),
    body: body === undefined ? null : plainSchema(body),
    status,
    response: plainSchema(reply),
    error_codes: precedenceOf(id),
  };
}
