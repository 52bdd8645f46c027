import { problemsOf, send, type Violation } from './campaign.ts';
import { Conversation } from './conversation.ts';
import { type Batch, newBatchOf, newRequest, type Recipe } from './generate.ts';
import type { Provide } from './needs.ts';

/** The smallest that still goes wrong, or that it went wrong only once. */
export type Reproduction = { readonly bytes: Buffer; readonly changes: readonly string[]; readonly response: string };

/** The service that a case is sent to again. */
export type Arena = { readonly port: number; readonly provide: Provide };

/** Changes of one request, or of some bytes, at most. */
const CHANGES_MOST = 8;

/** Leaves out of a case whatever can be left out without its problem going away. */
export async function shrink(
  { port, provide }: Arena,
  seed: number,
  violation: Violation,
): Promise<Reproduction | undefined> {
  const { batch, request, problem } = violation;
  const kind = kindOf(problem);
  let attempts = 0;
  const retry = async (without: ReadonlySet<string>): Promise<Reproduction | undefined> => {
    attempts += 1;
    const recipe: Recipe = { seed, batch, without, salt: `again-${process.pid}-${Date.now()}-${attempts}-` };
    const made: Batch =
      request === undefined ? newBatchOf(recipe) : { kind: 'requests', requests: [newRequest(recipe, request)] };
    return tryOnce({ port, provide }, made, kind);
  };
  let without = new Set<string>();
  let smallest = await retry(without);
  if (smallest === undefined) return undefined;
  const owner = request === undefined ? 'bytes' : String(request);
  for (let at = 0; at < CHANGES_MOST; at += 1) {
    const fewer = new Set([...without, `${owner}.${at}`]);
    const found = await retry(fewer);
    if (found === undefined) continue;
    without = fewer;
    smallest = found;
  }
  return smallest;
}

async function tryOnce({ port, provide }: Arena, made: Batch, kind: string): Promise<Reproduction | undefined> {
  const conversation = new Conversation(port);
  try {
    const exchange = await send(conversation, made, provide);
    if (!problemsOf(made, exchange).some(({ problem }) => kindOf(problem) === kind)) return undefined;
    const bytes = made.kind === 'bytes' ? made.bytes : Buffer.concat(made.requests.map((one) => one.bytes));
    const changes = made.kind === 'bytes' ? [] : made.requests.flatMap((one) => one.changes);
    const response = exchange.responses.map(({ head, body }) => `${head.split('\r\n')[0]} ${body}`).join('\n');
    return { bytes, changes, response };
  } finally {
    conversation.close();
  }
}

/** Problems of one kind differ in their details only. */
function kindOf(problem: string): string {
  return problem.replace(/ in spite of.*| the card number.*|\d+/g, '');
}
