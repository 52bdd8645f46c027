import { toWireId } from '../../../domain/identifier.ts';
import { type AuditEntry, type AuditHead, hashOfEntry, NO_HASH } from '../../store/audit.ts';

/** A fault in the chain, as a sentence, and its position. */
export type ChainProblem = { readonly position: bigint; readonly message: string };

type Beginning = {
  /** A hash that was recorded outside the log earlier, in 64 hex digits. */
  readonly expected?: string | undefined;
  /** The entry before the first entry of the walk. Without it, the walk begins with the first entry of the log. */
  readonly base?: AuditEntry | undefined;
};

/** Checks entries in order, and collects the faults. */
export class ChainWalk {
  readonly problems: ChainProblem[] = [];
  readonly #expected: string | undefined;
  next = 1n;
  count = 0;
  last: Buffer = NO_HASH;
  found: boolean;
  /** The recomputed hash of the last entry. It differs from the stored one if that entry was changed. */
  #recomputed: Buffer = NO_HASH;
  #hashAtHead: Buffer = NO_HASH;

  constructor({ expected, base }: Beginning = {}) {
    this.#expected = expected;
    this.found = expected === NO_HASH.toString('hex');
    if (base === undefined) return;
    this.next = base.position + 1n;
    this.last = base.hash;
    this.#recomputed = hashOfEntry(base);
    this.#hashAtHead = base.hash;
  }

  take(entry: AuditEntry, headPosition: bigint | undefined): void {
    const { position } = entry;
    const name = `Entry ${position} (${toWireId('aud', entry.entryId)})`;
    if (position < 1n) {
      this.#note(position, `${name} was inserted: the first entry of the log is entry 1.`);
      return;
    }
    const isGap = position !== this.next;
    if (isGap) this.#noteMissing(position);
    const recomputed = hashOfEntry(entry);
    if (!recomputed.equals(entry.hash)) {
      this.#note(position, `${name} was changed: its hash does not match its content.`);
    }
    // The walk has already reported a missing or changed entry before this one.
    const follows = entry.previousHash.equals(this.last) || entry.previousHash.equals(this.#recomputed);
    if (!isGap && !follows) {
      this.#note(position, `${name} does not follow the entry before it: that entry was replaced.`);
    }
    this.last = entry.hash;
    this.#recomputed = recomputed;
    this.next = position + 1n;
    this.count += 1;
    this.found ||= entry.hash.toString('hex') === this.#expected;
    if (position === headPosition) this.#hashAtHead = entry.hash;
  }

  /** Ends the walk. `head` was read before the walk, `positionAfter` after it. */
  end({ position, hash }: AuditHead, positionAfter: bigint): void {
    if (position >= this.next) this.#noteMissing(position + 1n);
    else if (!this.#hashAtHead.equals(hash)) {
      const message = `The hash in the head of the log differs from the hash of entry ${position}: one of them was changed.`;
      this.#note(position, message);
    }
    if (positionAfter < this.next - 1n) {
      const message = `The log continues to entry ${this.next - 1n}, but its head says that it ends at ${positionAfter}.`;
      this.#note(positionAfter + 1n, message);
    }
  }

  noteMissingHead(): void {
    this.#note(this.next, 'The head of the log is missing, so the end of the log is unknown.');
  }

  #noteMissing(upTo: bigint): void {
    const last = upTo - 1n;
    const many = last > this.next;
    this.#note(this.next, many ? `Entries ${this.next} to ${last} are missing.` : `Entry ${this.next} is missing.`);
  }

  #note(position: bigint, message: string): void {
    this.problems.push({ position, message });
  }
}
