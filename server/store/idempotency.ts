import type { ErrorCode } from '../../domain/errors.ts';
import type { StoredAnswer } from '../../domain/idempotency.ts';
import type { Row, Statement } from './connection/database.ts';
import { currentCode } from './renamed-codes.ts';
import { joinTexts, plainArray, splitTexts } from './texts.ts';

/**
 * Stands for the card program of the keys of operations that act in no single one: those of operators. They belong to
 * the whole service, so that an operator whose own key was replaced meanwhile still gets its first response.
 */
export const NO_PROGRAM = '00000000-0000-0000-0000-000000000000';

/** A key within its program and operation. */
export type KeyInScope = { readonly programId: string; readonly operation: string; readonly key: string };

/** One text for one key in its scope, to find the answer of a request among those of a batch. */
export function keyText(scope: KeyInScope): string {
  return `${scope.programId}\n${scope.operation}\n${scope.key}`;
}

/** Reads the first answers to keys. Must come after the keys were locked, in a statement of its own. */
export function readAnswers(keys: readonly KeyInScope[]): Statement {
  return {
    name: 'read_answers',
    text: `select found.* from unnest($1::uuid[], $2::text[], $3::text[]) as asked(program_id, operation, key)
      cross join lateral (
        select program_id, operation, key, encode(fingerprint, 'hex') as fingerprint, status, subject_id, body, code,
          message, field
        from idempotency
        where idempotency.program_id = asked.program_id and idempotency.operation = asked.operation
          and idempotency.key = asked.key
        limit 1
      ) as found`,
    values: [
      plainArray(keys.map((key) => key.programId)),
      plainArray(keys.map((key) => key.operation)),
      keys.map((key) => key.key),
    ],
  };
}

/** The answers that {@link readAnswers} found, by {@link keyText}. */
export function toAnswers(rows: readonly Row[]): Map<string, StoredAnswer> {
  return new Map(
    rows.map((row) => {
      const scope = {
        programId: row.program_id as string,
        operation: row.operation as string,
        key: row.key as string,
      };
      const answer = {
        fingerprint: row.fingerprint as string,
        status: row.status as number,
        subjectId: row.subject_id as string | null,
        body: row.body as string | null,
        code: row.code === null ? null : (currentCode(row.code as string) as ErrorCode),
        message: row.message as string | null,
        field: row.field as string | null,
      };
      return [keyText(scope), answer];
    }),
  );
}

/** Keeps the first answers to keys; a key that is there already fails the transaction (23505). */
export function insertAnswers(
  answers: readonly (KeyInScope & { readonly answer: StoredAnswer })[],
  now: number,
): Statement {
  const column = <Value>(read: (answer: StoredAnswer) => Value): Value[] => answers.map(({ answer }) => read(answer));
  return {
    name: 'insert_answers',
    text: `insert into idempotency (program_id, operation, key, fingerprint, status, subject_id, body, code, message,
        field, created_at)
      select program_id, operation, key, decode(fingerprint, 'hex'), status, subject_id, body, code, message, field, $11::timestamptz
      from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::uuid[], ${splitTexts('$7')}, $8::text[],
        $9::text[], $10::text[])
        as unnested(program_id, operation, key, fingerprint, status, subject_id, body, code, message, field)`,
    values: [
      plainArray(answers.map((row) => row.programId)),
      plainArray(answers.map((row) => row.operation)),
      answers.map((row) => row.key),
      plainArray(column((answer) => answer.fingerprint)),
      plainArray(column((answer) => answer.status)),
      plainArray(column((answer) => answer.subjectId)),
      joinTexts(column((answer) => answer.body)),
      column((answer) => answer.code),
      column((answer) => answer.message),
      column((answer) => answer.field),
      new Date(now),
    ],
  };
}

/** How long a first answer is kept to the letter, in days; what a refused key was refused for is forgotten then. */
export const KEPT_DAYS = 30;

/** Forgets refused keys that are old enough, at most `count` at a time; gives their number as `forgotten`. */
export function forgetRefusedKeys(count: number): Statement {
  return {
    name: 'forget_refused_keys',
    text: `with old as (
        select ctid from idempotency
        where status = 409 and created_at < (select clock_timestamp()) - interval '${KEPT_DAYS} days'
        order by created_at limit $1
        for update skip locked
      ), gone as (delete from idempotency where ctid in (select ctid from old) returning 1)
      select count(*) as forgotten from gone`,
    values: [count],
  };
}

/**
 * Operations of which there are as many as there are transfers and cards. The bodies of their first responses are dropped
 * in time, since they can be made again from what the request made. Those of operators are few, and stay.
 */
const MANY: readonly string[] = [
  'create_transfer',
  'capture_transfer',
  'cancel_transfer',
  'reverse_transfer',
  'create_card',
];

/**
 * Lets go of the bodies of first answers that are old enough, at most `count` at a time; gives their number as
 * `forgotten`. The key stays as long as what it made: a replay answers with that as it is then.
 */
export function forgetBodies(count: number): Statement {
  return {
    name: 'forget_bodies',
    text: `with old as (
        select ctid from idempotency
        where body is not null and operation = any ($2)
          and created_at < (select clock_timestamp()) - interval '${KEPT_DAYS} days'
        order by created_at limit $1
        for update skip locked
      ), gone as (update idempotency set body = null where ctid in (select ctid from old) returning 1)
      select count(*) as forgotten from gone`,
    values: [count, MANY],
  };
}
