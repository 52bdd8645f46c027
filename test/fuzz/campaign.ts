import type { ServiceProcess } from '../harness/process.ts';
import { Accounts } from './accounts.ts';
import { Conversation, type Exchange } from './conversation.ts';
import { CARDS } from './draft.ts';
import { type Batch, newBatchOf } from './generate.ts';
import { judge, judgeBytes, judgeExchange } from './judge.ts';

/** Something that must never be, and where. */
export type Violation = { readonly batch: number; readonly request: number | undefined; readonly problem: string };

export type CampaignOptions = {
  readonly seed: number;
  readonly count: number;
  /** First batch; 0 unless a single one is looked at. */
  readonly first?: number;
  readonly onProgress?: (state: Readonly<Result>) => void;
};

/** How it went. */
export type Result = {
  requests: number;
  /** Requests on a connection that an answer before theirs had ended: the service never began with them. */
  unanswered: number;
  readonly statuses: Map<number, number>;
  readonly violations: Violation[];
  moves: number;
};

/** Connections at a time: they share commits, so more of them are faster, and so few that the service sheds nothing. */
const CONNECTIONS = 32;

/** Requests between two looks at the balances. */
const ROUND = 20_000;

/** Violations after which it is clear enough that something is wrong. */
const ENOUGH = 10;

/** Sends generated requests to a sandbox that has served nobody else, and judges every answer. */
export async function runCampaign(service: ServiceProcess, options: CampaignOptions): Promise<Result> {
  for (const card_id of CARDS) await service.client.cards.create({ card_id });
  const accounts = new Accounts(service.client);
  await accounts.open();
  const result: Result = { requests: 0, unanswered: 0, statuses: new Map(), violations: [], moves: 0 };
  const port = Number(new URL(service.url).port);
  let next = options.first ?? 0;
  while (result.requests < options.count && result.violations.length < ENOUGH) {
    const until = Math.min(options.count, result.requests + ROUND);
    const work = async (): Promise<void> => {
      const conversation = new Conversation(port);
      while (result.requests < until && result.violations.length < ENOUGH) {
        const batch = next;
        next += 1;
        await runBatch(conversation, { ...options, batch }, result, accounts);
      }
      conversation.close();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
    result.moves = accounts.moves;
    const problems = [
      ...(await accounts.compare()),
      ...(service.child.exitCode === null ? [] : ['the service has ended']),
    ];
    for (const problem of problems) result.violations.push({ batch: next, request: undefined, problem });
    options.onProgress?.(result);
  }
  return result;
}

async function runBatch(
  conversation: Conversation,
  { seed, batch }: { readonly seed: number; readonly batch: number },
  result: Result,
  accounts: Accounts,
): Promise<void> {
  const made = newBatchOf({ seed, batch });
  result.requests += made.kind === 'bytes' ? made.count : made.requests.length;
  let exchange: Exchange;
  try {
    exchange = await send(conversation, made);
  } catch (error) {
    result.violations.push({ batch, request: undefined, problem: `there is no connection: ${String(error)}` });
    return;
  }
  for (const answer of exchange.answers) {
    result.statuses.set(answer.status, (result.statuses.get(answer.status) ?? 0) + 1);
    accounts.note(answer);
  }
  if (made.kind === 'requests') result.unanswered += made.requests.length - exchange.answers.length;
  result.violations.push(...problemsOf(made, exchange).map((found) => ({ ...found, batch })));
}

/** Sends a batch in its way. */
export function send(conversation: Conversation, made: Batch): Promise<Exchange> {
  if (made.kind === 'bytes') {
    conversation.close();
    return conversation.sendAndEnd(made.bytes);
  }
  const { requests } = made;
  const bytes = Buffer.concat(requests.map((request) => request.bytes));
  return conversation.exchange(bytes, requests, requests.at(-1)?.closes === true);
}

/** Everything that is wrong with how a batch was answered. */
export function problemsOf(made: Batch, exchange: Exchange): readonly Omit<Violation, 'batch'>[] {
  if (made.kind === 'bytes') {
    // Empty lines before a request are skipped, and without one there is nothing to answer.
    if (/^[\r\n]*$/.test(made.bytes.toString('latin1'))) return [];
    const problem = judgeBytes(exchange, made.count, made.planted);
    return problem === undefined ? [] : [{ request: undefined, problem }];
  }
  const planted = made.requests.flatMap((request) => request.planted);
  const problems: Omit<Violation, 'batch'>[] = [];
  for (const [at, answer] of exchange.answers.entries()) {
    const request = made.requests[at];
    const problem = request && judge(answer, request, planted);
    if (problem !== undefined) problems.push({ request: at, problem });
  }
  const problem = judgeExchange(exchange, made.requests);
  return problem === undefined ? problems : [...problems, { request: undefined, problem }];
}
