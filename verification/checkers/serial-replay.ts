import type { CardRecord } from '../../contract/cards.ts';
import type { FundingMovementRecord, ProgramRecord } from '../../contract/programs.ts';
import type { SwitchRecord } from '../../contract/service/switch.ts';
import type { ReversalRecord } from '../../contract/transfer-actions.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import { toLimits } from '../../server/store/ledger/limits.ts';
import { destinationOf, fundingOf, type StandingLimit, sourceOf, sum, worldOf } from '../model/books.ts';
import { type Change, type LowFunding, Model, nameOf, type Refused } from '../model/model.ts';
import type { FoundEvent } from './books.ts';
import type { AccountOwner, Commits, Transaction } from './commits.ts';
import type { Operation } from './history.ts';

/** The description of a closed card's last transfer. */
const SWEEP = 'Balance of the closed card';

/** Events that say nothing about money or rules. */
const IGNORED: ReadonlySet<string> = new Set(['error.recorded']);

const UNLIMITED = { in: {}, out: {}, maximumBalance: null };

/** The data of any event. */
type Data = { readonly program_id: string | null; readonly transfer_id?: string; readonly movement_id?: string };

/** The refusal that a request must get: its code, and the parts that its message must contain. */
export type Expected = { readonly code: string; readonly parts: readonly string[] };

/**
 * Rebuilds the books from nothing with the model of the rules. It decides everything committed again, one by one in commit order,
 * on the state at that point. Decisions made on outdated or uncommitted data have a different result here. It covers the programs
 * that were created in the recorded time.
 */
export class SerialReplay {
  readonly problems: string[] = [];
  /** Every time that the funding of a program became low. */
  readonly lows: LowFunding[] = [];
  readonly #model = new Model();
  readonly #owners: ReadonlyMap<string, AccountOwner>;
  /** The first record of each transfer. */
  readonly #records = new Map<string, TransferRecord>();
  /** The transfer that empties a card. The event of the card comes next. */
  #sweep: TransferRecord | undefined;
  /** The funding.low that must be the next event of a program. */
  readonly #lows = new Map<unknown, string>();
  /** Whether each scope of the switch is disabled, by program and type. */
  readonly #disabled = new Map<string, boolean>();

  constructor({ owners }: Pick<Commits, 'owners'>) {
    this.#owners = owners;
  }

  /** Repeats a transaction. Calls `between` before its first decision and after each decision. */
  run({ position, events, accounts }: Transaction, between: () => void = () => undefined): void {
    const say = (problem: string): void => void this.problems.push(`at ${position}: ${problem}`);
    between();
    for (const event of events) {
      try {
        this.#carryOut(event);
      } catch (error) {
        say(`${event.type} ${event.subjectId} failed: ${String(error)}`);
      }
      between();
    }
    for (const low of this.#lows.values()) say(`there is no event funding.low: ${low}`);
    this.#lows.clear();
    if (this.#sweep !== undefined) say(`${this.#sweep.transfer_id} emptied a card that was not closed`);
    this.#sweep = undefined;
    for (const account of new Map(accounts.map((each) => [each.accountId, each])).values()) this.#compare(account, say);
  }

  #compare(
    { accountId, balance, held, incoming, sequence }: Transaction['accounts'][number],
    say: (problem: string) => void,
  ): void {
    const owner = this.#owners.get(accountId);
    if (owner === undefined) say(`the account ${accountId} has no owner`);
    if (owner === undefined || !this.#isCovered(owner.programId)) return;
    const sums = this.#model.books.sums(accountOf(owner));
    const found = `balance ${balance}, held ${held}, incoming ${incoming}, sequence ${sequence}`;
    const right = `balance ${sums.balance}, held ${sums.held}, incoming ${sums.incoming}, sequence ${sums.lines}`;
    if (found === right) return;
    say(`${owner.kind} account ${accountId} has ${found} instead of ${right}`);
    // Continues from the recorded account, so one difference is reported once.
    Object.assign(sums, { balance, held, incoming, lines: sequence });
  }

  /** Returns the refusal that a request would get now, or undefined if it would succeed. */
  refuse({ programId, asked }: Pick<Operation, 'programId' | 'asked'>, now: number): Expected | undefined {
    this.#model.books.now = now;
    const change = toChange(programId, asked);
    const refused = this.#model.refuse(change);
    if (refused === null) return undefined;
    const about = refused.about === null ? [] : [refused.about.replaceAll(`${programId} `, '')];
    return { code: refused.code, parts: [...about, ...this.#figuresOf(refused, change)] };
  }

  /** The state of the books that the message of a refusal must show. */
  #figuresOf({ code, about }: Refused, change: Change): readonly string[] {
    const { books } = this.#model;
    if (change.does !== 'create' && !('transfer' in change)) return [];
    const transfer = 'transfer' in change ? books.transfers.get(change.transfer) : undefined;
    const asked = change.does === 'create' ? change.asked : transfer;
    if (asked === undefined) return [];
    const { program, type, reference, amount } = asked;
    if (code === 'service_disabled') return [this.#scopeOf(program, type)];
    if (code === 'duplicate_reference') return [this.#holderOf(program, reference)];
    const currency = books.cards.get(asked.card)?.currency ?? '';
    const route = { ...asked, currency };
    const [source, destination] = [sourceOf(route), destinationOf(route)];
    const giver = change.does === 'reverse' ? destination : source;
    if (code === 'insufficient_funds') return [`${money(books.available(giver), currency)} available`];
    if (about?.startsWith("'maximum_balance'"))
      return [`${money(books.sums(destination).balance, currency)} on the card`];
    if (transfer === undefined) {
      // A limit of the card program that is broken, too, is not in the message.
      const named = books.limitsOf(route).find((limit) => nameOf(limit) === about && isBroken(limit, amount));
      return named === undefined ? [] : [figuresOf(named, currency)];
    }
    if (code !== 'amount_too_large') return [];
    const left = transfer.captured - sum(transfer.reversals);
    return [change.does === 'reverse' ? `${money(left, currency)} remain` : `holds ${money(amount, currency)}`];
  }

  /** The transfer that has a reference. */
  #holderOf(program: string, reference: string | null): string {
    const { books } = this.#model;
    const found = [...books.transfers].find(
      ([, transfer]) =>
        transfer.program === program &&
        transfer.reference === reference &&
        !['failed', 'canceled', 'expired'].includes(books.status(transfer)),
    );
    return found?.[0] ?? '';
  }

  /** The words for the widest scope that is disabled. */
  #scopeOf(program: string, type: string): string {
    if (this.#disabled.get(scope(null, null))) return 'The service is disabled.';
    if (this.#disabled.get(scope(program, null))) return 'The service is disabled for this card program.';
    return `The service is disabled for transfers of type '${type}' in this card program.`;
  }

  #carryOut({ type, payload }: FoundEvent): void {
    const data = JSON.parse(payload) as Data;
    const { program_id: program } = data;
    if (type === 'program.created') this.#createProgram(data as ProgramRecord);
    if (type === 'program.created' || IGNORED.has(type) || (program !== null && !this.#isCovered(program))) return;
    const due = this.#lows.get(program);
    if (type === 'funding.low' || due !== undefined) {
      this.#lows.delete(program);
      const found = type === 'funding.low' ? payload : undefined;
      if (found !== due) throw new Error(`funding.low is ${found} instead of ${due}`);
      if (type === 'funding.low') return;
    }
    if (type.startsWith('transfer.')) this.#transfer(type, data as TransferRecord, payload);
    else if (type === 'reversal.completed') this.#reverse(data as ReversalRecord, payload);
    else if (type === 'funding.deposited') this.#fund('deposit', data as FundingMovementRecord);
    else if (type === 'funding.withdrawn') this.#fund('withdraw', data as FundingMovementRecord);
    else if (type === 'card.created' || type === 'card.updated') this.#changeCard(type, data as CardRecord);
    else if (type === 'program.updated') this.#updateProgram(data as ProgramRecord);
    else if (type === 'switch.changed') this.#changeSwitch(data as SwitchRecord);
    else throw new Error('unknown event');
    for (const low of this.#model.low.splice(0)) {
      const { program: name, available, threshold } = low;
      this.lows.push(low);
      const { currency } = this.#model.books.program(name);
      const { transfer_id = null, movement_id = null } = data;
      const figures = { available: Number(available), threshold: Number(threshold) };
      this.#lows.set(name, JSON.stringify({ program_id: name, currency, ...figures, transfer_id, movement_id }));
    }
  }

  #perform(change: Change, now?: unknown): void {
    if (now !== undefined) this.#model.books.now = time(now);
    const refused = this.#model.perform(change);
    if (refused === null || refused.code === 'unchanged') return;
    throw new Error(`at that point it is refused: ${refused.code} ${refused.about ?? ''}`);
  }

  #transfer(type: string, data: TransferRecord, payload: string): void {
    const id = data.transfer_id;
    if (this.#model.books.transfers.has(id)) {
      if (type === 'transfer.canceled') this.#perform({ does: 'cancel', transfer: id }, data.updated_at);
      else if (type === 'transfer.expired') this.#perform({ does: 'expire', transfer: id }, data.updated_at);
      else if (type === 'transfer.completed')
        this.#perform({ does: 'capture', transfer: id, amount: amountOf(data.captured_amount) }, data.updated_at);
      else throw new Error('unknown event');
    } else if (data.description === SWEEP && type === 'transfer.completed') {
      this.#sweep = data;
      return;
    } else this.#create(id, data);
    this.#compareRecord(id, data, payload);
  }

  #create(id: string, data: TransferRecord): void {
    const { type, capture, reference, program_id: program, destination_card_id, expires_at } = data;
    const asked = {
      program,
      type,
      amount: amountOf(data.amount),
      card: cardOf(program, data.card_id),
      destination: destination_card_id === null ? null : cardOf(program, destination_card_id),
      currency: null,
      reference,
      capture,
      expiresAt: expires_at === null ? null : time(expires_at),
      scheduledFor: null,
    };
    this.#perform({ does: 'create', id, asked }, data.created_at);
  }

  /** Compares the record of an event with the books. Everything that the books do not have must stay as in the first record. */
  #compareRecord(id: string, data: TransferRecord, payload: string): void {
    const { status, captured, reversals, currency, expiresAt, updatedAt, completedAt } = this.#model.books.transfer(id);
    const first = this.#records.get(id) ?? data;
    this.#records.set(id, first);
    const right = JSON.stringify({
      ...first,
      captured_amount: Number(captured),
      reversed_amount: Number(sum(reversals)),
      currency,
      status,
      outcome: status === 'pending' ? 'open' : 'final',
      expires_at: moment(expiresAt),
      updated_at: moment(updatedAt),
      completed_at: moment(completedAt),
    });
    if (right !== payload) throw new Error(`${payload} instead of ${right}`);
  }

  #reverse(data: ReversalRecord, payload: string): void {
    const { transfer_id: transfer } = data;
    this.#perform({ does: 'reverse', transfer, amount: amountOf(data.amount) }, data.created_at);
    const { program, currency } = this.#model.books.transfer(transfer);
    const right = JSON.stringify({ ...data, program_id: program, currency, status: 'completed' });
    if (right !== payload) throw new Error(`${payload} instead of ${right}`);
  }

  #fund(does: 'deposit' | 'withdraw', data: FundingMovementRecord): void {
    const { program_id: program, currency, reference } = data;
    this.#perform({ does, program, currency, amount: amountOf(data.amount), reference });
    const { balance } = this.#model.books.sums(fundingOf(program, currency));
    if (Number(balance) !== data.balance) throw new Error(`the balance is ${data.balance} instead of ${balance}`);
  }

  #changeCard(type: string, data: CardRecord): void {
    const { books } = this.#model;
    const { program_id: program, currency, status, expires_on: expiresOn } = data;
    const card = cardOf(program, data.card_id);
    const limits = toLimits(data.limits);
    if (type === 'card.created')
      books.cards.set(card, { program, currency, isElsewhere: false, status, expiresOn, limits });
    else {
      const sweep = this.#sweep;
      this.#sweep = undefined;
      const balanceTo = sweep === undefined ? null : 'funding';
      const change = { program, card, status, expiresOn, limits: limits ?? UNLIMITED, balanceTo } as const;
      this.#perform({ does: 'update_card', ...change, sweep: sweep?.transfer_id ?? '' }, data.updated_at);
      if (sweep !== undefined) this.#compareRecord(sweep.transfer_id, sweep, JSON.stringify(sweep));
    }
    const { balance, held, incoming } = books.sums(card);
    const right = `balance ${balance}, held ${held}, incoming ${incoming}`;
    const found = `balance ${data.balance}, held ${data.held}, incoming ${data.incoming}`;
    if (found !== right) throw new Error(`the card is shown with ${found} instead of ${right}`);
  }

  #createProgram(data: ProgramRecord): void {
    const { program_id: program, time_zone: zone, currency } = data;
    this.#model.books.programs.set(program, { zone, currency, ...rulesOf(data) });
  }

  #updateProgram(data: ProgramRecord): void {
    this.#perform({ does: 'update_program', program: data.program_id, ...rulesOf(data) });
  }

  #changeSwitch(data: SwitchRecord): void {
    // Only the event for operators has an actor. The event for card programs says less.
    if (!('actor' in data)) return;
    const { program_id: program, type, disabled, until } = data;
    const end = until === null ? null : time(until);
    this.#perform({ does: 'change_switch', program, type, disabled, until: end }, data.since);
    this.#disabled.set(scope(program, type), disabled);
  }

  #isCovered(program: unknown): boolean {
    return this.#model.books.programs.has(String(program));
  }
}

/** Translates a request into a change of the model. */
function toChange(program: string, asked: Operation['asked']): Change {
  switch (asked.does) {
    case 'create': {
      const { type, capture, reference, destination } = asked;
      const card = cardOf(program, asked.card);
      const other = destination === null ? null : cardOf(program, destination);
      const times = { currency: null, expiresAt: null, scheduledFor: null };
      const terms = { program, type, capture, reference, amount: BigInt(asked.amount), card, destination: other };
      return { does: 'create', id: '', asked: { ...terms, ...times } };
    }
    case 'cancel':
      return { does: 'cancel', transfer: asked.transferId };
    default:
      return { does: asked.does, transfer: asked.transferId, amount: BigInt(asked.amount) };
  }
}

/** The name of a card in the model. Two programs can have cards with the same name. */
function cardOf(program: string, card: unknown): string {
  return `${program} ${card}`;
}

function accountOf({ programId, kind, currency, card }: AccountOwner): string {
  if (card !== null) return cardOf(programId, card);
  if (kind === 'funding') return fundingOf(programId, currency);
  if (kind === 'world') return worldOf(programId, currency);
  throw new Error(`the replay has no ${kind} accounts`);
}

function rulesOf({ limits, card_limits, funding_low_threshold: threshold }: ProgramRecord) {
  const bound = threshold === null ? null : amountOf(threshold);
  return { limits: toLimits(limits), cardLimits: toLimits(card_limits), threshold: bound };
}

function scope(program: string | null, type: string | null): string {
  return `${program} ${type}`;
}

/** Whether a limit stops an amount. */
function isBroken({ name, value, left }: StandingLimit, amount: bigint): boolean {
  if (left === null) return name === 'minimum_amount' ? amount < value : amount > value;
  return left < (name.endsWith('count') ? 1n : amount);
}

function figuresOf({ name, value, used, left }: StandingLimit, currency: string): string {
  if (used === null || left === null) return money(value, currency);
  const shown = (figure: bigint): string =>
    name.endsWith('count') ? `${figure} transfer${figure === 1n ? '' : 's'}` : money(figure, currency);
  return `${shown(used)} used, ${shown(left)} left`;
}

/** An amount as messages show it. All recorded programs have a currency with two decimals. */
function money(amount: bigint, currency: string): string {
  return `${(Number(amount) / 100).toLocaleString('en-US', { minimumFractionDigits: 2 })} ${currency}`;
}

function amountOf(value: unknown): bigint {
  return BigInt(Number(value));
}

function time(value: unknown): number {
  return Date.parse(String(value));
}

function moment(value: number | null): string | null {
  return value === null ? null : new Date(value).toISOString();
}
