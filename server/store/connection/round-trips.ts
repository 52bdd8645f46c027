import type pg from 'pg';
import { CommitUnknown, describeFailure, isFatal, isSilence, Overdue, StoreFailure } from './failure.ts';
import { REQUIRE_PLACEMENT } from './placement.ts';
import type { Pool } from './pool.ts';
import { isPlacement, LIMITS, serverOf } from './session-settings.ts';
import { hasWaited, LACKS_STANDBY, READ_WAITS, REPLICATED, SETTINGS_READ, type Standby } from './standby.ts';
import { type ChainPlace, type Decision, eventsOf, type Loaded, type Row, type Statement, toQuery } from './work.ts';

// Invariant: A fence lists the events of its transaction
// Kept by: `insertEvents`, `mergeWrites` and `toFence`
// Tested by: `test/store/events/relay.test.ts`

/** Takes a connection of a pool. Throws {@link StoreFailure} if none is free at the deadline. */
export async function connect(pool: Pool, deadline?: number): Promise<pg.PoolClient> {
  try {
    return await pool.take(deadline);
  } catch (error) {
    throw new StoreFailure(error);
  }
}

/** Returns a BEGIN that is restricted to the rows of some programs. */
export function toBegin(programs: string | null, begin = 'begin'): string {
  return programs === null ? begin : `${begin}; set local ${programs}`;
}

export async function load<Name extends string>(
  client: pg.PoolClient,
  programs: string | null,
  statements: Readonly<Record<Name, Statement | null>>,
): Promise<Loaded<Name>> {
  const wanted = Object.entries<Statement | null>(statements);
  let respondedAt = performance.now();
  const note = (response: pg.QueryResult): pg.QueryResult => {
    respondedAt = performance.now();
    return response;
  };
  const [begun, ...responses] = await sendTogether(client, () => [
    client.query(toBegin(programs)),
    ...wanted.map(([, statement]) => (statement === null ? null : client.query(toQuery(statement)).then(note))),
  ]);
  const failed = [begun, ...responses].find((response) => response?.status === 'rejected');
  if (failed !== undefined) {
    const { reason } = failed as { readonly reason: unknown };
    // The time limit of a response starts when all statements are sent, so consecutive waits add up.
    const isOverdue = isSilence(reason) && performance.now() - respondedAt < LIMITS.statement;
    throw await rolledBack(client, isOverdue ? new Overdue() : reason);
  }
  const loaded = {} as Record<Name, readonly Row[]>;
  for (const [index, response] of responses.entries()) {
    const name = wanted[index]?.[0] as Name;
    loaded[name] = response.status === 'fulfilled' ? (response.value?.rows ?? []) : [];
  }
  return loaded;
}

/** Decides. If the decision throws, rolls back and rethrows the error. */
export async function decideOrRollBack<Result>(client: pg.PoolClient, decide: () => Result): Promise<Result> {
  try {
    return decide();
  } catch (error) {
    await rolledBack(client, error);
    throw error;
  }
}

/**
 * The time is null if a standby is required but none is configured. PostgreSQL then refuses the row, and with it the
 * transaction.
 */
const INSERT_FENCE = `insert into write_batch (batch_id, created_at, relayed, events_at, event_programs, event_counts)
    values ($1, case when not ${LACKS_STANDBY} then clock_timestamp() end, $2::timestamptz is null, $2, $3, $4)`;

/** Inserts the fence of a transaction as abandoned, so that the transaction can never be committed, unless it already is. */
export const ABANDON = {
  name: 'abandon_batch',
  text: `insert into write_batch (batch_id, abandoned, created_at) values ($1, true, clock_timestamp())
    on conflict (batch_id) do nothing`,
};

/** Reads whether a transaction was committed or abandoned. */
export const LOOK_UP_FENCE = {
  name: 'look_up_batch',
  text: `select abandoned, ${REPLICATED} from write_batch where batch_id = $1`,
};

const FENCE_COLUMNS = `created_at, ${REPLICATED}, ${SETTINGS_READ}`;

const FENCE = { name: 'fence_batch', text: `${INSERT_FENCE} returning ${FENCE_COLUMNS}` };

/** The fence for a placement, where RETURNING must not read settings. */
const FENCE_OF_PLACEMENT = { name: 'fence_batch_of_place', text: INSERT_FENCE };
const READ_FENCE = { name: 'read_fence', text: `select ${FENCE_COLUMNS} from write_batch where batch_id = $1` };

/**
 * Returns the fence. It lists the events that the statements of its transaction insert, for the relay. The last of these statements
 * returns the fence's row.
 */
function toFence(client: pg.ClientBase, batchId: string, statements: readonly Statement[]): readonly Statement[] {
  const { at = null, programIds = null, counts = null } = eventsOf(statements) ?? {};
  const values = [batchId, at, programIds, counts];
  if (!isPlacement(client)) return [{ ...FENCE, values }];
  return [{ ...FENCE_OF_PLACEMENT, values }, REQUIRE_PLACEMENT, { ...READ_FENCE, values: [batchId] }];
}

const READ_REPLICATED = { name: 'read_replicated', text: `select ${REPLICATED}`, values: [] };

/** Ends a transaction that changes nothing, if the check confirms that the data behind its decision is unchanged. */
export async function leave(
  client: pg.PoolClient,
  { result, readsOnly }: Pick<Decision<unknown>, 'result' | 'readsOnly'>,
  check: Statement | null = null,
): Promise<void> {
  const [checked, , read] = await sendTogether(client, () => [
    check === null ? null : client.query(toQuery(check)),
    client.query('rollback'),
    readsOnly === true ? null : client.query(toQuery(READ_REPLICATED)),
  ]);
  if (checked?.status === 'rejected') throw new StoreFailure(checked.reason);
  if (readsOnly === true) return;
  // Only a response without replication proves that the data is durable. A missing response proves nothing.
  const isLasting = read?.status === 'fulfilled' && read.value?.rows[0]?.replicated === null;
  const cause = new Error('the standby may lack the rows that were read');
  if (!isLasting) throw new CommitUnknown(cause, result, 'unconfirmed', serverOf(client));
}

/** Waits for the previous transaction of the chain. If that was not committed, rolls back and throws. */
export async function requireBase(client: pg.PoolClient, place: ChainPlace): Promise<void> {
  if (await place.baseCommitted()) return;
  const broken = place.whenBroken();
  await rolledBack(client, broken);
  throw broken;
}

/**
 * Writes and commits, and returns the rows of the last write. In a chain, there are two parts. The second part, which includes the
 * commit, is sent once the previous transaction is committed.
 */
export async function save(
  client: pg.PoolClient,
  batchId: string,
  [first, second]: readonly [readonly Statement[]] | readonly [readonly Statement[], readonly Statement[]],
  result: unknown,
  standby: Standby,
  place?: ChainPlace,
): Promise<readonly Row[]> {
  let warned = false;
  const listen = (notice: { severity?: string | undefined; code?: string | undefined }): void => {
    // A server in an immediate shutdown also warns (class 57). That warning does not concern a commit that the server has
    // confirmed.
    warned ||= notice.severity === 'WARNING' && notice.code?.startsWith('57') !== true;
  };
  const send = (statements: readonly Statement[]): Promise<pg.QueryResult>[] =>
    statements
      .flatMap((statement) => (isPlacement(client) ? (statement.parts ?? statement) : statement))
      .map((statement) => client.query(toQuery(statement)));
  const fence = toFence(client, batchId, [...first, ...(second ?? [])]);
  const begin = (): Promise<pg.QueryResult>[] => send([...fence, ...first]);
  const commitAndCheck = (): Promise<pg.QueryResult>[] => [
    client.query('commit'),
    ...(standby.isRequired ? send([READ_WAITS]) : []),
  ];
  const sendWrites = async (): Promise<Responses> => {
    if (place === undefined) return sendTogether(client, () => [...begin(), ...commitAndCheck()]);
    const early = sendTogether(client, begin);
    await requireBase(client, place);
    const late = sendTogether(client, () => [...send(second ?? []), ...commitAndCheck()]);
    return [...(await early), ...(await late)];
  };
  client.on('notice', listen);
  const responses = await sendWrites().finally(() => client.off('notice', listen));
  const [commit, check] = responses.slice(standby.isRequired ? -2 : -1);
  const failed = responses.find((response) => response.status === 'rejected');
  if (commit === undefined || commit.status === 'rejected') {
    const reason: unknown = commit?.reason;
    // Even an ordinary error proves nothing, because a pooler may report a lost response as an error. Only an error of an earlier
    // statement means that nothing was committed.
    if (failed === undefined || failed === commit || describeFailure(reason).connectionLost)
      throw new CommitUnknown(reason, result, 'response_lost');
    throw await rolledBack(client, failed.reason);
  }
  // PostgreSQL answers COMMIT with ROLLBACK if an earlier statement failed.
  if (commit.value?.command !== 'COMMIT') throw new StoreFailure(failed?.reason ?? new Error('rolled back at commit'));
  // "Committed locally": the server could not wait for its standby, so the commit may be lost.
  if (warned) throw new CommitUnknown(new Error('the server warned at commit'), result, 'local');
  const fenced = responses[fence.length - 1];
  const begun: Row | undefined = fenced?.status === 'fulfilled' ? fenced.value?.rows[0] : undefined;
  if (standby.isRequired && !(check?.status === 'fulfilled' && hasWaited(begun, check.value?.rows[0]))) {
    const cause = new Error('the settings of the server may have changed during the commit');
    throw new CommitUnknown(cause, result, 'response_lost');
  }
  if (typeof begun?.replicated === 'string') standby.note(begun.created_at as Date, begun.replicated);
  const written = responses.at(standby.isRequired ? -3 : -2);
  return written?.status === 'fulfilled' ? (written.value?.rows ?? []) : [];
}

type Responses = readonly PromiseSettledResult<pg.QueryResult | null>[];

/** Sends queries in one packet if they fit. Node sends everything that is written between cork and uncork together. */
export function sendTogether(
  client: pg.PoolClient,
  send: () => readonly (Promise<pg.QueryResult> | null)[],
): Promise<Responses> {
  const { stream } = client.connection;
  stream.cork();
  try {
    return Promise.allSettled(send());
  } finally {
    stream.uncork();
  }
}

/** Returns the failure to throw, after a rollback if the connection is still open. */
async function rolledBack(client: pg.PoolClient, reason: unknown): Promise<StoreFailure> {
  const failure = new StoreFailure(reason);
  if (!isFatal(reason)) await client.query('rollback').catch(() => undefined);
  return failure;
}
