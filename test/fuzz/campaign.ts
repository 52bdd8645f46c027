import type { OperationId } from '../../contract/operations.ts';
import type { ServiceProcess } from '../harness/process.ts';
import { Accounts, readBalances, readFound, readImbalance } from './accounts.ts';
import { Conversation, type Exchange } from './conversation.ts';
import { type Batch, newBatchOf, withNeeded } from './generate.ts';
import { judge, judgeBytes, judgeExchange } from './judge.ts';
import { openCards, openNeeds, type Provide } from './needs.ts';

/** Something that must never be, and where. */
export type Violation = { readonly batch: number; readonly request: number | undefined; readonly problem: string };

export type CampaignOptions = {
  readonly seed: number;
  readonly count: number;
  /** No request is begun after this time. */
  readonly seconds?: number;
  /** First batch; 0 unless a single one is looked at. */
  readonly first?: number;
  readonly onProgress?: (state: Readonly<Result>) => void;
};

/** How it went. */
export type Result = {
  requests: number;
  /** Requests on a connection that a response before theirs had ended: the service never began with them. */
  unanswered: number;
  readonly statuses: Map<number, number>;
  /** Successes by operation, of requests that are whole. */
  readonly successes: Map<OperationId, number>;
  readonly violations: Violation[];
  moves: number;
};

/** Connections at a time: they share commits, so more of them are faster, and so few that the service sheds nothing. */
const CONNECTIONS = 32;

/** Requests between two looks at the balances. */
const ROUND = 20_000;

/** Violations after which it is clear enough that something is wrong. */
const ENOUGH = 10;

/** Sends generated requests to a sandbox that has served nobody else, and judges every response. */
export async function runCampaign(service: ServiceProcess, options: CampaignOptions): Promise<Result> {
  await openCards(service.client);
  const accounts = new Accounts(await readBalances(service.client));
  const provide = await openNeeds(service.client, (record) => accounts.learn(record));
  const result: Result = {
    requests: 0,
    unanswered: 0,
    statuses: new Map(),
    successes: new Map(),
    violations: [],
    moves: 0,
  };
  const port = Number(new URL(service.url).port);
  let next = options.first ?? 0;
  const end = performance.now() + (options.seconds ?? Number.POSITIVE_INFINITY) * 1000;
  const isOver = (): boolean => result.violations.length >= ENOUGH || performance.now() >= end;
  while (result.requests < options.count && !isOver()) {
    const until = Math.min(options.count, result.requests + ROUND);
    const work = async (): Promise<void> => {
      const conversation = new Conversation(port);
      while (result.requests < until && !isOver()) {
        const batch = next;
        next += 1;
        await runBatch(conversation, { ...options, batch, provide }, result, accounts);
      }
      conversation.close();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
    result.moves = accounts.moves;
    const problems = [
      ...accounts.compare(await readFound(service.client, accounts.touched)),
      ...(await readImbalance(service.client)),
      ...(service.child.exitCode === null ? [] : ['the service has ended']),
    ];
    for (const problem of problems) result.violations.push({ batch: next, request: undefined, problem });
    options.onProgress?.(result);
  }
  return result;
}

async function runBatch(
  conversation: Conversation,
  { seed, batch, provide }: { readonly seed: number; readonly batch: number; readonly provide: Provide },
  result: Result,
  accounts: Accounts,
): Promise<void> {
  const made = newBatchOf({ seed, batch });
  result.requests += made.kind === 'bytes' ? made.count : made.requests.length;
  let exchange: Exchange;
  try {
    exchange = await send(conversation, made, provide);
  } catch (error) {
    result.violations.push({ batch, request: undefined, problem: `there is no connection: ${String(error)}` });
    return;
  }
  for (const [at, response] of exchange.responses.entries()) {
    result.statuses.set(response.status, (result.statuses.get(response.status) ?? 0) + 1);
    accounts.note(response);
    const operation = made.kind === 'requests' && response.status < 300 ? made.requests[at]?.operation : undefined;
    if (operation !== undefined) result.successes.set(operation, (result.successes.get(operation) ?? 0) + 1);
  }
  if (made.kind === 'requests') result.unanswered += made.requests.length - exchange.responses.length;
  result.violations.push(...problemsOf(made, exchange).map((found) => ({ ...found, batch })));
}

/** Makes what a batch needs, and sends it in its way. */
export async function send(conversation: Conversation, made: Batch, provide: Provide): Promise<Exchange> {
  if (made.kind === 'bytes') {
    conversation.close();
    return conversation.sendAndEnd(withNeeded(made.bytes, await provide(made.needs)));
  }
  const { requests } = made;
  const ids = [...(await provide(requests.flatMap(({ needs }) => needs ?? [])))];
  const parts = requests.map((request) =>
    request.needs === undefined ? request.bytes : withNeeded(request.bytes, ids.splice(0, 1)),
  );
  const bytes = Buffer.concat(parts);
  return conversation.exchange(bytes, requests, requests.at(-1)?.closes === true);
}

/** Everything that is wrong with how a batch was answered. */
export function problemsOf(made: Batch, exchange: Exchange): readonly Omit<Violation, 'batch'>[] {
  if (made.kind === 'bytes') {
    // Empty lines before a request are skipped, and without one there is nothing to response.
    if (/^[\r\n]*$/.test(made.bytes.toString('latin1'))) return [];
    const problem = judgeBytes(exchange, made.count, made.planted);
    return problem === undefined ? [] : [{ request: undefined, problem }];
  }
  const planted = made.requests.flatMap((request) => request.planted);
  const problems: Omit<Violation, 'batch'>[] = [];
  for (const [at, response] of exchange.responses.entries()) {
    const request = made.requests[at];
    const problem = request && judge(response, request, planted);
    if (problem !== undefined) problems.push({ request: at, problem });
  }
  const problem = judgeExchange(exchange, made.requests);
  return problem === undefined ? problems : [...problems, { request: undefined, problem }];
}
