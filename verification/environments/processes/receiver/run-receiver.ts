import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Conduct, Deliveries, Delivery, Instruction, Note } from '../../../checkers/deliveries/notes.ts';
import { freePort } from '../fleet.ts';

const PROGRAM = fileURLToPath(new URL('receiver.ts', import.meta.url));

type Endpoint = { conduct: Conduct; readonly secrets: string[] };

/** The receiver of a ledger's webhooks: a process that can be restarted on the same port. */
export class Receiver {
  readonly url: string;
  readonly #port: number;
  readonly #file: string;
  readonly #seed: number;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #deliveries = new Map<string, Delivery[]>();
  /** The webhook and index of each unanswered delivery, by its id. Lines with a status have no webhook. */
  readonly #places = new Map<string, { readonly webhook: string; readonly index: number }>();
  #child: ChildProcess | undefined;
  /** Aborts when the child process ends. */
  #ended = new AbortController();
  #runs = 0;
  #readBytes = 0;
  #rest = '';

  private constructor(port: number, file: string, seed: number) {
    this.#port = port;
    this.#file = file;
    this.#seed = seed;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Starts a receiver with a new file. */
  static async start(file: string, seed: number): Promise<Receiver> {
    const receiver = new Receiver(await freePort(), file, seed);
    await receiver.#start();
    return receiver;
  }

  get runs(): number {
    return this.#runs;
  }

  /** Sets the receiver's behaviour for a webhook. */
  async conduct(webhook: string, conduct: Conduct): Promise<void> {
    this.#endpoint(webhook).conduct = conduct;
    await this.#configure(webhook);
  }

  /** Adds a secret that may sign deliveries. */
  async addSecret(webhook: string, secret: string): Promise<void> {
    this.#endpoint(webhook).secrets.push(secret);
    await this.#configure(webhook);
  }

  /** Stops the process and starts another after `wait`. */
  async restart(wait: Promise<unknown>): Promise<void> {
    await this.stop();
    await wait;
    await this.#start();
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.send('exit' satisfies Instruction, () => undefined);
    await ended;
  }

  async read(): Promise<Deliveries> {
    const file = await open(this.#file);
    try {
      const { size } = await file.stat();
      const bytes = Buffer.alloc(size - this.#readBytes);
      await file.read(bytes, 0, bytes.length, this.#readBytes);
      this.#readBytes = size;
      // The last line may be incomplete, but its characters are complete: all are ASCII.
      const lines = (this.#rest + bytes.toString('latin1')).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) this.#take(JSON.parse(line) as Note);
    } finally {
      await file.close();
    }
    return this.#deliveries;
  }

  #take(note: Note): void {
    if ('status' in note) {
      const place = this.#places.get(note.delivery);
      const list = this.#deliveries.get(place?.webhook ?? '');
      const delivery = list?.[place?.index ?? 0];
      if (place !== undefined && delivery !== undefined) list?.splice(place.index, 1, { ...delivery, ...note });
      this.#places.delete(note.delivery);
      return;
    }
    const { webhook } = note;
    const list = this.#deliveries.get(webhook) ?? [];
    this.#deliveries.set(webhook, list);
    this.#places.set(note.delivery, { webhook, index: list.length });
    list.push({ ...note, status: undefined });
  }

  async #start(): Promise<void> {
    this.#runs += 1;
    const ended = new AbortController();
    this.#ended = ended;
    this.#child = fork(PROGRAM, [String(this.#port), this.#file, String(this.#seed), String(this.#runs)]);
    this.#child.once('exit', () => ended.abort(new Error('the receiver ended')));
    for (const webhook of this.#endpoints.keys()) await this.#configure(webhook);
    await this.#tell('listen');
  }

  #endpoint(webhook: string): Endpoint {
    const endpoint = this.#endpoints.get(webhook) ?? { conduct: { kind: 'good' }, secrets: [] };
    this.#endpoints.set(webhook, endpoint);
    return endpoint;
  }

  async #configure(webhook: string): Promise<void> {
    await this.#tell({ webhook, ...this.#endpoint(webhook) });
  }

  /** Sends an instruction and waits for the confirmation. A stopped receiver gets it when it starts. */
  async #tell(instruction: Instruction): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const done = once(child, 'message', { signal: this.#ended.signal });
    child.send(instruction);
    await done;
  }
}
