import type { CallOptions, LoggedErrorRecord, OperatorErrorRecord, TransferService } from '../../../sdk/client.ts';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { type OperationState, useOperation } from '../../data/use-operation.ts';
import { given } from '../../data/use-pages.ts';
import { decimalsOf, formatAmount } from '../../format/amounts.ts';
import { currencyOfError } from '../../format/requests/values.ts';
import { amountsOf } from './search-own-program.ts';
import type { Timed } from './when.ts';

/** A refused request to create a transfer. The program is known if the list covers all programs. */
export type RefusedRequest = LoggedErrorRecord & Partial<Pick<OperatorErrorRecord, 'program_id'>>;

export type Refused = {
  readonly rows: readonly RefusedRequest[];
  /** Whether older requests were not compared with the amount. */
  readonly hasOlder: boolean;
};

/** The most that a list returns at once. The service can't filter errors by amount. */
const MAX_COMPARED = 100;
const MAX_SHOWN = 5;
const MIN_NAME_LENGTH = 3;

const OPERATION = 'create_transfer';

type Wanted = { readonly amounts: ReturnType<typeof amountsOf>; readonly holder: string | undefined };

/** Reads `75`, `75 USD` or part of a name with an amount: `Priya 75`. Undefined if the text has no amount. */
export function readAmount(text: string): Wanted | undefined {
  const whole = amountsOf(text);
  if (whole.length > 0) return { amounts: whole, holder: undefined };
  const words = text.split(/\s+/);
  for (const count of [2, 1]) {
    for (const at of [words.length - count, 0]) {
      const holder = words.toSpliced(at, count).join(' ');
      const amounts = amountsOf(words.slice(at, at + count).join(' '));
      if (amounts.length > 0 && holder.length >= MIN_NAME_LENGTH) return { amounts, holder };
    }
  }
  return undefined;
}

/**
 * Finds refused requests by the amount and the time of a search, and by part of the holder's name. Without a search, or if the
 * search has no amount, nothing is sent.
 */
export function useRefused(search: Timed | undefined): OperationState<Refused> {
  const { can } = useSession();
  const isOperator = can('search_errors');
  const wanted = search === undefined ? undefined : readAmount(search.q);
  const isFound = search !== undefined && wanted !== undefined && (isOperator || can('list_errors'));
  return useOperation(isFound ? (api, options) => findRefused(api, options, search, wanted, isOperator) : undefined, {
    deps: [JSON.stringify(search)],
    isOwn: true,
  });
}

type Card = { readonly id: string; readonly program: string | undefined };

async function findRefused(
  api: TransferService,
  options: CallOptions,
  { from, to }: Timed,
  { amounts, holder }: Wanted,
  isOperator: boolean,
): Promise<Refused> {
  const filter = { operation: OPERATION, limit: MAX_COMPARED, ...given({ created_from: from, created_to: to }) };
  const list = (card?: Card) => {
    const only = { ...filter, ...given({ card_id: card?.id }) };
    if (!isOperator) return api.errors.list(only, options);
    return api.errors.search({ ...only, ...given({ program_id: card?.program }) }, options);
  };
  const cards = holder === undefined ? [undefined] : await cardsOf(api, options, holder, isOperator);
  const pages = await Promise.all(cards.map((card) => list(card)));
  const rows = pages.flatMap<RefusedRequest>(({ data }) => data).filter((error) => isOf(error, amounts));
  return {
    rows: rows.toSorted((left, right) => right.created_at.localeCompare(left.created_at)).slice(0, MAX_SHOWN),
    hasOlder: pages.some(({ next_cursor: next }) => next !== null),
  };
}

async function cardsOf(
  api: TransferService,
  options: CallOptions,
  holder: string,
  isOperator: boolean,
): Promise<readonly Card[]> {
  if (isOperator) {
    const { data } = await api.search.find({ q: holder }, options);
    const found = data.find(({ kind }) => kind === 'card')?.results ?? [];
    return found.map(({ id, program_id: program }) => ({ id, program: program ?? undefined }));
  }
  const { data } = await api.cards.list({ holder_reference: holder, limit: MAX_SHOWN }, options);
  return data.map(({ card_id: id }) => ({ id, program: undefined }));
}

/** Whether a request was for one of the amounts. If the error names no currency, two decimals are assumed. */
function isOf(error: RefusedRequest, amounts: Wanted['amounts']): boolean {
  const currency = currencyOfError(error);
  return amounts.some(
    (wanted) =>
      minorUnitsOf(error) === String(wanted.amount) &&
      wanted.decimals === decimalsOf(currency ?? '') &&
      (wanted.currency === undefined || currency === undefined || wanted.currency === currency),
  );
}

/** Returns the amount of a request in minor units. The log stores it as a number or as its digits. */
function minorUnitsOf({ request }: RefusedRequest): string {
  const amount = request?.amount;
  return typeof amount === 'number' || typeof amount === 'string' ? String(amount) : '';
}

/** Returns the amount of a refused request, if its currency is known. */
export function amountOf(error: RefusedRequest): string | undefined {
  const currency = currencyOfError(error);
  const amount = minorUnitsOf(error);
  return /^\d+$/.test(amount) && currency !== undefined ? formatAmount(amount, currency) : undefined;
}

/** Returns the link to all refused transfers of the time of a search. */
export function hrefOfRefusals({ from, to }: Pick<Timed, 'from' | 'to'>): string {
  const period = from === '' ? '' : 'exact';
  return hrefTo(`/console/errors?period=${period}&operation=${OPERATION}`, { from, to });
}

export function hrefOfRequest({ request_id: id }: RefusedRequest): string {
  return hrefTo(`/console/request/${encodeURIComponent(id)}`);
}
