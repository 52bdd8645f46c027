import { DEMO_PROGRAM } from '../../contract/samples.ts';
import type { FundingMovementRecord, ReversalRecord, TransferRecord, TransferService } from '../../sdk/client.ts';
import type { ReceivedResponse } from './conversation.ts';

type Known = Pick<TransferRecord, 'type' | 'amount' | 'captured_amount' | 'card_id' | 'currency' | 'status'> & {
  readonly destination_card_id: string | null;
};

/** What of an account is held, and what is on hold for it, in minor units. */
type Holds = { readonly held: number; readonly incoming: number };

const NO_HOLDS: Holds = { held: 0, incoming: 0 };

/** What an account really has, in minor units; nobody shows what is on hold for funding. */
export type Found = { readonly balance: number; readonly held: number; readonly incoming?: number };

/** What every account must have, by what the service has answered: no more and no less than that may have moved. */
export class Accounts {
  readonly #expected: Map<string, number>;
  readonly #touched = new Set<string>();
  /** Transfers that can still be asked for by their id, or that still hold money, as the responses have them. */
  readonly #known = new Map<string, Known>();
  readonly #problems: string[] = [];
  /** Successes that moved money. */
  moves = 0;

  /** `opening`: the balances before the first request. */
  constructor(opening: ReadonlyMap<string, number>) {
    this.#expected = new Map(opening);
  }

  /** Accounts that something has happened to. */
  get touched(): readonly string[] {
    return [...this.#touched];
  }

  /** Takes a response into account. */
  note({ status, head, body }: ReceivedResponse): void {
    if (status >= 300 || !body.startsWith('{') || /^Idempotent-Replayed: true$/im.test(head)) return;
    const record: Readonly<Record<string, unknown>> = JSON.parse(body);
    if ('captured_amount' in record) this.learn(record as unknown as TransferRecord);
    if (status === 201 && 'reversal_id' in record) this.#reverse(record as unknown as ReversalRecord);
    if (status === 201 && 'movement_id' in record) this.#fund(record as unknown as FundingMovementRecord);
    if (!Array.isArray(record.data)) return;
    for (const row of record.data as readonly { replayed?: boolean; transfer?: TransferRecord | null }[]) {
      if (row.replayed === false && row.transfer) this.learn(row.transfer);
    }
  }

  /**
   * Takes a transfer into account as a record shows it: made, changed or only read. Answers on several connections come
   * in any order, and a transfer only goes on, so what is known of it is never taken back.
   */
  learn(record: TransferRecord): void {
    const { transfer_id: transferId, captured_amount: captured } = record;
    const before = this.#known.get(transferId);
    const isLate = before !== undefined && !isOpen(before);
    if (!isLate) this.#move(record, captured - (before?.captured_amount ?? 0));
    if (!isLate) this.#known.set(transferId, record);
    if (isOpen(record)) for (const account of endsOf(record)) this.#touched.add(account);
  }

  #reverse({ transfer_id: transferId, amount }: ReversalRecord): void {
    const reversed = this.#known.get(transferId);
    if (reversed === undefined) this.#problems.push(`${transferId} was reversed, and nobody had made it`);
    else this.#move(reversed, -amount);
  }

  #fund({ kind, amount, currency }: FundingMovementRecord): void {
    this.moves += 1;
    this.#add(`funding ${currency}`, kind === 'deposit' ? amount : -amount);
  }

  #move(transfer: Known, amount: number): void {
    if (amount === 0) return;
    const [source, destination] = endsOf(transfer);
    this.moves += 1;
    this.#add(source, -amount);
    this.#add(destination, amount);
  }

  #add(account: string, amount: number): void {
    this.#touched.add(account);
    this.#expected.set(account, (this.#expected.get(account) ?? 0) + amount);
  }

  /** Compares with what was found while nothing was under way; what differs, in sentences. */
  compare(found: ReadonlyMap<string, Found>): readonly string[] {
    const holds = this.#holds();
    const unseen = this.touched.filter((account) => !found.has(account));
    return [
      ...this.#problems.splice(0),
      ...unseen.map((account) => `${account} is not there`),
      ...[...found].flatMap(([account, has]) => this.#differences(account, has, holds.get(account))),
    ];
  }

  #differences(account: string, found: Found, { held, incoming }: Holds = NO_HOLDS): readonly string[] {
    const expected = { balance: this.#expected.get(account) ?? 0, held, incoming };
    return (['balance', 'held', 'incoming'] as const)
      .filter((name) => found[name] !== undefined && found[name] !== expected[name])
      .map((name) => `${account} has ${name} ${found[name]}, and by the responses it must be ${expected[name]}`);
  }

  /** The sums of the open holds. Transfers that are over are forgotten: nobody asks for them any more. */
  #holds(): ReadonlyMap<string, Holds> {
    const holds = new Map<string, Holds>();
    for (const [transferId, transfer] of this.#known) {
      if (!isOpen(transfer)) this.#known.delete(transferId);
      if (transfer.status !== 'pending') continue;
      const [source, destination] = endsOf(transfer);
      const [of, towards] = [holds.get(source) ?? NO_HOLDS, holds.get(destination) ?? NO_HOLDS];
      holds.set(source, { ...of, held: of.held + transfer.amount });
      holds.set(destination, { ...towards, incoming: towards.incoming + transfer.amount });
    }
    return holds;
  }
}

/** The balances of all cards and of funding. */
export async function readBalances({ cards, programs }: TransferService): Promise<ReadonlyMap<string, number>> {
  const balances = new Map<string, number>();
  for await (const { card_id, balance } of cards.listAll({ limit: 100 })) balances.set(card_id, balance);
  const { funding } = await programs.get(DEMO_PROGRAM);
  for (const { currency, balance } of funding) balances.set(`funding ${currency}`, balance);
  return balances;
}

/** What some cards, and funding, really have. */
export async function readFound(
  { cards, programs }: TransferService,
  accounts: readonly string[],
): Promise<ReadonlyMap<string, Found>> {
  const found = new Map<string, Found>();
  for (const account of accounts) {
    if (!account.startsWith('funding ')) found.set(account, await cards.get(account));
  }
  const { funding } = await programs.get(DEMO_PROGRAM);
  for (const { currency, balance, available } of funding) {
    found.set(`funding ${currency}`, { balance, held: balance - available });
  }
  return found;
}

/** What is wrong with the books by themselves, in a sentence. */
export async function readImbalance({ trialBalance }: TransferService): Promise<readonly string[]> {
  const { balanced, differing_holds, differing_accounts } = await trialBalance.get();
  if (balanced && differing_holds === 0) return [];
  return [`the books do not balance: ${JSON.stringify({ differing_holds, differing_accounts })}`];
}

function isOpen({ status }: Pick<Known, 'status'>): boolean {
  return status === 'pending' || status === 'scheduled';
}

/** Where the money of a transfer comes from, and where it goes. */
function endsOf({ type, card_id: card, destination_card_id: other, currency }: Known): readonly [string, string] {
  const funding = `funding ${currency}`;
  if (type === 'load') return [funding, card];
  return [card, type === 'unload' ? funding : (other ?? '')];
}
