import { EVERY_PROGRAM, SERVICE_ITSELF } from '../../../domain/event.ts';
import type { ReadEvent } from '../../environments/memory/read-event.ts';
import { PROGRAMS } from '../../environments/memory/world.ts';
import type { StoredRow } from '../../environments/memory-store/parameters.ts';
import type { Tables } from '../../environments/memory-store/transaction.ts';

/** A committed transaction: its number, and the programs whose funding it changed. */
type Commit = { readonly number: number; readonly funding: ReadonlySet<unknown> };

/** Checks the positions of events. */
export class JudgeOfEvents {
  readonly #tables: Tables;
  readonly #say: (problem: string) => void;
  /** The last position of each program so far. */
  readonly #heads = new Map<string, bigint>();
  /** The transactions with events. */
  readonly #commits = new Map<unknown, Commit>();

  constructor(tables: Tables, say: (problem: string) => void) {
    this.#tables = tables;
    this.#say = say;
  }

  /** Checks the final state, when nothing is in progress. Returns the last event of each subject. */
  atRest(): ReadonlyMap<string, StoredRow> {
    const events = this.#tables.all('event');
    const placed = new Map<string, bigint>();
    for (const { batch_id, program_id, position, count, is_shared } of this.#tables.all('event_position')) {
      const key = `${batch_id} ${program_id}`;
      if (placed.has(key)) this.#say('the events of a transaction have two positions');
      placed.set(key, position as bigint);
      const of = is_shared === true ? EVERY_PROGRAM : program_id;
      const own = events.filter((event) => event.batch_id === batch_id && (event.program_id ?? SERVICE_ITSELF) === of);
      if (own.length !== count) this.#say(`${own.length} events have ${count} positions`);
    }
    const last = new Map<string, { place: number; event: StoredRow }>();
    for (const event of events) {
      const position = this.#placeOf(event, placed);
      if (position === undefined) {
        this.#say(`an event ${event.type} has no position`);
        continue;
      }
      const subject = String(event.subject_id);
      // The events of a transaction for one program follow each other in the order of their indexes.
      const place = Number(position) + Number(event.index) / 10_000;
      if (place > (last.get(subject)?.place ?? -1)) last.set(subject, { place, event });
    }
    this.#compareShownFunds(events, placed);
    return new Map([...last].map(([subject, { event }]) => [subject, event]));
  }

  /** The position of an event. An event for every program counts with its position in the first program. */
  #placeOf({ batch_id, program_id }: StoredRow, placed: ReadonlyMap<string, bigint>): bigint | undefined {
    const of = program_id === EVERY_PROGRAM ? PROGRAMS[0]?.programId : program_id;
    return placed.get(`${batch_id} ${of ?? SERVICE_ITSELF}`);
  }

  /** Records the events of a committed transaction. */
  note(events: readonly ReadEvent[], accounts: readonly StoredRow[]): void {
    const funding = new Set(accounts.filter(({ kind }) => kind === 'funding').map(({ program_id }) => program_id));
    const [first] = events;
    if (first !== undefined) this.#commits.set(first.event.batch_id, { number: this.#commits.size, funding });
  }

  /** Checks the funds that an event shows. They must be the program's funds after all earlier events. */
  #compareShownFunds(events: readonly StoredRow[], placed: ReadonlyMap<string, bigint>): void {
    for (const shown of events) {
      if (shown.type !== 'program.updated') continue;
      const { program_id } = shown;
      const number = this.#commits.get(shown.batch_id)?.number ?? 0;
      const place = this.#placeOf(shown, placed) ?? 0n;
      for (const event of events) {
        const commit = this.#commits.get(event.batch_id);
        if (event.program_id !== program_id || event.batch_id === shown.batch_id || !commit?.funding.has(program_id))
          continue;
        if (commit.number < number === (this.#placeOf(event, placed) ?? 0n) < place) continue;
        this.#say(`an event ${event.type} and an event that shows the funds are in the wrong order`);
      }
    }
  }

  /** Checks new positions. */
  compare(rows: readonly StoredRow[]): void {
    const inOrder = rows.toSorted(
      (one, other) => Number(one.number) - Number(other.number) || Number(one.is_shared) - Number(other.is_shared),
    );
    for (const { program_id, position, number, count, is_shared } of inOrder) {
      // An event for every program counts in each program, but only once for operators.
      if (is_shared === true) {
        const next = (this.#heads.get(String(program_id)) ?? 0n) + 1n;
        if (position !== next || number !== (this.#heads.get('number') ?? 0n))
          this.#say(`a shared event has the position ${position} and the number ${number} instead of ${next}`);
        this.#heads.set(String(program_id), (position as bigint) + BigInt(count as number) - 1n);
        continue;
      }
      for (const [id, place] of [
        [String(program_id), position],
        ['number', number],
      ] as const) {
        const next = (this.#heads.get(id) ?? 0n) + 1n;
        if (place !== next) this.#say(`the ${id} of an event is ${place} instead of ${next}`);
        this.#heads.set(id, (place as bigint) + BigInt(count as number) - 1n);
      }
    }
  }
}
