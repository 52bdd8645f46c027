import type { ExportTransfersQuery } from '../../../sdk/client.ts';
import { boundsOf, type Period } from '../../format/times.ts';

/** The filters of list_transfers in the URL: moments in UTC, amounts in minor units, and empty for any. */
export const NO_FILTERS = {
  card_id: '',
  status: '',
  type: '',
  /** The name of a period, instead of the two times. */
  period: '',
  created_from: '',
  created_to: '',
  reference: '',
  idempotency_key: '',
  minimum_amount: '',
  maximum_amount: '',
  metadata_name: '',
  metadata_value: '',
};

export type TransferFilters = typeof NO_FILTERS;

export function filtersSet(filters: TransferFilters): readonly (keyof TransferFilters)[] {
  const names = Object.keys(NO_FILTERS) as (keyof TransferFilters)[];
  return names.filter((name) => filters[name] !== '');
}

export function periodOf({ period, created_from: from, created_to: to }: TransferFilters): Period {
  return { period, from, to };
}

/** Returns the amount if the filters ask for exactly one, or an empty string. */
export function exactAmountOf({ minimum_amount: minimum, maximum_amount: maximum }: TransferFilters): string {
  return minimum === maximum ? minimum : '';
}

/** A value without a name filters nothing yet. A name without a value finds pairs with an empty value. */
function isWhole({ metadata_name: name }: TransferFilters): boolean {
  return name !== '';
}

/**
 * Returns the query of list_transfers, as of `now` (milliseconds since 1970). Values that were edited in the URL are sent
 * unchanged, so that the service reports what is wrong with them.
 */
export function queryOf(filters: TransferFilters, now: number): ExportTransfersQuery {
  const { minimum_amount: minimum, maximum_amount: maximum, type, status } = filters;
  const text = (name: keyof TransferFilters): string | undefined => filters[name] || undefined;
  const hasPair = isWhole(filters);
  const { from, to } = boundsOf(periodOf(filters), now);
  return {
    card_id: text('card_id'),
    status: (status || undefined) as ExportTransfersQuery['status'],
    type: (type || undefined) as ExportTransfersQuery['type'],
    created_from: from,
    created_to: to,
    reference: text('reference'),
    idempotency_key: text('idempotency_key'),
    minimum_amount: minimum === '' ? undefined : Number(minimum),
    maximum_amount: maximum === '' ? undefined : Number(maximum),
    metadata_name: hasPair ? text('metadata_name') : undefined,
    metadata_value: hasPair ? filters.metadata_value : undefined,
  };
}

export function problemsOf(filters: TransferFilters): Partial<Readonly<Record<keyof TransferFilters, string>>> {
  if (isWhole(filters) || filters.metadata_value === '') return {};
  return { metadata_name: 'Enter the name of the pair.' };
}
