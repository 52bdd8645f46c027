import { DEMO_PROGRAM } from '../../contract/example-requests.ts';
import type { TransferService } from '../../sdk/client.ts';
import type { Answer } from './conversation.ts';

type Moved = {
  readonly type?: string;
  readonly kind?: string;
  readonly amount: number;
  readonly card_id?: string;
  readonly destination_card_id?: string | null;
  readonly currency: string;
};

/** What every account must have, by what the service has answered: no more and no less than that may have moved. */
export class Accounts {
  readonly #client: TransferService;
  readonly #expected = new Map<string, number>();
  readonly #touched = new Set<string>();
  /** Successes that moved money. */
  moves = 0;

  constructor(client: TransferService) {
    this.#client = client;
  }

  /** Reads what is there before the first request. */
  async open(): Promise<void> {
    const { data } = await this.#client.cards.list({ limit: 100 });
    for (const { card_id, balance } of data) this.#expected.set(card_id, balance);
    const { funding } = await this.#client.programs.get(DEMO_PROGRAM);
    for (const { currency, balance } of funding) this.#expected.set(`funding ${currency}`, balance);
  }

  /** Takes an answer into account. */
  note({ status, head, body }: Answer): void {
    if (status >= 300 || body === '' || /^Idempotent-Replayed: true$/im.test(head)) return;
    const record: Readonly<Record<string, unknown>> = JSON.parse(body);
    if (status === 201 && 'transfer_id' in record) this.#move(record as unknown as Moved);
    if (status === 201 && 'movement_id' in record) this.#move(record as unknown as Moved);
    if (!Array.isArray(record.data)) return;
    for (const row of record.data as readonly { money_moved?: string; transfer?: Moved }[]) {
      if (row.money_moved === 'yes' && row.transfer !== undefined) this.#move(row.transfer);
    }
  }

  #move({ type, kind, amount, card_id = '', destination_card_id, currency }: Moved): void {
    const funding = `funding ${currency}`;
    this.moves += 1;
    if (kind === 'deposit') this.#add(funding, amount);
    else if (kind === 'withdrawal') this.#add(funding, -amount);
    else {
      this.#add(type === 'load' ? funding : card_id, -amount);
      this.#add(type === 'load' ? card_id : type === 'unload' ? funding : (destination_card_id ?? ''), amount);
    }
  }

  #add(account: string, amount: number): void {
    this.#touched.add(account);
    this.#expected.set(account, (this.#expected.get(account) ?? 0) + amount);
  }

  /** Compares with what is there; what differs, in sentences. */
  async compare(): Promise<readonly string[]> {
    const problems: string[] = [];
    const { funding } = await this.#client.programs.get(DEMO_PROGRAM);
    const found = new Map(funding.map(({ currency, balance }) => [`funding ${currency}`, balance]));
    for (const account of this.#touched) {
      const expected = this.#expected.get(account);
      const balance = found.get(account) ?? (await this.#client.cards.get(account)).balance;
      if (balance !== expected) problems.push(`${account} has ${balance}, and by the answers it must have ${expected}`);
    }
    const { balanced, differing_accounts } = await this.#client.trialBalance.get();
    if (!balanced) problems.push(`the books do not balance: ${JSON.stringify(differing_accounts)}`);
    return problems;
  }
}
