import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Resources } from '../resources.ts';

const PROGRAM = fileURLToPath(new URL('receiver.ts', import.meta.url));

export type Received = {
  /** Events accepted since the last `take`. */
  readonly count: number;
  /** Since the start: distinct pairs of event and path, repeated deliveries, and deliveries without a response. */
  readonly distinct: number;
  readonly repeats: number;
  readonly blackHoled: number;
  /** The time from the creation of an event to the head of its request, for the events in `count`. */
  readonly lagMilliseconds: {
    readonly p50: number;
    readonly p90: number;
    readonly p99: number;
    readonly maximum: number;
  };
};

export type Receiver = {
  /** For example http://127.0.0.1:40000. */
  readonly url: string;
  readonly processId: number;
  /** The deliveries since the last `take`. */
  readonly look: () => Promise<Received>;
  /** Returns the same and restarts the count. */
  readonly take: () => Promise<Received>;
  readonly stop: () => Promise<void>;
};

export async function startReceiver(resources: Resources): Promise<Receiver> {
  const child = fork(PROGRAM);
  const stop = resources.add('the receiver', async () => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    if (child.connected) child.disconnect();
    await ended;
  });
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the receiver ended with ${code}`)));
  ended.catch(() => undefined);
  const ask = async (question: () => void): Promise<unknown> => {
    const answer = once(child, 'message');
    question();
    const [message] = await Promise.race([answer, ended]);
    return message;
  };
  const port = await ask(() => undefined);
  return {
    url: `http://127.0.0.1:${port}`,
    processId: child.pid ?? 0,
    look: async () => (await ask(() => child.send('look'))) as Received,
    take: async () => (await ask(() => child.send('take'))) as Received,
    stop,
  };
}
