import { CATALOGUE, type CatalogueEntry, type ErrorCode, isErrorCode } from '../../domain/errors.ts';
import { Refusal } from '../../domain/refusal.ts';
import { quotable } from './quotable.ts';

/** One code of the catalogue as the service shows it, as data and, later, on a page. */
export type CatalogueRecord = {
  readonly code: string;
  readonly status: number;
  readonly type: string;
  readonly meaning: string;
  readonly causes: readonly string[];
  readonly resolution: string;
  readonly resolver: string;
  readonly money_moved: string;
  readonly retry: boolean;
  readonly since: string;
  readonly reproduce: string;
};

/** The whole catalogue, in its own order. */
export function catalogueRecords(): readonly CatalogueRecord[] {
  return Object.keys(CATALOGUE).filter(isErrorCode).map(catalogueRecord);
}

/**
 * One code of the catalogue, also when the path ends in `.json`.
 *
 * @throws {Refusal} route_dne
 */
export function findCatalogueRecord(name: string): CatalogueRecord {
  const code = name.endsWith('.json') ? name.slice(0, -5) : name;
  if (isErrorCode(code)) return catalogueRecord(code);
  throw new Refusal('route_dne', `There is no error code '${quotable(code)}'. All of them are at /errors.`);
}

function catalogueRecord(code: ErrorCode): CatalogueRecord {
  const { moneyMoved, ...entry }: CatalogueEntry = CATALOGUE[code];
  return {
    code,
    status: entry.status,
    type: entry.type,
    meaning: entry.meaning,
    causes: entry.causes,
    resolution: entry.resolution,
    resolver: entry.resolver,
    money_moved: moneyMoved,
    retry: entry.retry,
    since: entry.since,
    reproduce: entry.reproduce,
  };
}
