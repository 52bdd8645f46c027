import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
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

export type Certificate = { readonly keyFile: string; readonly certificateFile: string };

export async function startReceiver(resources: Resources, certificate?: Certificate): Promise<Receiver> {
  const words = certificate === undefined ? [] : [certificate.keyFile, certificate.certificateFile];
  const child = fork(PROGRAM, words);
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
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    processId: child.pid ?? 0,
    look: async () => (await ask(() => child.send('look'))) as Received,
    take: async () => (await ask(() => child.send('take'))) as Received,
    stop,
  };
}

/** Makes a self-signed certificate for 127.0.0.1 in a directory. */
export function makeCertificate(directory: string): Certificate {
  const keyFile = join(directory, 'receiver.key');
  const certificateFile = join(directory, 'receiver.pem');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-keyout', keyFile];
  const name = [
    '-subj',
    '/CN=receiver',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-days',
    '2',
    '-out',
    certificateFile,
  ];
  execFileSync('openssl', ['req', '-x509', ...key, ...name], { stdio: 'ignore' });
  return { keyFile, certificateFile };
}
