// Writes the SDK's tables of operations and errors as text. As objects they would be half of the package.
import { ERRORS } from '../../contract/errors/catalogue.ts';
import type { Operation } from '../../contract/operation.ts';
import { OPERATIONS as DEFINITIONS, movesMoney, OPERATION_IDS, type OperationId } from '../../contract/operations.ts';
import { guardedFields, isClosed } from '../../contract/schema-parts.ts';
import { HEAD } from './type-text.ts';

// Invariant: The SDK is at most 15 KB in a compressed bundle, and runs on Node 20, 22, 24 and in a browser from its
//   tarball
// Kept by: this file; `tools/packages/build-sdk.ts`
// Tested by: `test/packages/sdk-*.test.ts`, `test/console/sdk-package.test.ts`

const OPERATIONS: Readonly<Record<OperationId, Operation>> = DEFINITIONS;
const BASE_PATH = '/api/v0.1/';

/** The file that `sdk/tables.ts` reads. */
export function tablesFile(): string {
  return `${HEAD}
/** The beginning of every path. */
export const BASE_PATH: string = '${BASE_PATH}';

/** For each operation: its name, method, path, scope (- for none), and its differences from most others. */
export const OPERATION_LINES: string = \`
${OPERATION_IDS.map(operationLine).join('\n')}\`;

/** For each kind of error: status, type, whether it can be retried, and the codes that do not belong to one operation. */
export const ERROR_LINES: string = \`
${errorLines().join('\n')}\`;

/** For some operations: fields that must not be undefined. The value ends the sentence about the field. */
export const DEFINED_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = ${definedFields()};
`;
}

function operationLine(id: OperationId): string {
  const { method, path, scope, reach, idempotency, repeatable, csv } = OPERATIONS[id];
  if (!path.startsWith(BASE_PATH)) throw new Error(`The path of ${id} does not begin with ${BASE_PATH}.`);
  const words = [id, method, path.slice(BASE_PATH.length), scope ?? '-'];
  if (reach !== 'operator') words.push(reach);
  if (idempotency !== 'none') words.push(idempotency);
  if (movesMoney(id)) words.push('money');
  if (repeatable && method !== 'GET') words.push('repeatable');
  if (csv) words.push('csv');
  return words.join(' ');
}

/** In the order of the catalogue. Consecutive codes of one kind share a line. */
function errorLines(): readonly string[] {
  const lines: string[] = [];
  for (const [code, { status, type, retryable }] of Object.entries(ERRORS)) {
    if (OPERATION_IDS.some((id) => code === `${id}_schema` || code === `unknown_${id}`)) continue;
    const kind = `${status} ${type.replace(' Error', '')} ${retryable ? 'retry' : '-'} `;
    const last = lines.at(-1);
    if (last?.startsWith(kind)) lines[lines.length - 1] = `${last} ${code}`;
    else lines.push(kind + code);
  }
  return lines;
}

function definedFields(): string {
  const fields = OPERATION_IDS.flatMap((id) => {
    const { body } = OPERATIONS[id];
    const guarded = body === undefined || !isClosed(body) ? {} : guardedFields(body);
    return Object.keys(guarded).length === 0 ? [] : [[id, guarded] as const];
  });
  return JSON.stringify(Object.fromEntries(fields));
}
