import type { ErrorRow, ErrorRows, OperationId, OperationRow } from './generated/operations.ts';
import { BASE_PATH, DEFINED_FIELDS, ERROR_LINES, OPERATION_LINES } from './generated/tables.ts';

/** The method, path and other properties of each operation. */
export const OPERATIONS: Readonly<Record<OperationId, OperationRow>> = readOperations();

/** Every error code, with its HTTP status, its type, whether a retry can succeed, and whether money may have moved. */
export const ERRORS: ErrorRows = readErrors();

function linesOf(table: string): readonly (readonly string[])[] {
  return table
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
}

function readOperations(): Readonly<Record<OperationId, OperationRow>> {
  const rows = linesOf(OPERATION_LINES).map(([id = '', method = '', path = '', scope = '', ...words]) => {
    const oneOf = <Word extends string>(known: readonly Word[]) => known.find((word) => words.includes(word));
    const reach = oneOf(['sandbox', 'caller', 'connector']) ?? (path.startsWith('core/') ? 'program' : 'operator');
    const row: OperationRow = {
      method,
      path: BASE_PATH + path,
      program: reach === 'program',
      scope: scope === '-' ? null : (scope as OperationRow['scope']),
      reach,
      idempotency: oneOf(['optional', 'required']) ?? 'none',
      movesMoney: words.includes('money'),
      repeatable: method === 'GET' || words.includes('repeatable'),
      csv: words.includes('csv'),
      definedFields: DEFINED_FIELDS[id] ?? {},
    };
    return [id, row];
  });
  return Object.fromEntries(rows);
}

function readErrors(): ErrorRows {
  const rows: [string, ErrorRow][] = [];
  for (const [status, type, retry, ...codes] of linesOf(ERROR_LINES)) {
    const row = {
      status: Number(status),
      type: `${type} Error`,
      retry: retry === 'retry',
      moneyMoved: 'no',
    } as ErrorRow;
    rows.push(...codes.map((code): [string, ErrorRow] => [code, row]));
  }
  // In the order of the catalogue: the codes of a single operation come last.
  for (const id of Object.keys(OPERATIONS)) {
    rows.push([`${id}_schema`, { status: 400, type: 'Request Error', retry: false, moneyMoved: 'no' }]);
  }
  for (const [id, { movesMoney }] of Object.entries(OPERATIONS)) {
    const moneyMoved = movesMoney ? 'no or unknown' : 'no';
    rows.push([`unknown_${id}`, { status: 500, type: 'Server Error', retry: true, moneyMoved }]);
  }
  return Object.fromEntries(rows) as ErrorRows;
}
