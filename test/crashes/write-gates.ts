import { waitFor } from '../harness/process.ts';
import type { Stage } from '../processors/stage.ts';

/** Sends an SQL statement to the ledger. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;

/** A write at which the service can be killed. */
export type Step = {
  readonly table: string;
  readonly on: 'insert' | 'update';
  /** The condition on `old` and `new`. */
  readonly when: string;
  /** Whether the service waits at the COMMIT. Otherwise it waits when it writes the row. */
  readonly atCommit?: true;
};

/** The first key of the locks that say where a transaction waits. The second key is the number of the step. */
const SPACE = 7400;

/**
 * At a closed gate, a transaction takes a lock that shows where it is, and waits until the gate opens. The gates are rows, so they
 * are still closed after PostgreSQL was killed.
 */
const FUNCTION = `
  create table write_gate (step integer primary key);
  grant select on write_gate to public;
  create function wait_at_gate() returns trigger language plpgsql security definer as $$
  begin
    if exists (select from write_gate where step = tg_argv[0]::int) then
      perform pg_advisory_xact_lock_shared(${SPACE}, tg_argv[0]::int);
    end if;
    while exists (select from write_gate where step = tg_argv[0]::int) loop
      perform pg_sleep(0.01);
    end loop;
    return case when tg_when = 'BEFORE' then new end;
  end $$`;

const triggerOf = ({ table, on, when, atCommit }: Step, step: number): string => {
  const name = `write_gate_${step}`;
  const [kind, time, deferred] = atCommit
    ? ['constraint trigger', 'after', 'deferrable initially deferred']
    : ['trigger', 'before', ''];
  return `create ${kind} ${name} ${time} ${on} on ${table} ${deferred} for each row when (${when})
    execute function wait_at_gate('${step}')`;
};

/** Gates at which the service waits before it writes a step, so that it can be killed there. All are open at first. */
export class WriteGates {
  readonly #query: Query;
  readonly #names: readonly string[];

  private constructor(query: Query, names: readonly string[]) {
    this.#query = query;
    this.#names = names;
  }

  /** Creates a gate for each of the named steps. */
  static async create(query: Query, steps: Readonly<Record<string, Step>>): Promise<WriteGates> {
    await query(FUNCTION);
    for (const [number, step] of Object.values(steps).entries()) await query(triggerOf(step, number));
    return new WriteGates(query, Object.keys(steps));
  }

  async closeAll(): Promise<void> {
    await this.#query('insert into write_gate select generate_series(0, $1) on conflict do nothing', [
      this.#names.length - 1,
    ]);
  }

  /** Returns the closed gate at which a transaction waits, if there is one. */
  async waiting(): Promise<string | undefined> {
    const [row] = await this.#query(
      `select step from write_gate join pg_locks on objid::int = step
        where locktype = 'advisory' and classid::int = ${SPACE} and granted order by step limit 1`,
    );
    return row === undefined ? undefined : this.#names[Number(row.step)];
  }

  async open(name: string): Promise<void> {
    await this.#query('delete from write_gate where step = $1', [this.#names.indexOf(name)]);
  }

  /** Ends the transactions of a killed service that wait at gates, and waits until they have ended. */
  async endWaiting(): Promise<void> {
    const left = `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid::int = ${SPACE}`;
    await waitFor('the end of the transactions', async () => (await this.#query(left)).length === 0);
  }

  /** The steps at which no transaction has waited since the gates were closed. */
  async closed(): Promise<readonly (string | undefined)[]> {
    return (await this.#query('select step from write_gate order by step')).map(
      ({ step }) => this.#names[Number(step)],
    );
  }
}

export type Victim = 'service' | 'PostgreSQL';

/** Limits a run with about 20 kills. Only broken code reaches it. */
export const MAX_MILLISECONDS = 800_000;

/**
 * Kills a victim at every closed gate where a transaction waits, until the work is done. `beforeStart` runs after each kill, while
 * the service is down.
 */
export async function killUntil(
  work: Promise<void>,
  victim: Victim,
  {
    stage,
    gates,
    beforeStart,
  }: {
    readonly stage: Stage;
    readonly gates: WriteGates;
    readonly beforeStart?: () => Promise<unknown>;
  },
): Promise<void> {
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  ended.catch(() => undefined);
  await waitFor(
    `the work between kills of ${victim}`,
    async () => {
      const gate = isDone ? undefined : await gates.waiting();
      if (gate === undefined) return isDone;
      if (victim === 'service') {
        await stage.killService();
        await gates.endWaiting();
      } else {
        await stage.killDatabase();
      }
      await gates.open(gate);
      await beforeStart?.();
      if (victim === 'service') await stage.start();
      return isDone;
    },
    MAX_MILLISECONDS,
  );
  await ended;
}
