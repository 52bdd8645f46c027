import { type RawResponse, sendRaw } from '../../test/harness/raw-request.ts';
import { pause } from '../campaign.ts';
import type { AdministrativeChange } from '../checkers/history.ts';
import { type ProgramCards, pick } from './load.ts';

export type Setting = {
  readonly history: AdministrativeChange[];
  readonly urls: readonly string[];
  readonly random: () => number;
  /** The number of transfers acknowledged so far. */
  readonly made: () => number;
};

/**
 * The longest pauses between changes of one kind, in milliseconds. The long pause is for changes of a program or the
 * switch, because they delay the transfers of all its cards, or of the whole service.
 */
const PAUSE_MILLISECONDS = 30;
const LONG_PAUSE_MILLISECONDS = 500;

/** The pause between changes, in milliseconds. It lets chains grow. */
const QUIET_MILLISECONDS = 450;

/** The longest time that something stays disabled, in milliseconds. */
const DISABLED_MILLISECONDS = 40;

const CARD = '/api/v0.1/core/card';
const PROGRAM = '/api/v0.1/operator/program';

/** Makes all changes except transfers. */
export class Changers {
  readonly #setting: Setting;
  #places: readonly ProgramCards[] = [];
  #changes = 0;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  /** Changes these programs and their cards continuously while `goesOn` returns true. */
  async runDensely(places: readonly ProgramCards[], goesOn: () => boolean): Promise<void> {
    this.#places = places;
    const loop = async (change: () => Promise<unknown>, milliseconds = PAUSE_MILLISECONDS): Promise<void> => {
      while (goesOn()) {
        await change();
        await pauseWhile(goesOn, this.#setting.random() * milliseconds);
      }
    };
    await Promise.all([
      loop(() => this.#changeStatus()),
      loop(() => this.#changeCardLimits()),
      loop(() => this.#changeProgram(), LONG_PAUSE_MILLISECONDS),
      loop(() => this.#changeThreshold(), LONG_PAUSE_MILLISECONDS),
      loop(() => this.#throwSwitch(), LONG_PAUSE_MILLISECONDS),
      loop(() => this.#fund()),
    ]);
  }

  /** Makes one change at a time while `goesOn` returns true. Chains can grow in the pauses. */
  async runSparsely(places: readonly ProgramCards[], goesOn: () => boolean): Promise<void> {
    this.#places = places;
    const { random } = this.#setting;
    const changes = [
      () => this.#changeStatus(),
      () => this.#changeStatus(),
      () => this.#changeCardLimits(),
      () => this.#changeCardLimits(),
      () => this.#changeProgram(),
      () => this.#changeThreshold(),
      () => this.#throwSwitch(),
      () => this.#fund(),
    ];
    while (goesOn()) {
      await pauseWhile(goesOn, QUIET_MILLISECONDS * (0.5 + random()));
      await pick(changes, random)();
    }
  }

  /** Changes the status of a card in the first half of the changing cards. The second half gets new limits. */
  async #changeStatus(): Promise<void> {
    const { random } = this.#setting;
    const place = pick(this.#places, random);
    const half = place.changing.length >> 1;
    const at = Math.floor(random() * half);
    const name = place.changing[at] ?? '';
    const chance = random();
    if (chance < 0.15) return this.#replace(place, at, name);
    const status = chance < 0.6 ? 'inactive' : chance < 0.85 ? 'lost' : 'fraud';
    await this.#updateCard(place, name, { status }, `card_${status}`);
    await pause(random() * DISABLED_MILLISECONDS);
    await this.#updateCard(place, name, { status: 'active' }, 'card_active');
  }

  /**
   * Closes a card, moves its balance to the funding account and creates a new card. Does nothing if the service refuses
   * to close the card, for example because it has holds.
   */
  async #replace(place: ProgramCards, at: number, name: string): Promise<void> {
    const { status } = await this.#updateCard(place, name, { status: 'closed', balance_to: 'funding' }, 'card_closed');
    if (status >= 300) return;
    this.#changes += 1;
    const card_id = `changing-${this.#changes}`;
    await this.#send('card_created', place, { path: CARD, body: { card_id } });
    place.changing[at] = card_id;
  }

  /** Lowers a card's limits, some of them to slightly above their use, or removes all limits. */
  async #changeCardLimits(): Promise<void> {
    const { random, urls } = this.#setting;
    const place = pick(this.#places, random);
    const name = pick(place.changing.slice(place.changing.length >> 1), random);
    const headers = { 'Program-Id': place.programId };
    const { fields } = await sendRaw(pick(urls, random), { method: 'GET', path: `${CARD}/${name}`, headers });
    const some = (most: number): number => Math.floor(random() * most);
    const limits = pick(
      [
        { in: { maximum_amount: 5 + some(30) } },
        { in: { daily_count: Math.floor(this.#setting.made() / 60) + some(20) }, out: { daily_amount: some(2_000) } },
        { maximum_balance: Number(fields.balance ?? 0) + some(60) },
        null,
        null,
      ],
      random,
    );
    await this.#updateCard(place, name, { limits }, limits === null ? 'card_limits_raised' : 'card_limits_lowered');
  }

  async #changeProgram(): Promise<void> {
    const { random, made } = this.#setting;
    const place = pick(this.#places, random);
    const some = (most: number): number => Math.floor(random() * most);
    const perCard = Math.floor(made() / (place.steady.length * 2));
    const change = pick(
      [
        { limits: { in: { daily_count: Math.floor(made() / 2) + some(200) } } },
        { limits: { out: { maximum_amount: 10 + some(60) }, in: { maximum_amount: 10 + some(60) } } },
        { card_limits: { in: { daily_count: perCard + some(10) }, maximum_balance: 20 * made() + some(500) } },
        { limits: null, card_limits: null },
        { limits: null, card_limits: null },
      ],
      random,
    );
    await this.#updateProgram(place, change);
    await pause(random() * DISABLED_MILLISECONDS);
    if (random() < 0.7) await this.#updateProgram(place, { limits: null, card_limits: null });
  }

  /** Sets a program's threshold near its funds, so that they soon cross it, or removes the threshold. */
  async #changeThreshold(): Promise<void> {
    this.#changes += 1;
    const { random, history, urls } = this.#setting;
    const { programId } = pick(this.#places, random);
    const path = `${PROGRAM}/${programId}`;
    const { fields } = await sendRaw(pick(urls, random), { method: 'GET', path });
    const [funding] = (fields.funding ?? []) as readonly { readonly available: number }[];
    const near = Math.max(1, (funding?.available ?? 0) - 500 + Math.floor(random() * 1_000));
    const body = { name: `Program ${this.#changes}`, funding_low_threshold: random() < 0.2 ? null : near };
    await sendChange(history, pick(urls, random), { what: 'threshold_changed', method: 'PATCH', path, body });
  }

  async #updateProgram({ programId }: ProgramCards, change: object): Promise<void> {
    this.#changes += 1;
    const { random, history, urls } = this.#setting;
    const body = { ...change, name: `Program ${this.#changes}` };
    const what = 'limits' in change && change.limits === null ? 'program_limits_raised' : 'program_limits_lowered';
    await sendChange(history, pick(urls, random), { what, method: 'PATCH', path: `${PROGRAM}/${programId}`, body });
  }

  async #throwSwitch(): Promise<void> {
    const { random, history, urls } = this.#setting;
    const { programId } = pick(this.#places, random);
    const scope = pick([{}, { program_id: programId }, { program_id: programId, type: 'load' }], random);
    for (const disabled of [true, false]) {
      this.#changes += 1;
      const body = { ...scope, disabled, reason: `change ${this.#changes}` };
      const what = disabled ? 'switch_disabled' : 'switch_enabled';
      let { status } = await sendChange(history, pick(urls, random), { what, path: '/api/v0.1/operator/switch', body });
      // Repeats the request until it succeeds, because other transactions may hold the locks.
      while (!disabled && status >= 500) {
        ({ status } = await sendChange(history, pick(urls, random), { what, path: '/api/v0.1/operator/switch', body }));
      }
      if (disabled) await pause(random() * DISABLED_MILLISECONDS);
    }
  }

  async #fund(): Promise<void> {
    const { random, history, urls } = this.#setting;
    const { programId } = pick(this.#places, random);
    this.#changes += 1;
    const what = random() < 0.6 ? 'deposit' : 'withdrawal';
    const headers = { 'Idempotency-Key': `funding-${this.#changes}` };
    const body = { amount: 1 + Math.floor(random() * 5_000) };
    await sendChange(history, pick(urls, random), { what, path: `${PROGRAM}/${programId}/${what}`, headers, body });
  }

  #updateCard(place: ProgramCards, name: string, change: object, what: string): Promise<RawResponse> {
    this.#changes += 1;
    const body = { ...change, holder_reference: `change ${this.#changes}` };
    return this.#send(what, place, { method: 'PATCH', path: `${CARD}/${name}`, body });
  }

  #send(
    what: string,
    { programId }: ProgramCards,
    raw: { readonly method?: string; readonly path: string; readonly body: object },
  ): Promise<RawResponse> {
    const { history, urls, random } = this.#setting;
    return sendChange(history, pick(urls, random), { what, headers: { 'Program-Id': programId }, ...raw });
  }
}

/** Waits for some milliseconds, or until `goesOn` returns false. */
export async function pauseWhile(goesOn: () => boolean, milliseconds: number): Promise<void> {
  const end = performance.now() + milliseconds;
  while (goesOn() && performance.now() < end) await pause(Math.max(1, Math.min(20, end - performance.now())));
}

/** Sends a change and adds it to the history. */
export async function sendChange(
  history: AdministrativeChange[],
  url: string,
  raw: Parameters<typeof sendRaw>[1] & { readonly what: string },
): Promise<RawResponse> {
  const sentAt = performance.now();
  const response = await sendRaw(url, raw);
  const { status, text } = response;
  history.push({ what: raw.what, sentAt, gotAt: performance.now(), status, text });
  return response;
}
