import { replay, type StoredAnswer } from '../../domain/idempotency.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import type { Decision, Loaded, Statement, Steps } from '../store/connection/database.ts';
import { insertAnswers, type KeyInScope, NO_PROGRAM, readAnswers, toAnswers } from '../store/idempotency.ts';
import { type LockedName, lockNames } from '../store/locks.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import { fingerprintOf, keepRefusal, keepSuccess, refuseAgain, replyAgain } from './fingerprint.ts';
import { transact } from './transaction.ts';

/** What an operation does, in the one transaction in which the response to its idempotency key is stored as well. */
export type KeyedWork<Name extends string> = {
  /** Inner UUID of the card program that the key belongs to; left out by operations that act in no single program. */
  readonly programId?: string;
  /** Locked before all else: the switch, by operations that hold it. */
  readonly hold?: Statement;
  /** Names to lock beside the key. */
  readonly names?: readonly LockedName[];
  /** Sent once the names are locked. */
  readonly load: Steps<unknown, Name>['load'];
  /** Decides a request that is no replay. A refusal that it throws is stored if its status is one that is kept. */
  readonly decide: (loaded: Loaded<Name>, moment: Moment) => Done;
  /** `Location` for a body. */
  readonly locate?: (body: string) => string;
  /** The body of what was made as it is now, for a key whose stored body has been dropped. */
  readonly recall?: (subjectId: string) => Promise<string>;
};

/** When a decision is made: the batch of its events, and the time in milliseconds since 1970. */
export type Moment = { readonly batchId: string; readonly now: number };

/** What a decision came to. */
export type Done = {
  readonly status: 200 | 201;
  readonly body: string;
  /** What is stored under the key where the body must not be, because it holds a secret. */
  readonly stored?: string;
  /** Inner UUID of what was made or changed. */
  readonly subjectId: string;
  readonly writes: readonly Statement[];
};

type OwnName = 'hold' | 'lockNames' | 'switch' | 'answers';

type Outcome = Reply | Refusal | { readonly subjectId: string; readonly status: 200 | 201 };

/**
 * Runs an operation under the idempotency key of its request, if it has one. The first request with a key is carried
 * out, and its response is stored in the same transaction as what it made; later ones get that response again. Two at
 * once are kept apart by the lock on the key: the second sees what the first has stored.
 */
export async function transactUnderKey<Name extends string>(
  { database }: Pick<Service, 'database'>,
  call: Call,
  work: KeyedWork<Name>,
): Promise<Reply> {
  const outcome = await transact(
    database,
    call.deadline,
    loadFor(call, work),
    (loaded, batchId): Decision<Outcome> => decide(call, work, loaded, batchId),
  );
  if (outcome instanceof Refusal) throw outcome;
  if ('body' in outcome) return outcome;
  if (work.recall === undefined)
    throw new Error('a stored response has lost its body, and there is no way to remake it');
  return again(work, outcome.status, await work.recall(outcome.subjectId));
}

function scopeOf(call: Call, work: Pick<KeyedWork<never>, 'programId'>): KeyInScope | undefined {
  if (call.idempotencyKey === null) return undefined;
  return { programId: work.programId ?? NO_PROGRAM, operation: call.operation, key: call.idempotencyKey };
}

function loadFor<Name extends string>(
  call: Call,
  work: KeyedWork<Name>,
): { readonly [Key in Name | OwnName]: Statement | null } {
  const scope = scopeOf(call, work);
  const names = [...(work.names ?? [])];
  if (scope !== undefined) {
    const { programId, operation, key } = scope;
    names.push({ programId, kind: 'idempotency_key', scope: operation, name: key });
  }
  return {
    hold: work.hold ?? null,
    lockNames: names.length === 0 ? null : lockNames(names),
    ...work.load,
    switch: READ_SWITCH,
    answers: scope === undefined ? null : readAnswers([scope]),
  };
}

function decide<Name extends string>(
  call: Call,
  work: KeyedWork<Name>,
  loaded: Loaded<Name | OwnName>,
  batchId: string,
): Decision<Outcome> {
  const scope = scopeOf(call, work);
  const fingerprint = fingerprintOf(call);
  const [stored] = toAnswers(loaded.answers).values();
  if (stored !== undefined) {
    const first = replay(stored, fingerprint);
    // That the key is taken says nothing of what the request asks for; a replay says that something was done.
    if (first instanceof Refusal) return { result: first, writes: [], readsOnly: true };
    return { result: refuseAgain(first) ?? replayOf(work, stored), writes: [] };
  }
  const { now } = toSwitchReading(loaded.switch);
  try {
    const { status, body, stored: kept, subjectId, writes } = work.decide(loaded, { batchId, now });
    const reply = { status, body, ...(work.locate && { location: work.locate(body) }) };
    if (scope === undefined) return { result: reply, writes };
    const answer = keepSuccess(fingerprint, status, subjectId, kept ?? body);
    // First, because the row of the audit log has to be the last.
    return { result: reply, writes: [insertAnswers([{ ...scope, ...answer }], now), ...writes] };
  } catch (thrown) {
    const answer = thrown instanceof Refusal && scope !== undefined ? keepRefusal(fingerprint, thrown) : undefined;
    if (!(thrown instanceof Refusal) || scope === undefined || answer === undefined) throw thrown;
    return { result: thrown, writes: [insertAnswers([{ ...scope, ...answer }], now)] };
  }
}

function replayOf(work: Pick<KeyedWork<never>, 'locate'>, stored: StoredAnswer): Exclude<Outcome, Refusal> {
  const status = stored.status === 200 ? 200 : 201;
  if (stored.body !== null) return again(work, status, stored.body);
  return { status, subjectId: stored.subjectId ?? '' };
}

function again(work: Pick<KeyedWork<never>, 'locate'>, status: 200 | 201, body: string): Reply {
  return replyAgain(status, body, work.locate?.(body));
}
