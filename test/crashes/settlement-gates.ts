import { waitFor } from '../harness/process.ts';

/** Sends an SQL statement to the ledger. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;

type Step = {
  readonly table: string;
  readonly on: 'insert' | 'update';
  /** The condition on `old` and `new`. */
  readonly when: string;
  /** Whether the service waits at the COMMIT. Otherwise it waits when it writes the row. */
  readonly atCommit?: true;
};

const file = (when: string, more: object = {}): Step => ({ table: 'settlement_file', on: 'update', when, ...more });
const line = (when: string): Step => ({ table: 'settlement_line', on: 'update', when });
const order = (when: string): Step => ({ table: 'processor_attempt', on: 'update', when });
const opened = (kind: string): Step => ({ table: 'processor_break', on: 'insert', when: `new.kind = '${kind}'` });

const BEGUN = `old.outcome is null and new.outcome in ('reported', 'differs')`;

/** Every write of the import, the comparison and the withdrawal of a settlement file. */
const STEPS: Readonly<Record<string, Step>> = {
  'add later lines': { table: 'settlement_line', on: 'insert', when: 'new.line_number > 4' },
  'receive the last line': file("old.status = 'receiving' and new.status = 'matching'"),
  'claim a file': file('new.claimed_until > clock_timestamp() and new.lines_examined = old.lines_examined'),
  'begin a line': line(`${BEGUN} and new.attempt_ids is null`),
  'begin a batch': line(`${BEGUN} and new.attempt_ids is not null`),
  'approve an unknown order': order("old.status = 'unknown' and new.status = 'approved'"),
  'post a late approval': order('old.late_approval_at is null and new.late_approval_at is not null'),
  'open a contradiction': opened('contradiction'),
  'open a break of a line': opened('missing_in_ledger'),
  'open a break of a duplicate': opened('duplicate'),
  'settle an order': order('old.settlement_file_id is null and new.settlement_file_id is not null'),
  'store the outcome of a line': line("old.outcome is null and new.outcome in ('matched', 'missing_in_ledger')"),
  'count lines': file('new.lines_examined > old.lines_examined'),
  'commit the last count': file("old.status = 'matching' and new.status = 'matched'", { atCommit: true }),
  'announce a break': {
    table: 'processor_break',
    on: 'update',
    when: 'old.announced_at is null and new.announced_at is not null',
  },
  'accept the orders of a line': order('old.accepted_at is null and new.accepted_at is not null'),
  'withdraw a file': file("new.status = 'withdrawing' and old.status = 'matched'"),
  'take back an order': order('old.settlement_file_id is not null and new.settlement_file_id is null'),
  'close a break of a withdrawn file': {
    table: 'processor_break',
    on: 'update',
    when: `old.closed_at is null and new.resolution like '%was withdrawn.'`,
  },
  'commit the withdrawal': file("old.status = 'withdrawing' and new.status = 'withdrawn'", { atCommit: true }),
};

const NAMES = Object.keys(STEPS);

/** The first key of the locks that say where a transaction waits. The second key is the number of the step. */
const SPACE = 7400;

/**
 * At a closed gate, a transaction takes a lock that shows where it is, and waits until the gate opens. The gates are rows, so they
 * are still closed after PostgreSQL was killed.
 */
const FUNCTION = `
  create table settlement_gate (step integer primary key);
  grant select on settlement_gate to public;
  create function wait_at_gate() returns trigger language plpgsql security definer as $$
  begin
    if exists (select from settlement_gate where step = tg_argv[0]::int) then
      perform pg_advisory_xact_lock_shared(${SPACE}, tg_argv[0]::int);
    end if;
    while exists (select from settlement_gate where step = tg_argv[0]::int) loop
      perform pg_sleep(0.01);
    end loop;
    return case when tg_when = 'BEFORE' then new end;
  end $$`;

const triggerOf = ({ table, on, when, atCommit }: Step, step: number): string => {
  const name = `settlement_gate_${step}`;
  const [kind, time, deferred] = atCommit
    ? ['constraint trigger', 'after', 'deferrable initially deferred']
    : ['trigger', 'before', ''];
  return `create ${kind} ${name} ${time} ${on} on ${table} ${deferred} for each row when (${when})
    execute function wait_at_gate('${step}')`;
};

/** Gates at which the service waits before it writes a step, so that it can be killed there. All are open at first. */
export class SettlementGates {
  readonly #query: Query;

  private constructor(query: Query) {
    this.#query = query;
  }

  static async create(query: Query): Promise<SettlementGates> {
    await query(FUNCTION);
    for (const [step, name] of NAMES.entries()) await query(triggerOf(STEPS[name] as Step, step));
    return new SettlementGates(query);
  }

  async closeAll(): Promise<void> {
    await this.#query('insert into settlement_gate select generate_series(0, $1) on conflict do nothing', [
      NAMES.length - 1,
    ]);
  }

  /** Returns the closed gate at which a transaction waits, if there is one. */
  async waiting(): Promise<string | undefined> {
    const [row] = await this.#query(
      `select step from settlement_gate join pg_locks on objid::int = step
        where locktype = 'advisory' and classid::int = ${SPACE} and granted order by step limit 1`,
    );
    return row === undefined ? undefined : NAMES[Number(row.step)];
  }

  async open(name: string): Promise<void> {
    await this.#query('delete from settlement_gate where step = $1', [NAMES.indexOf(name)]);
  }

  /** Ends the transactions of a killed service that wait at gates, and waits until they have ended. */
  async endWaiting(): Promise<void> {
    const left = `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid::int = ${SPACE}`;
    await waitFor('the end of the transactions', async () => (await this.#query(left)).length === 0);
  }

  /** The steps at which no transaction has waited since the gates were closed. */
  async closed(): Promise<readonly (string | undefined)[]> {
    return (await this.#query('select step from settlement_gate order by step')).map(({ step }) => NAMES[Number(step)]);
  }
}
