import {
  type CallOptions,
  type CardRecord,
  type SearchQuery,
  type SearchResults,
  type TransferRecord,
  type TransferService,
  TransferServiceError,
} from '../../../sdk/client.ts';
import { DECIMALS, decimalsOf, formatAmount } from '../../format/amounts.ts';
import type { Group, Hit } from './hits.ts';

type Found = { readonly kind: Group['kind']; readonly hit: Hit };

export type OwnScopes = {
  readonly transfers: boolean;
  readonly cards: boolean;
  readonly errors: boolean;
  readonly events: boolean;
};

/**
 * Searches one card program with operations that its callers can use. Returns the same result as `search` for operators, but
 * finds only ids, references, idempotency keys, cards, digits, holders and amounts.
 */
export async function searchOwnProgram(
  api: TransferService,
  options: CallOptions,
  query: SearchQuery,
  scopes: OwnScopes,
): Promise<SearchResults> {
  const { q } = query;
  const looks = [
    ...(scopes.transfers ? lookForTransfers(api, options, query) : []),
    ...(scopes.cards ? lookForCards(api, options, q) : []),
    ...(scopes.errors && q.startsWith('req_') ? [lookForRequest(api, options, q, scopes)] : []),
  ];
  const found = (await Promise.all(looks.map(orNothing))).flat();
  const kinds = (['transfer', 'card', 'request', 'reversal'] as const).map((kind): Group => {
    const hits = found.filter((one) => one.kind === kind).map(({ hit }) => hit);
    const results = [...new Map(hits.reverse().map((hit) => [hit.id, hit])).values()].reverse();
    return { kind, results: results.slice(0, MAX_RESULTS), has_more: results.length > MAX_RESULTS };
  });
  return { data: kinds.filter(({ results }) => results.length > 0), complete: true };
}

const MAX_RESULTS = 5;
const limit = MAX_RESULTS + 1;

/** Returns no results if the record does not exist or the value is invalid: for a search, that is not an error. */
async function orNothing(look: Promise<readonly Found[]>): Promise<readonly Found[]> {
  try {
    return await look;
  } catch (error) {
    const isNothing = error instanceof TransferServiceError && (error.Status === 404 || error.Status === 400);
    if (isNothing) return [];
    throw error;
  }
}

function lookForTransfers(
  api: TransferService,
  options: CallOptions,
  { q, created_from, created_to }: SearchQuery,
): readonly Promise<readonly Found[]>[] {
  const { transfers } = api;
  if (q.startsWith('tr_')) return [transfers.get(q, options).then((transfer) => [transferHit(transfer, 'id')])];
  if (q.startsWith('rev_')) {
    return [
      transfers.reversal(q, options).then(({ transfer_id, program_id, amount, currency, created_at }) => {
        const summary = `Reversal of ${formatAmount(amount, currency)} of ${transfer_id}`;
        return [{ kind: 'reversal', hit: { id: q, program_id, matched: 'id', summary, created_at } }];
      }),
    ];
  }
  const list = async (query: Parameters<typeof transfers.list>[0], matched: Hit['matched']) =>
    (await transfers.list({ ...query, limit }, options)).data.map((transfer) => transferHit(transfer, matched));
  return [
    list({ reference: q }, 'reference'),
    list({ idempotency_key: q }, 'idempotency_key'),
    ...amountsOf(q).map(async ({ amount, decimals, currency }) => {
      const only = { minimum_amount: amount, maximum_amount: amount, created_from, created_to, limit };
      const { data } = await transfers.list(only, options);
      return data
        .filter((transfer) => decimalsOf(transfer.currency) === decimals)
        .filter((transfer) => currency === undefined || transfer.currency === currency)
        .map((transfer) => transferHit(transfer, 'amount'));
    }),
  ];
}

type TypedAmount = { readonly amount: number; readonly decimals: number; readonly currency: string | undefined };

/** Returns the minor units that `12.34`, `$1,234.56` or `12.34 USD` can mean, by the number of decimals of a currency. */
export function amountsOf(q: string): readonly TypedAmount[] {
  const [found, before, sent = '', fraction = '', after] =
    /^([A-Za-z]{3}\s+|[$€£¥]\s*)?(\d{1,12}|\d{1,3}(?:,\d{3}){1,3})(?:\.(\d{1,4}))?(\s+[A-Za-z]{3}|\s*[$€£¥])?$/.exec(
      q,
    ) ?? [];
  if (found === undefined) return [];
  const whole = sent.replaceAll(',', '');
  const unit = (before ?? after)?.trim().toUpperCase();
  // A sign such as $ is ignored, because several currencies share it and a program has few currencies.
  const currency = unit !== undefined && /^[A-Z]{3}$/.test(unit) ? unit : undefined;
  return DECIMALS.flatMap((decimals) => {
    if (/[1-9]/.test(fraction.slice(decimals))) return [];
    const amount = Number(whole + fraction.slice(0, decimals).padEnd(decimals, '0'));
    return amount < 1 || amount > 999_999_999_999 ? [] : [{ amount, decimals, currency }];
  });
}

function lookForCards(
  { cards }: TransferService,
  options: CallOptions,
  q: string,
): readonly Promise<readonly Found[]>[] {
  const list = async (query: Parameters<typeof cards.list>[0], matched: Hit['matched']) =>
    (await cards.list({ ...query, limit }, options)).data.map((card) =>
      cardHit(card, matched === 'id_prefix' && card.card_id === q ? 'id' : matched),
    );
  return [
    ...(/^[\x21-\x7e]+$/.test(q) ? [list({ card_id_prefix: q }, 'id_prefix')] : []),
    ...(/^\d{4}$/.test(q) ? [list({ last_four: q }, 'last_four')] : []),
    list({ holder_reference: q }, 'holder_reference'),
  ];
}

/** Finds a request, or only a failed one if the caller can't read requests. */
async function lookForRequest(
  api: TransferService,
  options: CallOptions,
  q: string,
  { transfers, events }: OwnScopes,
): Promise<readonly Found[]> {
  if (transfers && events) {
    const { request_id: id, program_id, summary, received_at: created_at } = await api.requests.get(q, options);
    return [{ kind: 'request', hit: { id, program_id, matched: 'id', summary, created_at } }];
  }
  const { request_id: id, operation, status, code, created_at } = await api.errors.get(q, options);
  const summary = `${operation ?? 'Request'} failed with ${status} ${code}`;
  return [{ kind: 'request', hit: { id, program_id: null, matched: 'id', summary, created_at } }];
}

function transferHit(transfer: TransferRecord, matched: Hit['matched']): Found {
  const { transfer_id: id, program_id, type, amount, currency, card_id, status, created_at } = transfer;
  const money = formatAmount(amount, currency);
  const what = {
    load: `Load of ${money} to the card '${card_id}'`,
    unload: `Unload of ${money} from the card '${card_id}'`,
    card_to_card: `Transfer of ${money} from the card '${card_id}' to the card '${transfer.destination_card_id}'`,
  }[type];
  return { kind: 'transfer', hit: { id, program_id, matched, summary: `${what}: ${status}`, created_at } };
}

function cardHit(card: CardRecord, matched: Hit['matched']): Found {
  const { card_id: id, program_id, status, balance, currency, last_four, created_at } = card;
  const digits = last_four === null ? '' : ` ending in ${last_four}`;
  const summary = `Card${digits}: ${status}, balance ${formatAmount(balance, currency)}`;
  return { kind: 'card', hit: { id, program_id, matched, summary, created_at } };
}
