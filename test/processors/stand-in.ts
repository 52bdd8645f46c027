import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSigned } from '../../simulator/signature.ts';

export type Question = 'send' | 'inquire' | 'reverse';

/** An order as it arrives. */
export type ArrivedOrder = {
  readonly question: Question;
  readonly attempt_id: string;
  readonly transfer_id: string;
  readonly kind: 'push' | 'pull';
  readonly amount: number;
  readonly currency: string;
  readonly processor_token: string;
  readonly not_after: string | null;
  readonly repeat: boolean;
};

export type Reply =
  | 'answer'
  | 'cut'
  | 'silence'
  | 'malformed'
  | 'wrong_amount'
  | 'error'
  | 'slow'
  /** The same answer twice on one connection. */
  | 'twice'
  | 'decline'
  | 'pending';

/** The duration of a slow answer in milliseconds: longer than a round of the service, but shorter than its time limit. */
const SLOW_MILLISECONDS = 2_000;

/**
 * How the stand-in reacts to a question: whether it acts on the question, and how it replies once `until` resolves.
 */
export type Doing = {
  readonly executes: boolean;
  readonly reply: Reply;
  /** Executes less than was ordered and reports that, until a question arrives for which this is not set. */
  readonly isShort?: boolean;
  /**
   * Delays the execution. A delayed question is not executed if its sender has disconnected, unless `waitsOutside` is
   * set.
   */
  readonly before?: Promise<void>;
  /** Delays the question on the way to the processor, so that it arrives even if its sender has disconnected. */
  readonly waitsOutside?: boolean;
  /** Delays the answer after the execution. */
  readonly until?: Promise<void>;
};

/** Decides how to handle the nth question of its kind for a token, counted from 0. */
export type Script = (order: ArrivedOrder, nth: number) => Doing;

/** Returns whether an order is too late to be executed. */
export type IsOver = (order: ArrivedOrder) => Promise<boolean>;

/**
 * An adapter with a book. It runs in the test's process, so it outlives the service. It executes an order as often as
 * the order is sent, because a processor that recognizes keys would hide duplicates. It does not execute an order whose
 * time has passed or that was reversed.
 */
export class StandIn {
  readonly orders: ArrivedOrder[] = [];
  isHealthy = true;
  /** The amounts that were executed and not reversed, in minor units, by attempt. */
  readonly #book = new Map<string, number>();
  readonly #executions = new Map<string, number>();
  /** Attempts for which less than the ordered amount was executed. */
  readonly #short = new Set<string>();
  readonly #scripts = new Map<string, Script>();
  /** Attempts that the stand-in has promised never to execute. */
  readonly #refused = new Set<string>();
  /** The number of open questions by transfer. A question ends when its sender disconnects. */
  readonly #open = new Map<string, number>();
  readonly #watches: { readonly tokens: ReadonlySet<string>; open: number; most: number }[] = [];
  readonly #serving: { readonly transferId: string; readonly done: Promise<void> }[] = [];
  readonly #secret: string;
  readonly #isOver: IsOver;
  // A request counts as an order only once its second half has arrived.
  readonly #server = createServer((request, response) => void this.#serve(request, response).catch(() => undefined));

  constructor(secret: string, isOver: IsOver) {
    this.#secret = secret;
    this.#isOver = isOver;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Sets the script for orders with a token. Without a script, every order is executed and answered. */
  on(token: string, script: Script): void {
    this.#scripts.set(token, script);
  }

  /** Returns the amount in the book for a transfer id from the API. */
  moved(transferId: string): number {
    const ids = new Set(this.about(transferId).map((order) => order.attempt_id));
    return [...ids].reduce((sum, id) => sum + (this.#book.get(id) ?? 0), 0);
  }

  /** Returns the number of executions for a transfer, reversed or not. */
  executions(transferId: string): number {
    const ids = new Set(this.about(transferId).map((order) => order.attempt_id));
    return [...ids].reduce((sum, id) => sum + (this.#executions.get(id) ?? 0), 0);
  }

  /** Returns whether the stand-in has refused an order of a transfer because its time had passed or it was reversed. */
  hasRefused(transferId: string): boolean {
    return this.about(transferId).some((order) => this.#refused.has(order.attempt_id));
  }

  /** Returns whether a question about a transfer is open and its sender is still waiting. */
  isAsked(transferId: string): boolean {
    return (this.#open.get(transferId) ?? 0) > 0;
  }

  /** Starts to count the open questions about some tokens: the current number, and the highest so far. */
  watch(tokens: readonly string[]): { readonly open: number; readonly most: number } {
    const watch = { tokens: new Set(tokens), open: 0, most: 0 };
    this.#watches.push(watch);
    return watch;
  }

  /** Resolves when all delayed questions about a transfer are done. */
  async whenDone(transferId: string): Promise<void> {
    await Promise.all(this.#serving.filter((one) => one.transferId === transferId).map(({ done }) => done));
  }

  /** Executes an order later. The service learns about it in a notice or an inquiry. */
  execute(transferId: string): void {
    const [order] = this.about(transferId, 'send');
    if (order === undefined) throw new Error(`nothing was sent for ${transferId}`);
    this.#carryOut(order, { executes: true, reply: 'answer' });
  }

  about(transferId: string, question?: Question): readonly ArrivedOrder[] {
    return this.orders.filter(
      (order) => order.transfer_id === transferId && (question === undefined || order.question === question),
    );
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const question = request.url?.split('/').at(-1) ?? '';
    if (question === 'health') {
      response.writeHead(this.isHealthy ? 200 : 503).end('{"status":"ok"}');
      return;
    }
    const body = Buffer.concat(chunks);
    if (!isSigned(request, `/${question}`, body, this.#secret)) {
      response.writeHead(401).end('{}');
      return;
    }
    const order = { ...JSON.parse(body.toString()), question } as ArrivedOrder;
    const done = this.#consider(order, response);
    this.#serving.push({ transferId: order.transfer_id, done });
    await done;
  }

  async #consider(order: ArrivedOrder, response: ServerResponse): Promise<void> {
    const { question } = order;
    const same = (other: ArrivedOrder) => other.question === question && other.attempt_id === order.attempt_id;
    const nth = this.orders.filter(same).length;
    this.orders.push(order);
    const doing = this.#scripts.get(order.processor_token)?.(order, nth) ?? { executes: true, reply: 'answer' };
    let isGone = false;
    this.#count(order, 1);
    response.once('close', () => {
      isGone = true;
      this.#count(order, -1);
    });
    await doing.before;
    if (isGone && doing.waitsOutside !== true) return;
    if (question === 'send' && (await this.#isOver(order))) this.#refused.add(order.attempt_id);
    const answer = this.#carryOut(order, doing);
    await doing.until;
    if (doing.reply === 'slow') await sleep(SLOW_MILLISECONDS);
    reply(response, doing.reply, answer);
  }

  #count({ transfer_id, processor_token }: ArrivedOrder, more: 1 | -1): void {
    this.#open.set(transfer_id, (this.#open.get(transfer_id) ?? 0) + more);
    for (const watch of this.#watches) {
      if (!watch.tokens.has(processor_token)) continue;
      watch.open += more;
      watch.most = Math.max(watch.most, watch.open);
    }
  }

  #carryOut(order: ArrivedOrder, { executes, reply: kind, isShort = false }: Doing): Record<string, unknown> {
    const { attempt_id, currency, question } = order;
    const amount = isShort ? order.amount - 1 : order.amount;
    const said = (status: string, code: string | null = null) => {
      const processor_reference = status === 'approved' ? `ref-${attempt_id}` : null;
      return { attempt_id, status, amount, currency, processor_reference, code, retry_after_seconds: null };
    };
    if (question === 'inquire' && !isShort && this.#short.delete(attempt_id)) this.#book.set(attempt_id, amount);
    if (question === 'inquire') {
      if ((this.#book.get(attempt_id) ?? 0) > 0) return said('approved');
      return said(this.#refused.has(attempt_id) ? 'not_executed' : 'not_found');
    }
    if (question === 'reverse') {
      if (executes) {
        this.#book.set(attempt_id, 0);
        this.#refused.add(attempt_id);
      }
      return said('reversed');
    }
    if (this.#refused.has(attempt_id)) return said('not_executed');
    if (kind === 'decline') return said('declined', '51');
    if (kind === 'pending') return said('pending');
    if (executes) {
      if (isShort) this.#short.add(attempt_id);
      this.#book.set(attempt_id, (this.#book.get(attempt_id) ?? 0) + amount);
      this.#executions.set(attempt_id, (this.#executions.get(attempt_id) ?? 0) + 1);
    }
    return said(executes ? 'approved' : 'not_executed');
  }
}

function reply(response: ServerResponse, kind: Reply, answer: Record<string, unknown>): void {
  switch (kind) {
    case 'cut':
      response.socket?.destroy();
      return;
    case 'silence':
      return;
    case 'malformed':
      response.end('{"status":');
      return;
    case 'wrong_amount':
      response.end(JSON.stringify({ ...answer, amount: Number(answer.amount) + 1 }));
      return;
    case 'error':
      response.writeHead(500).end();
      return;
    case 'twice': {
      const body = JSON.stringify(answer);
      const whole = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      response.socket?.end(whole + whole);
      return;
    }
    default:
      response.end(JSON.stringify(answer));
  }
}
