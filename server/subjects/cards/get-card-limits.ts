import type { CardLimitsRecord } from '../../../contract/limits.ts';
import {
  type CardLimitsView,
  type CardOutlook,
  type DirectionOutlook,
  outlookOf,
} from '../../../domain/cards/card-limits.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { available } from '../../../domain/ledger/ledger.ts';
import { type LimitState, usageOf } from '../../../domain/ledger/limits.ts';
import { toWire, toWireSum } from '../../../domain/ledger/money.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { cardMissing } from '../../calls/program.ts';
import { transact } from '../../commit/transaction.ts';
import { type LoadedCard, readAccountsOfCard, readCards, toLoadedCard } from '../../store/card.ts';
import type { Loaded } from '../../store/connection/database.ts';
import { toAccount } from '../../store/ledger/account.ts';
import { ONE_SNAPSHOT } from '../../store/locks.ts';
import { readProgramRules, toRulesNow } from '../../store/program.ts';

/**
 * get_card_limits: returns which transfers of the card would be allowed now, or throws `card_not_found`. Reads the
 * same rows as create_transfer, but in one snapshot instead of under locks.
 */
export async function getCardLimits(
  service: Service,
  call: Call<'get_card_limits'>,
): Promise<Reply<'get_card_limits'>> {
  const { programId } = call;
  const { card_id: name } = call.params;
  const load = {
    snapshot: ONE_SNAPSHOT,
    rules: readProgramRules([programId]),
    cards: readCards([{ programId, name }]),
    accounts: readAccountsOfCard(programId, name),
  };
  const record = await transact(service.database, call.deadline, load, (loaded) => {
    const [row] = loaded.cards;
    if (row === undefined) throw cardMissing(name);
    return { result: toRecord(toLoadedCard(row), loaded), writes: [], readsOnly: true };
  });
  return { record };
}

function toRecord(found: LoadedCard, loaded: Loaded<'rules' | 'accounts'>): CardLimitsRecord {
  const { card } = found;
  const view = viewOf(found, loaded);
  const account = view.account(card.accountId);
  const outlook = outlookOf(card, view);
  return {
    card_id: card.name,
    program_id: toWireId('prog', card.programId),
    currency: card.currency,
    balance: toWire(account.balance),
    available: toWire(available(account)),
    incoming: toWire(account.incoming),
    in: toDirection(outlook.in),
    out: toDirection(outlook.out),
    maximum_balance: toMaximum(outlook.maximumBalance),
    evaluated_at: new Date(view.now).toISOString(),
  };
}

function viewOf({ card, days }: LoadedCard, loaded: Loaded<'rules' | 'accounts'>): CardLimitsView {
  const [row] = loaded.rules;
  if (row === undefined) throw new Error('the card program of a request does not exist');
  const program = toRulesNow(row);
  const accounts = loaded.accounts.map(toAccount);
  return {
    programId: card.programId,
    now: program.now,
    rules: program.rules,
    switches: program.switches,
    account: (accountId) => {
      const account = accounts.find((one) => one.accountId === accountId);
      if (account === undefined) throw new Error('an account of a card does not exist');
      return account;
    },
    // The counters of the program are stored under its funding account.
    usage: (accountId, direction) =>
      usageOf((accountId === card.accountId ? days : program.days)?.[direction] ?? [], program.rules.calendar),
  };
}

function toDirection({ code, most, least, limits }: DirectionOutlook): CardLimitsRecord['in'] {
  return { allowed: code === null, code, most: toWire(most), least: toWire(least), limits: limits.map(toLimitState) };
}

function toLimitState({ name, source, value, used, left, freesAt }: LimitState): CardLimitsRecord['in']['limits'][0] {
  return {
    name,
    set_by: source,
    value: toWire(value),
    used: used === null ? null : toWireSum(used),
    left: left === null ? null : toWire(left),
    frees_at: freesAt === null ? null : new Date(freesAt).toISOString(),
  };
}

function toMaximum(bound: CardOutlook['maximumBalance']): CardLimitsRecord['maximum_balance'] {
  if (bound === null || bound.source === 'program') return null;
  return { value: toWire(bound.value), set_by: bound.source, left: toWire(bound.left) };
}
