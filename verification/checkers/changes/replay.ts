import { CARD_STATUSES, type Card, type CardStatus } from '../../../domain/cards/card.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { type Account, post } from '../../../domain/ledger/ledger.ts';
import {
  type CountedDay,
  type CounterChange,
  type Direction,
  type Limits,
  usageOf,
} from '../../../domain/ledger/limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { SwitchSetting } from '../../../domain/switch.ts';
import {
  decideCancel,
  decideCapture,
  decideExpiry,
  refuseDisabled,
  type TransferWithHold,
} from '../../../domain/transfers/change-transfer.ts';
import { begin, decideTransfer, type TransferPlan } from '../../../domain/transfers/create-transfer.ts';
import { decideReversal } from '../../../domain/transfers/reverse-transfer.ts';
import {
  newTransfer,
  plainTerms,
  STATUSES_WITH_REFERENCE,
  statusAt,
  type TransferTerms,
  type TransferType,
} from '../../../domain/transfers/transfer.ts';
import type { TransferView } from '../../../domain/transfers/transfer-view.ts';
import { toReversalRecord, toTransferRecord } from '../../../server/calls/records/transfer.ts';
import { toLimits } from '../../../server/store/ledger/limits.ts';
import { calendarAt } from '../../../test/harness/local-time.ts';
import type { Sent } from '../../generators/changes/requests.ts';
import type { History, LoggedEvent, Transaction } from './history.ts';

/** The description of a closed card's last transfer. */
const SWEEP = 'Balance of the closed card';

type Fields = Readonly<Record<string, unknown>>;

type Program = { readonly currency: string; readonly limits: Limits | null; readonly cardLimits: Limits | null };

/**
 * Rebuilds the books from nothing. It decides everything committed again, one by one in commit order, by the same rules and
 * on the state at that point. Decisions made on outdated or uncommitted data have another result here.
 */
export class Replay {
  readonly problems: string[] = [];
  readonly #accounts = new Map<string, Account>();
  readonly #cards = new Map<string, Card>();
  readonly #initialCards: ReadonlyMap<string, Omit<Card, 'status' | 'expiresOn' | 'limits' | 'connectorId'>>;
  readonly #programs = new Map<string, Program>();
  #switches: readonly SwitchSetting[] = [];
  readonly #days = new Map<string, Map<number, CountedDay>>();
  readonly #existing = new Map<string, TransferWithHold>();
  readonly #references = new Map<string, string>();

  constructor({ cards, accounts }: Pick<History, 'cards' | 'accounts'>) {
    this.#initialCards = new Map(cards.map((card) => [`${card.programId}\n${card.name}`, card]));
    const empty = { balance: 0n, held: 0n, incoming: 0n, sequence: 0n };
    for (const account of accounts) this.#accounts.set(account.accountId, { ...account, ...empty });
  }

  /** Repeats a transaction. Calls `between` before its first decision and after each decision. */
  run({ position, events, accounts }: Transaction, between: () => void): void {
    between();
    for (const event of events) {
      try {
        this.#carryOut(event);
      } catch (error) {
        this.#say(position, `${event.type} ${event.subjectId} failed: ${String(error)}`);
      }
      between();
    }
    // Only the programs of this row: the sandbox's own program was created before the recording.
    for (const logged of new Map(accounts.map((account) => [account.accountId, account])).values()) {
      const { accountId, balance, held, incoming, sequence } = logged;
      const account = this.#account(accountId);
      if (!this.#programs.has(account.programId)) continue;
      const found = `balance ${balance}, held ${held}, incoming ${incoming}, sequence ${sequence}`;
      const right = `balance ${account.balance}, held ${account.held}, incoming ${account.incoming}, sequence ${account.sequence}`;
      if (found === right) continue;
      this.#say(position, `${account.kind} account ${accountId} has ${found} instead of ${right}`);
      // Continues from the recorded account, so one difference is reported once.
      this.#accounts.set(accountId, { ...account, balance, held, incoming, sequence });
    }
  }

  /** Returns the refusal that a request would get now, or undefined if it would succeed. */
  refuse({ programId: wireId, asked }: Pick<Sent, 'programId' | 'asked'>, now: number): Refusal | undefined {
    const programId = inner('prog', wireId);
    if (asked.does === 'create') {
      const { type, card, destination, reference, isHeld } = asked;
      const terms: TransferTerms = {
        ...plainTerms(type, BigInt(asked.amount), card),
        destinationCardName: destination,
        reference,
        capture: isHeld ? 'manual' : 'automatic',
      };
      const plan = decideTransfer(
        { creation: creationOf(programId, programId, now), terms, notes: {} },
        this.#view(terms, programId, now),
      );
      return plan instanceof Refusal ? plan : undefined;
    }
    const existing = this.#existing.get(asked.transferId);
    if (existing === undefined)
      return new Refusal('transfer_not_found', `There is no transfer '${asked.transferId}' in this card program.`);
    const view = this.#view(existing.transfer, programId, now);
    if (asked.does === 'cancel') return refusalOf(decideCancel(existing, view));
    const disabled = refuseDisabled(existing.transfer, view);
    if (disabled !== undefined) return disabled;
    if (asked.does === 'capture') return refusalOf(decideCapture(existing, BigInt(asked.amount), view));
    const request = {
      reversalId: programId,
      requestId: programId,
      createdBy: null,
      description: null,
      amount: BigInt(asked.amount),
    };
    return refusalOf(decideReversal(existing.transfer, request, view));
  }

  #carryOut({ type, subjectId, payload }: LoggedEvent): void {
    const fields = JSON.parse(payload) as Fields;
    if (type.startsWith('transfer.')) this.#transfer(type, fields, payload);
    else if (type === 'reversal.completed') this.#reverse(fields, payload);
    else if (type === 'funding.deposited' || type === 'funding.withdrawn') this.#fund(type, fields);
    else if (type.startsWith('card.')) this.#changeCard(fields);
    else if (type.startsWith('program.')) this.#changeProgram(fields);
    // Only the event for operators has an actor. The event for card programs says less.
    else if (type === 'switch.changed' && 'actor' in fields) this.#changeSwitch(fields);
    else if (['switch.changed', 'error.recorded', 'funding.low'].includes(type)) return;
    else throw new Error(`unknown event ${type} of ${subjectId}`);
  }

  #transfer(type: string, fields: Fields, payload: string): void {
    const transferId = String(fields.transfer_id);
    const existing = this.#existing.get(transferId);
    this.#apply(existing === undefined ? this.#create(type, fields) : this.#change(type, fields, existing), payload);
  }

  #change(type: string, fields: Fields, existing: TransferWithHold): TransferPlan | Refusal {
    const view = this.#view(existing.transfer, inner('prog', String(fields.program_id)), time(fields.updated_at));
    if (type === 'transfer.canceled') return decideCancel(existing, view);
    if (type === 'transfer.expired') return decideExpiry(existing, view);
    const captured = BigInt(Number(fields.captured_amount));
    return refuseDisabled(existing.transfer, view) ?? decideCapture(existing, captured, view);
  }

  #create(type: string, fields: Fields): TransferPlan | Refusal {
    const programId = inner('prog', String(fields.program_id));
    const now = time(fields.created_at);
    const creation = { ...creationOf(programId, inner('tr', String(fields.transfer_id)), now), ...originOf(fields) };
    const terms: TransferTerms = {
      type: fields.type as TransferType,
      amount: BigInt(Number(fields.amount)),
      cardName: String(fields.card_id),
      destinationCardName: textOrNull(fields.destination_card_id),
      currency: null,
      reference: textOrNull(fields.reference),
      capture: fields.capture === 'manual' ? 'manual' : 'automatic',
      expiresAt: fields.expires_at === null ? null : time(fields.expires_at),
      scheduledFor: null,
    };
    const description = textOrNull(fields.description);
    const view = this.#view(terms, programId, now);
    if (description === SWEEP && type === 'transfer.completed') {
      if (view.card === undefined) throw new Error('the emptied card does not exist');
      const source = view.account(view.card.accountId);
      const destination = view.account(view.card.fundingAccountId);
      const transfer = newTransfer(creation, terms, { description }, { card: view.card, destinationCard: undefined });
      return begin({ ...transfer, amount: source.balance }, { card: view.card, ends: { source, destination } }, []);
    }
    return decideTransfer({ creation, terms, notes: { description } }, view);
  }

  #reverse(fields: Fields, payload: string): void {
    const programId = inner('prog', String(fields.program_id));
    const existing = this.#existing.get(String(fields.transfer_id));
    if (existing === undefined) throw new Error('its transfer does not exist');
    const view = this.#view(existing.transfer, programId, time(fields.created_at));
    const request = {
      reversalId: inner('rev', String(fields.reversal_id)),
      requestId: programId,
      createdBy: NO_KEY,
      description: textOrNull(fields.description),
      amount: BigInt(Number(fields.amount)),
    };
    const plan = refuseDisabled(existing.transfer, view) ?? decideReversal(existing.transfer, request, view);
    const json = 'reversal' in plan ? JSON.stringify(toReversalRecord(plan.reversal)) : payload;
    if (json !== payload) throw new Error(`${payload} instead of ${json}`);
    this.#apply(plan);
  }

  /** Applies a plan. Its event must be `payload`. */
  #apply(plan: TransferPlan | Refusal, payload?: string): void {
    if (plan instanceof Refusal) throw new Error(`at that point it is refused: ${plan.code}: ${plan.message}`);
    const { transfer, hold, accounts, counts } = plan;
    const record = toTransferRecord(transfer);
    const json = JSON.stringify(record);
    if (payload !== undefined && json !== payload) throw new Error(`${payload} instead of ${json}`);
    for (const account of accounts) this.#accounts.set(account.accountId, account);
    for (const change of counts) this.#count(change);
    this.#existing.set(record.transfer_id, { transfer, hold: hold ?? undefined });
    if (transfer.reference === null) return;
    const name = `${transfer.programId}\n${transfer.reference}`;
    if (STATUSES_WITH_REFERENCE.some((status) => status === transfer.status))
      this.#references.set(name, record.transfer_id);
    else if (this.#references.get(name) === record.transfer_id) this.#references.delete(name);
  }

  #count({ accountId, direction, dayStart, amount, count }: CounterChange): void {
    const key = `${accountId} ${direction}`;
    const days = this.#days.get(key) ?? new Map<number, CountedDay>();
    const before = days.get(dayStart) ?? { dayStart, amount: 0n, count: 0n };
    days.set(dayStart, { dayStart, amount: before.amount + amount, count: before.count + count });
    this.#days.set(key, days);
  }

  #fund(type: string, fields: Fields): void {
    const programId = inner('prog', String(fields.program_id));
    const of = (kind: string): Account => {
      const found = [...this.#accounts.values()].find((each) => each.programId === programId && each.kind === kind);
      if (found === undefined) throw new Error(`there is no ${kind} account`);
      return found;
    };
    const isIn = type === 'funding.deposited';
    const ends = isIn
      ? { source: of('world'), destination: of('funding') }
      : { source: of('funding'), destination: of('world') };
    const purpose = isIn ? 'deposit' : 'withdrawal';
    const { source, destination } = post({ index: 0, purpose, ...ends, amount: BigInt(Number(fields.amount)) });
    for (const account of [source, destination]) this.#accounts.set(account.accountId, account);
    const { balance } = isIn ? destination : source;
    if (Number(balance) !== fields.balance) throw new Error(`the balance is ${fields.balance} instead of ${balance}`);
  }

  #changeCard(fields: Fields): void {
    const name = String(fields.card_id);
    const programId = inner('prog', String(fields.program_id));
    const initial = this.#initialCards.get(`${programId}\n${name}`);
    const status = CARD_STATUSES.find((each) => each === fields.status) as CardStatus;
    if (initial === undefined) throw new Error('the card does not exist');
    const { balance, held, incoming } = this.#account(initial.accountId);
    const seen = `balance ${fields.balance}, held ${fields.held}, incoming ${fields.incoming}`;
    const right = `balance ${balance}, held ${held}, incoming ${incoming}`;
    this.#cards.set(`${programId}\n${name}`, {
      ...initial,
      status,
      connectorId: null,
      expiresOn: null,
      limits: toLimits(fields.limits),
    });
    if (seen !== right) throw new Error(`the card is shown with ${seen} instead of ${right}`);
    const isEmpty = balance === 0n && held === 0n && incoming === 0n;
    if (status === 'closed' && !isEmpty) throw new Error(`it was closed with ${right}`);
  }

  #changeProgram(fields: Fields): void {
    const { currency, limits, card_limits } = fields;
    const rules = { currency: String(currency), limits: toLimits(limits), cardLimits: toLimits(card_limits) };
    this.#programs.set(inner('prog', String(fields.program_id)), rules);
  }

  #changeSwitch({ program_id, type, disabled, reason, actor, since, until }: Fields): void {
    const programId = program_id === null ? null : inner('prog', String(program_id));
    const isOther = (setting: SwitchSetting): boolean =>
      setting.programId !== programId || setting.transferType !== type;
    const setting: SwitchSetting = {
      programId,
      transferType: type as TransferType | null,
      // No transfer of this row goes to a processor.
      connectorId: null,
      disabled: disabled === true,
      reason: textOrNull(reason),
      actor: String(actor),
      since: time(since),
      until: until === null ? null : time(until),
    };
    this.#switches = [...this.#switches.filter(isOther), setting];
  }

  #account(accountId: string): Account {
    const account = this.#accounts.get(accountId);
    if (account === undefined) throw new Error(`there is no account ${accountId}`);
    return account;
  }

  #view(
    {
      cardName,
      destinationCardName,
      reference = null,
    }: { readonly cardName: string; readonly destinationCardName: string | null; readonly reference?: string | null },
    programId: string,
    now: number,
  ): TransferView {
    const program = this.#programs.get(programId);
    if (program === undefined) throw new Error('the program does not exist');
    const calendar = calendarAt(now, 'UTC');
    return {
      programId,
      now,
      rules: { programId, ...program, today: new Date(now).toISOString().slice(0, 'YYYY-MM-DD'.length), calendar },
      switches: this.#switches,
      card: this.#cards.get(`${programId}\n${cardName}`),
      destinationCard:
        destinationCardName === null ? undefined : this.#cards.get(`${programId}\n${destinationCardName}`),
      account: (accountId) => this.#account(accountId),
      usage: (accountId: string, direction: Direction) =>
        usageOf([...(this.#days.get(`${accountId} ${direction}`)?.values() ?? [])], calendar),
      connectorState: () => 'missing',
      referenceTakenBy: this.#takerOf(programId, reference, now),
    };
  }

  #takerOf(programId: string, reference: string | null, now: number): string | undefined {
    const taker = reference === null ? undefined : this.#references.get(`${programId}\n${reference}`);
    const transfer = taker === undefined ? undefined : this.#existing.get(taker)?.transfer;
    return transfer !== undefined && statusAt(transfer, now) === 'expired' ? undefined : taker;
  }

  #say(position: number, problem: string): void {
    this.problems.push(`at ${position}: ${problem}`);
  }
}

function refusalOf(plan: object): Refusal | undefined {
  return plan instanceof Refusal ? plan : undefined;
}

function creationOf(programId: string, transferId: string, now: number) {
  return { programId, transferId, requestId: programId, idempotencyKey: null, createdBy: null, now };
}

/** The stored `created_by` of callers without a key. All callers of this test have none. */
const NO_KEY = '00000000-0000-0000-0000-000000000000';

function originOf(fields: Fields) {
  const { request_id: requestId, idempotency_key: key } = fields;
  return { requestId: inner('req', String(requestId)), idempotencyKey: textOrNull(key), createdBy: NO_KEY };
}

function inner(prefix: Parameters<typeof fromWireId>[0], wireId: string): string {
  const id = fromWireId(prefix, wireId);
  if (id === undefined) throw new Error(`'${wireId}' is not an id`);
  return id;
}

function time(moment: unknown): number {
  return Date.parse(String(moment));
}

function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
