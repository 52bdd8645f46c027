import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { adapterAt, type Call, newId, type Order, type Returned, type Signing } from '../../cli/connector/adapter.ts';
import { checkAdapter, type RuleResult } from '../../cli/connector/rules.ts';
import { verifyWebhook } from '../../sdk/verify-webhook.ts';
import { prepareSimulator, type SimulatorProcess } from '../../server/background/processors/start-simulator.ts';
import { readBook } from '../../simulator/book.ts';
import { temporaryDirectory } from '../harness/process.ts';

/** Creates a signing secret in the format that operators use. */
export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export type Notice = Readonly<Record<string, unknown>>;

/** A simulator with a new book. It stops at the end of the test. */
export type Simulated = {
  readonly directory: string;
  readonly process: SimulatorProcess;
  readonly secret: string;
  readonly call: (call: Call, order: object | string, signing?: Signing) => Promise<Returned>;
  /** Returns the facts that the book has about an attempt, in order and without times. */
  readonly facts: (attemptId: string) => readonly string[];
  /**
   * Returns the amount, in minor units, that the attempt has moved according to the book. Counts every execution.
   * Returns 0 if the attempt was reversed.
   */
  readonly moved: (attemptId: string) => number;
};

/** Prepares a simulator. To continue the book of a stopped simulator, pass its `directory`. */
export async function simulated(
  more: { readonly directory?: string; readonly noticeUrl?: string } = {},
): Promise<Simulated> {
  const secret = newSecret();
  const temporary = more.directory === undefined ? await temporaryDirectory() : undefined;
  const directory = more.directory ?? temporary?.path ?? '';
  const process = prepareSimulator({ directory, noticeUrl: more.noticeUrl ?? null, secret });
  onTestFinished(async () => {
    await process.stop();
    await temporary?.remove();
  });
  const about = (attemptId: string) => readBook(directory).filter((fact) => fact.attempt_id === attemptId);
  return {
    directory,
    process,
    secret,
    call: async (call, order, signing) => adapterAt((await process.running()).url, secret).call(call, order, signing),
    facts: (attemptId) => about(attemptId).map((fact) => ('call' in fact ? `${fact.fact} ${fact.call}` : fact.fact)),
    moved: (attemptId) => {
      const facts = about(attemptId);
      const executed = facts.reduce((sum, fact) => sum + (fact.fact === 'executed' ? fact.amount : 0), 0);
      return facts.some(({ fact }) => fact === 'reversed') ? 0 : executed;
    },
  };
}

/** Returns an order of 10.00 USD. */
export function order(behavior: string | null = null, more: Partial<Order> = {}): Order {
  return {
    attempt_id: newId('pat'),
    program_id: newId('prog'),
    transfer_id: newId('tr'),
    kind: 'push',
    amount: 1000,
    currency: 'USD',
    processor_token: 'card_1',
    not_after: new Date(Date.now() + 600_000).toISOString(),
    repeat: false,
    sandbox_behavior: behavior,
    ...more,
  };
}

/** Runs the conformance suite and returns every result. */
export async function checked(url: string, secret: string, token = 'sim_approve'): Promise<readonly RuleResult[]> {
  const results: RuleResult[] = [];
  for await (const result of checkAdapter({ url, secret, token })) results.push(result);
  return results;
}

/** Starts a receiver that stores signed notices, as the service does. `statuses` are its first responses. */
export async function noticeReceiver(secret: () => string, statuses: readonly number[] = []) {
  const notices: Notice[] = [];
  const left = [...statuses];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    // A notice has no type, so verifyWebhook calls its body invalid. The signature was already verified.
    await verifyWebhook(body, request.headers, secret()).catch((error: unknown) => {
      if (Reflect.get(Object(error), 'reason') !== 'invalid_body') throw error;
    });
    const status = left.shift() ?? 200;
    if (status === 200) notices.push(JSON.parse(body));
    response.writeHead(status).end('{"received": true}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/notice`, notices };
}
