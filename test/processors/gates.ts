import pg from 'pg';
import { waitFor } from '../harness/process.ts';

/**
 * Points at which a test can make the service wait. At each point, a trigger takes a lock that the test holds. At the
 * first points, the service is about to write a claim, mark an order as sent, record an answer to a question, or record
 * a notice. The last two points are at the COMMIT of a stored notice and of a new transfer.
 */
export const GATES = {
  claim: 1,
  mark: 2,
  record: 3,
  inquired: 4,
  reversed: 5,
  noticed: 6,
  stored: 7,
  commit: 8,
} as const;

export type Gate = keyof typeof GATES;

const GATE_SPACE = 7300;

const LOCK = (gate: string, connectorId: string): string =>
  `perform pg_advisory_xact_lock_shared(${GATE_SPACE} + ${gate}, hashtext(${connectorId}) & x'7fffffff'::int);`;

/**
 * Determines the gate of a write from the attempt's status before and after the change. Each gate has a separate lock
 * per connector. The trigger also records how far the clock was ahead when an order was sent. Orders that have not been
 * sent wait without the lock limit of half a second. Otherwise, two services that retry after a second could alternate
 * forever and never wait at the same time.
 */
export const GATE_TRIGGERS = `
  create table test_sent (attempt_id uuid, tries int, ahead interval, primary key (attempt_id, tries));
  create function test_gate() returns trigger language plpgsql security definer as $$
  begin
    if old.status = 'ready' and new.status = 'sent' then
      insert into test_sent values (new.attempt_id, new.tries, new.sent_at - clock_timestamp())
        on conflict (attempt_id, tries) do update set ahead = excluded.ahead;
    end if;
    if old.status = 'ready' then
      perform set_config('lock_timeout', '0', true);
    end if;
    ${LOCK(
      `case
      when old.status = 'ready' and new.status = 'ready' then ${GATES.claim}
      when old.status = 'ready' and new.status = 'sent' then ${GATES.mark}
      when old.status = 'sent' then ${GATES.record}
      when old.status = new.status and new.looks = old.looks then 0
      when old.status = 'unknown' then ${GATES.inquired}
      when old.status = 'pending' then ${GATES.noticed}
      else ${GATES.reversed}
    end`,
      'new.connector_id',
    )}
    return new;
  end $$;
  create trigger test_gate before update on processor_attempt for each row execute function test_gate();
  create function test_gate_at_commit() returns trigger language plpgsql security definer as $$
  begin
    ${LOCK('tg_argv[0]::int', 'new.connector_id')}
    return null;
  end $$;
  create constraint trigger test_gate_commit after insert on processor_attempt deferrable initially deferred
    for each row execute function test_gate_at_commit(${GATES.commit});
  create constraint trigger test_gate_stored after insert on processor_notice deferrable initially deferred
    for each row execute function test_gate_at_commit(${GATES.stored})`;

/** The first and the last of the gates where all transfers wait as soon as one waits. */
const OF_ALL: readonly [number, number] = [GATES.record, GATES.commit];

export class Gates {
  readonly #databaseUrl: () => Promise<string>;
  readonly #query: (text: string, values: readonly unknown[]) => Promise<readonly unknown[]>;
  readonly #holders: pg.Client[] = [];

  constructor(
    databaseUrl: () => Promise<string>,
    query: (text: string, values: readonly unknown[]) => Promise<readonly unknown[]>,
  ) {
    this.#databaseUrl = databaseUrl;
    this.#query = query;
  }

  /** Makes the service wait at a gate with a connector's attempts until {@link release}. */
  async close(gate: Gate, connectorId: string): Promise<void> {
    const holder = new pg.Client(await this.#databaseUrl());
    holder.on('error', () => undefined);
    await holder.connect();
    this.#holders.push(holder);
    await holder.query(`select pg_advisory_lock($1, hashtext($2) & x'7fffffff'::int)`, [
      GATE_SPACE + GATES[gate],
      connectorId,
    ]);
  }

  /** Waits until this many connections of services are waiting at a closed gate, or at any gate for all transfers. */
  async untilWaiting(gate?: Gate, connectorId?: string, connections = 1): Promise<void> {
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted
      and classid::int between $1 and $2 and ($3::text is null or objid::int = hashtext($3) & x'7fffffff'::int)`;
    const [first, last] = gate === undefined ? OF_ALL : [GATES[gate], GATES[gate]];
    const values = [GATE_SPACE + first, GATE_SPACE + last, connectorId ?? null];
    const isThere = async () => (await this.#query(waiting, values)).length >= connections;
    await waitFor(`the gate ${gate ?? ''}`, isThere);
  }

  async release(): Promise<void> {
    for (const holder of this.#holders.splice(0)) await holder.end().catch(() => undefined);
  }
}
