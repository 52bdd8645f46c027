import { type OperationId, type Page, type TransferService, TransferServiceError } from '../../sdk/client.ts';
import { hasCardNumber } from '../format/card-numbers.ts';
import { nameOfCard, nameOfWebhook } from '../format/names.ts';

const NAMED_KINDS = ['program', 'key', 'person', 'webhook', 'card'] as const;

export type NamedKind = (typeof NAMED_KINDS)[number];

export function isNamedKind(kind: string): kind is NamedKind {
  return NAMED_KINDS.some((named) => named === kind);
}

/** A record to name. The id of a card is only unique within its program. */
export type Subject = {
  readonly kind: NamedKind;
  readonly id: string;
  readonly programId?: string | undefined;
};

export type Naming = {
  /** Undefined while the name is unknown. */
  readonly name: string | undefined;
  readonly isLoading: boolean;
  readonly isMissing: boolean;
};

const LOADING: Naming = { name: undefined, isLoading: true, isMissing: false };
const UNKNOWN: Naming = { name: undefined, isLoading: false, isMissing: false };
const MISSING: Naming = { name: undefined, isLoading: false, isMissing: true };

const PAGE_ROWS = 100;

/** Up to this many cards are read one by one. For more, the first page of the program's cards is read first. */
const FEW_CARDS = 4;

type Named = readonly [id: string, name: string | undefined];

/** A list that is read page by page, only as far as needed. */
type List = { cursor: string | undefined; pages: number; isComplete: boolean; readonly seen: Set<string> };

/**
 * A cache of the names of programs, keys, people, webhooks and cards. It reads them in the background, which doesn't keep a session
 * alive. Callers without permission to read a list see ids.
 */
export class NameBook {
  readonly #may: (operation: OperationId) => boolean;
  readonly #api: TransferService;
  readonly #known = new Map<string, Naming>();
  readonly #watched = new Map<string, { readonly subject: Subject; readonly listeners: Set<() => void> }>();
  readonly #lists = new Map<string, List>();
  /** The running read of each kind. Only one runs at a time, so that no page is read twice. */
  readonly #readings = new Map<NamedKind, Promise<void>>();
  #wanted = new Map<string, Subject>();

  constructor(api: TransferService, may: (operation: OperationId) => boolean) {
    this.#api = api;
    this.#may = may;
  }

  read(subject: Subject): Naming {
    return this.#known.get(keyOf(subject)) ?? LOADING;
  }

  /** Stores a name that a screen has read. */
  note(subject: Subject, name: string | undefined): void {
    this.#settle(subject, name === undefined ? UNKNOWN : { ...UNKNOWN, name });
  }

  /** Reads a name, and calls `listener` when it is known or changes. Returns a function that unsubscribes. */
  watch(subject: Subject, listener: () => void): () => void {
    const key = keyOf(subject);
    const watched = this.#watched.get(key) ?? { subject, listeners: new Set() };
    this.#watched.set(key, watched);
    watched.listeners.add(listener);
    if (!this.#known.has(key)) this.#want(subject);
    return () => {
      watched.listeners.delete(listener);
      if (watched.listeners.size === 0) this.#watched.delete(key);
    };
  }

  /** Reloads the names on the screen, after a change or a new sign-in. The old names stay until then. */
  refresh(): void {
    this.#lists.clear();
    for (const [key, { name }] of this.#known) if (name === undefined) this.#known.delete(key);
    for (const { subject } of this.#watched.values()) {
      // Cards would be read one by one, so they are not read again: a screen that changes a card stores its name. Names of keys never change.
      const isLasting = subject.kind === 'card' || subject.kind === 'key';
      if (!isLasting || !this.#known.has(keyOf(subject))) this.#want(subject);
    }
  }

  #want(subject: Subject): void {
    // Collects all names of one rendering and reads them together.
    if (this.#wanted.size === 0) queueMicrotask(() => this.#readWanted());
    this.#wanted.set(keyOf(subject), subject);
  }

  #readWanted(): void {
    const all = [...this.#wanted.values()];
    this.#wanted = new Map();
    const read = {
      program: (subjects: readonly Subject[]) => this.#readPrograms(subjects),
      key: (subjects: readonly Subject[]) => this.#readKeys(subjects),
      person: (subjects: readonly Subject[]) => this.#readPeople(subjects),
      webhook: (subjects: readonly Subject[]) => this.#readWebhooks(subjects),
      card: (subjects: readonly Subject[]) => this.#readCards(subjects),
    };
    for (const kind of Object.keys(read) as NamedKind[]) {
      const subjects = all.filter((subject) => subject.kind === kind);
      if (subjects.length === 0) continue;
      const before = this.#readings.get(kind) ?? Promise.resolve();
      this.#readings.set(
        kind,
        before.then(() => this.#settleAll(subjects, read[kind])),
      );
    }
  }

  /** Reads names. Names that can't be read count as unknown, and screens show the ids. */
  async #settleAll(subjects: readonly Subject[], read: (subjects: readonly Subject[]) => Promise<void>): Promise<void> {
    // Errors are ignored here. Screens report errors of their data, and show ids instead of names.
    await read(subjects).catch(() => undefined);
    for (const subject of subjects) if (!this.#known.has(keyOf(subject))) this.#settle(subject, UNKNOWN);
  }

  #settle(subject: Subject, naming: Naming): void {
    const key = keyOf(subject);
    const before = this.#known.get(key);
    this.#known.set(key, naming);
    if (before?.name === naming.name && before?.isMissing === naming.isMissing) return;
    for (const listener of this.#watched.get(key)?.listeners ?? []) listener();
  }

  async #readPrograms(subjects: readonly Subject[]): Promise<void> {
    if (!this.#may('list_programs')) return;
    const { programs } = this.#api;
    const load = async (cursor: string | undefined) =>
      named(await programs.list({ limit: PAGE_ROWS, cursor }), (one): Named => [one.program_id, one.name]);
    const left = await this.#find('program', subjects, load, 1);
    await this.#readEach(left, async ({ id }) => (await programs.get(id)).name);
  }

  /** Reads records that were not on the first page of their list, one by one. */
  async #readEach(subjects: readonly Subject[], nameOf: (subject: Subject) => Promise<string>): Promise<void> {
    for (const subject of subjects) {
      const name = await orUndefined(nameOf(subject));
      this.#settle(subject, name === undefined ? MISSING : { ...UNKNOWN, name });
    }
  }

  /** A key can't be read by its id, so its list is read until it contains the key. Each page is read once per session. */
  async #readKeys(subjects: readonly Subject[]): Promise<void> {
    if (!this.#may('list_keys')) return;
    const load = async (cursor: string | undefined) =>
      named(await this.#api.keys.list({ limit: PAGE_ROWS, cursor }), (one): Named => [one.key_id, one.name]);
    await this.#find('key', subjects, load);
  }

  async #readPeople(subjects: readonly Subject[]): Promise<void> {
    if (!this.#may('get_person')) return;
    for (const subject of subjects) {
      const { name } = await this.#api.people.get(subject.id);
      this.#settle(subject, name === null ? UNKNOWN : { ...UNKNOWN, name });
    }
  }

  async #readWebhooks(subjects: readonly Subject[]): Promise<void> {
    const { webhooks, operatorWebhooks } = this.#api;
    const nameOf = (one: Parameters<typeof nameOfWebhook>[0] & { readonly webhook_id: string }): Named => [
      one.webhook_id,
      nameOfWebhook(one),
    ];
    if (this.#may('list_operator_webhooks')) {
      const load = async (cursor: string | undefined) =>
        named(await operatorWebhooks.list({ limit: PAGE_ROWS, cursor }), nameOf);
      const left = await this.#find('webhook', subjects, load, 1);
      // A webhook that is missing from a complete list was deleted.
      if (this.#lists.get('webhook')?.isComplete === true) return;
      await this.#readEach(left, async ({ id }) => nameOfWebhook(await operatorWebhooks.get(id)));
    } else if (this.#may('list_webhooks')) {
      for (const programId of new Set(subjects.map((subject) => subject.programId))) {
        const own = subjects.filter((subject) => subject.programId === programId);
        const load = async (cursor: string | undefined) =>
          named(await webhooks.list({ limit: PAGE_ROWS, cursor }, { programId }), nameOf);
        await this.#find(`webhook ${programId}`, own, load);
      }
    }
  }

  /** Reads a list until all of these records are found, it ends, or `maxPages` pages are read. Returns the records not found. */
  async #find(
    listName: string,
    subjects: readonly Subject[],
    load: (cursor: string | undefined) => Promise<{ readonly rows: readonly Named[]; readonly next: string | null }>,
    maxPages = Number.POSITIVE_INFINITY,
  ): Promise<readonly Subject[]> {
    const list = this.#lists.get(listName) ?? { cursor: undefined, pages: 0, isComplete: false, seen: new Set() };
    this.#lists.set(listName, list);
    const [first] = subjects;
    if (first === undefined) return [];
    const { kind, programId } = first;
    const left = () => subjects.filter(({ id }) => !list.seen.has(id));
    while (left().length > 0 && !list.isComplete && list.pages < maxPages) {
      const { rows, next } = await load(list.cursor);
      for (const [id, name] of rows) {
        list.seen.add(id);
        this.note({ kind, id, programId }, name);
      }
      list.pages += 1;
      list.cursor = next ?? undefined;
      list.isComplete = next === null;
    }
    return left();
  }

  async #readCards(subjects: readonly Subject[]): Promise<void> {
    if (!this.#may('list_cards')) return;
    for (const programId of new Set(subjects.map((subject) => subject.programId))) {
      const own = subjects.filter((subject) => subject.programId === programId);
      const load = async (cursor: string | undefined) =>
        named(
          await this.#api.cards.list({ limit: PAGE_ROWS, cursor }, { programId }),
          (one): Named => [one.card_id, nameOfCard(one)],
        );
      const isMany = programId !== undefined && own.length > FEW_CARDS;
      const waiting = [...(isMany ? await this.#find(`card ${programId}`, own, load, 1) : own)];
      const work = async (): Promise<void> => {
        for (let subject = waiting.pop(); subject !== undefined; subject = waiting.pop()) await this.#readCard(subject);
      };
      await Promise.all(Array.from({ length: FEW_CARDS }, work));
    }
  }

  /** Searches by id prefix, because a missing card is then an empty list instead of an error in the log. */
  async #readCard(subject: Subject): Promise<void> {
    const { id, programId } = subject;
    if (programId === undefined || hasCardNumber(id) || !/^[\x21-\x7e]+$/.test(id)) return;
    const { data } = await this.#api.cards.list({ card_id_prefix: id, limit: 1 }, { programId });
    const [card] = data;
    if (card?.card_id === id) this.note(subject, nameOfCard(card));
    else this.#settle(subject, MISSING);
  }
}

function keyOf({ kind, id, programId }: Subject): string {
  return kind === 'card' ? `card ${programId} ${id}` : `${kind} ${id}`;
}

function named<Row>({ data, next_cursor: next }: Page<Row>, nameOf: (row: Row) => Named) {
  return { rows: data.map(nameOf), next };
}

async function orUndefined<Found>(reading: Promise<Found>): Promise<Found | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof TransferServiceError && error.Status === 404) return undefined;
    throw error;
  }
}
