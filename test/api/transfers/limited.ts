import type {
  CardLimits,
  CardLimitsPatch,
  ProgramLimits,
  TransferRecord,
  TransferService,
} from '../../../sdk/client.ts';
import type { Terms } from '../arrange.ts';

/** The settings of a new program. Amounts are in minor units. */
export type ProgramSetting = {
  readonly zone?: string;
  readonly currency?: string;
  readonly funding?: number;
  readonly limits?: ProgramLimits;
  readonly cardLimits?: CardLimits;
};

/** A card program that only the calling test uses, so that no other test changes its totals. */
export class LimitedProgram {
  readonly #client: TransferService;
  readonly programId: string;

  constructor(client: TransferService, programId: string) {
    this.#client = client;
    this.programId = programId;
  }

  async card(limits?: CardLimits, balance = 0, currency?: string): Promise<LimitedCard> {
    const options = { programId: this.programId };
    const { card_id } = await this.#client.cards.create({ currency }, options);
    if (balance > 0) await this.#client.transfers.create({ amount: balance, card_id }, options);
    // Sets the limits last, so that the initial balance does not count.
    if (limits !== undefined) await this.#client.cards.update(card_id, { limits }, options);
    return new LimitedCard(this.#client, this.programId, card_id);
  }

  update(limits: ProgramLimits | undefined, cardLimits?: CardLimits) {
    return this.#client.programs.update(this.programId, { limits, card_limits: cardLimits });
  }
}

export class LimitedCard {
  readonly #client: TransferService;
  readonly #options: { readonly programId: string };
  readonly cardId: string;

  constructor(client: TransferService, programId: string, cardId: string) {
    this.#client = client;
    this.#options = { programId };
    this.cardId = cardId;
  }

  load(amount: number, terms: Terms = {}): Promise<TransferRecord> {
    return this.#client.transfers.create({ amount, card_id: this.cardId, ...terms }, this.#options);
  }

  unload(amount: number, terms: Terms = {}): Promise<TransferRecord> {
    return this.load(amount, { type: 'unload', ...terms });
  }

  /** Creates a load (`in`) or an unload (`out`). */
  move(direction: 'in' | 'out', amount: number, terms: Terms = {}): Promise<TransferRecord> {
    return direction === 'in' ? this.load(amount, terms) : this.unload(amount, terms);
  }

  limits() {
    return this.#client.cards.limits(this.cardId, this.#options);
  }

  /** Returns the used amounts of the card or the program by limit name, as get_card_limits shows them. */
  async used(
    direction: 'in' | 'out' = 'in',
    whose: 'card' | 'program' = 'card',
  ): Promise<Readonly<Record<string, number | string | null>>> {
    const { limits } = (await this.limits())[direction];
    const meant = limits.filter(({ set_by }) => (set_by === 'program') === (whose === 'program'));
    return Object.fromEntries(meant.map(({ name, used }) => [name, used]));
  }

  update(limits: CardLimitsPatch | null) {
    return this.#client.cards.update(this.cardId, { limits }, this.#options);
  }

  get(): ReturnType<TransferService['cards']['get']> {
    return this.#client.cards.get(this.cardId, this.#options);
  }
}

/** Creates a program with funding, a currency and a time zone, and optional limits. */
export async function limitedProgram(client: TransferService, setting: ProgramSetting = {}): Promise<LimitedProgram> {
  const { zone = 'UTC', currency = 'USD', funding = 1_000_000, limits, cardLimits } = setting;
  const { program_id } = await client.programs.create({ name: 'Limited', currency, time_zone: zone });
  if (funding > 0) await client.deposits.create(program_id, { amount: funding });
  const program = new LimitedProgram(client, program_id);
  if (limits !== undefined || cardLimits !== undefined) await program.update(limits, cardLimits);
  return program;
}

/**
 * Moves the sandbox's clock to a future moment, or up to a second past it. The moment is in milliseconds since 1970.
 */
export async function setClock(client: TransferService, moment: number): Promise<void> {
  await client.sandbox.moveClock({ seconds_ahead: Math.ceil((moment - Date.now()) / 1000) });
}

/** Returns noon (UTC) on a future Wednesday in the middle of a month, far from the end of any limit period. */
export function midweek(): number {
  const date = new Date(Date.now() + 86_400_000);
  date.setUTCHours(12, 0, 0, 0);
  while (date.getUTCDay() !== 3 || date.getUTCDate() < 9 || date.getUTCDate() > 20) {
    date.setUTCDate(date.getUTCDate() + 1);
  }
  return date.getTime();
}
