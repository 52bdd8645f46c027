import { type CatalogueRecord, catalogueRecord } from '../../contract/errors/catalogue.ts';
import { ERROR_CODES, type ErrorCode, isErrorCode } from '../../domain/error-codes.ts';
import { Refusal } from '../../domain/refusal.ts';
import { maskedText } from '../redaction.ts';
import { searchCatalogue } from './error-search.ts';

/** The catalogue as data, in its own order; with a query, what fits it, best first. */
export function catalogueData(query: string): { readonly data: readonly CatalogueRecord[] } {
  const codes = query.trim() === '' ? ERROR_CODES : searchCatalogue(query).hits.map(({ code }) => code);
  return { data: codes.map(catalogueRecord) };
}

/** A code in a path, and whether the path asks for data by its ending. */
export type NamedCode = { readonly code: ErrorCode; readonly isData: boolean };

/**
 * The code that a path names, also when it ends in `.json`.
 *
 * @throws {Refusal} route_not_found
 */
export function findCode(name: string): NamedCode {
  const isData = name.endsWith('.json');
  const code = isData ? name.slice(0, -5) : name;
  if (isErrorCode(code)) return { code, isData };
  throw new Refusal('route_not_found', `There is no error code '${maskedText(code)}'. All of them are at /errors.`);
}
