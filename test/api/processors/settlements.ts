import { createHash, randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { BreakRecord } from '../../../contract/processors/breaks.ts';
import type { SettlementFileRecord } from '../../../contract/processors/settlement-files.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import type { Refusal } from '../../../domain/refusal.ts';
import { openHttpConnector } from '../../../server/background/processors/http-connector.ts';
import { startMatchingSettlements } from '../../../server/background/processors/match-settlements.ts';
import { simulatorSettings } from '../../../server/background/processors/start-simulator.ts';
import { answered, attemptOf, report, SilentProcessors, stepFor } from '../../fixtures/processors.ts';
import type { Ledger } from '../../harness/ledger.ts';
import { waitFor } from '../../harness/process.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

export type Line = Readonly<Record<string, unknown>>;

export type Status = 'approved' | 'declined' | 'sent' | 'unknown';

export const bodyOf = async <Body>(reply: Promise<{ readonly body: string }>): Promise<Body> =>
  JSON.parse((await reply).body) as Body;

export const refusal = (attempted: Promise<unknown>) =>
  attempted.then(
    () => undefined,
    ({ code, message, details }: Refusal) => ({ code, message, field: details.field }),
  );

export const lineOf = ({ attemptId, kind, amount, currency }: Attempt, more: object = {}): Line => ({
  attempt_id: toWireId('pat', attemptId),
  kind,
  amount: Number(amount),
  currency,
  settled_on: '2026-11-30',
  ...more,
});

/** Creates a ledger for one test file, with settlement files of the simulator. The tests run the jobs themselves. */
export async function useSettlements() {
  const server = await useServer();
  const ledger = useLedger(server.connection, undefined, undefined, undefined, new SilentProcessors());
  const client = await useConnection(server.connection);
  const createFile = (lines: readonly Line[], more: object = {}) => {
    const sha256 = createHash('sha256').update(JSON.stringify(lines)).update(JSON.stringify(more)).digest('hex');
    const body = { connector_id: 'simulator', name: 'settlement.csv', sha256, line_count: lines.length, ...more };
    return bodyOf<SettlementFileRecord>(ledger.call('create_settlement_file', body));
  };

  const add = (fileId: string, first_line: number, lines: readonly unknown[]) =>
    bodyOf<SettlementFileRecord>(
      ledger.call('add_settlement_lines', { first_line, lines }, { params: { file_id: fileId } }),
    );

  const show = (fileId: string) =>
    bodyOf<SettlementFileRecord>(ledger.call('get_settlement_file', {}, { params: { file_id: fileId } }));

  const withdraw = (fileId: string, note = 'The wrong file.') =>
    bodyOf<SettlementFileRecord>(ledger.call('withdraw_settlement_file', { note }, { params: { file_id: fileId } }));

  /** Runs a job in two processes until its work is done, while `meanwhile` runs. */
  async function runJob(
    start: typeof startMatchingSettlements,
    isDone: () => Promise<boolean>,
    meanwhile: () => Promise<void> = async () => undefined,
  ): Promise<void> {
    const connector = openHttpConnector(simulatorSettings());
    const { database, service } = ledger;
    const parts = { database, transfers: service.transfers, onFailure: () => undefined };
    const jobs = [1, 2].map(() => start(new Map([['simulator', connector]]), parts));
    for (const job of jobs) job.wake();
    await meanwhile();
    await waitFor('the end of the work', isDone, 120_000);
    await Promise.all(jobs.map((job) => job.stop()));
    connector.close();
  }

  /** Compares the files until none is left. */
  function match(meanwhile?: () => Promise<void>): Promise<void> {
    const open = "select from settlement_file where status in ('matching', 'withdrawing')";
    return runJob(startMatchingSettlements, async () => (await client.query(open)).rowCount === 0, meanwhile);
  }

  async function settle(lines: readonly Line[]): Promise<SettlementFileRecord> {
    const { file_id: fileId } = await createFile(lines);
    await add(fileId, 1, lines);
    await match();
    return show(fileId);
  }

  const breaksOf = async (kind: string, more: object = {}): Promise<readonly BreakRecord[]> => {
    const all: BreakRecord[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { kind, limit: 100, ...more, ...(cursor === undefined ? {} : { cursor }) };
      const page = await bodyOf<{ data: readonly BreakRecord[]; next_cursor: string | null }>(
        ledger.call('list_breaks', query),
      );
      all.push(...page.data);
      cursor = page.next_cursor;
    }
    return all;
  };

  const ofFiles = { createFile, add, show, withdraw, match, settle };
  const ofAttempts = { attempt: makeAttempt.bind(null, ledger, client), cutConnections: () => cutConnections(client) };
  return { server, ledger, client, runJob, breaksOf, ...ofFiles, ...ofAttempts };
}

/** Cuts all connections of the service several times. */
async function cutConnections(client: pg.Client): Promise<void> {
  for (let cut = 0; cut < 15; cut += 1) {
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

/** Creates an attempt of a load or an unload with this status, and with the processor's reference unless it is only `sent`. */
async function makeAttempt(
  ledger: Ledger,
  client: pg.Client,
  status: Status,
  type: 'load' | 'unload' = 'load',
  processorReference?: string,
): Promise<Attempt> {
  const card_id = `card-${randomUUID()}`;
  await ledger.call('create_card', { connector_id: 'simulator', processor_token: 'sim_approve', card_id });
  const { transfer_id: id } = await bodyOf<{ transfer_id: string }>(
    ledger.call('create_transfer', { amount: 1000, card_id, type }),
  );
  const ready = await attemptOf(ledger, id);
  const reference = processorReference ?? `ref-${ready.attemptId}`;
  const answer = { processorReference: reference, ...(status === 'declined' && { code: '51' }) };
  if (status === 'approved' || status === 'declined') {
    await report(ledger, ready, stepFor(ready, 'notice', answered(status, answer)));
  }
  if (status === 'unknown') {
    await client.query(
      `update processor_attempt set status = 'unknown', processor_reference = $2, sent_at = now(), unknown_since = now(),
        next_at = now() + interval '1 hour' where attempt_id = $1`,
      [ready.attemptId, reference],
    );
  }
  return attemptOf(ledger, id);
}
