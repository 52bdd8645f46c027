// Takes a copy of the ledger in a separate thread, so that reading and hashing gigabytes does not delay requests.
import { parentPort, workerData } from 'node:worker_threads';
import { StartupProblem } from '../../foundation/startup-problem.ts';
import { type CopySource, takeCopy } from './base-copy.ts';

export type CopyTask = { readonly source: CopySource; readonly fast: boolean };

export type CopyOutcome = { readonly name: string } | { readonly problem: string };

const { source, fast } = workerData as CopyTask;
const stopping = new AbortController();
parentPort?.once('message', () => stopping.abort());
try {
  const { name } = await takeCopy(source, { fast, signal: stopping.signal });
  report({ name });
} catch (error) {
  if (!stopping.signal.aborted) report({ problem: error instanceof StartupProblem ? error.message : String(error) });
}
parentPort?.close();

function report(outcome: CopyOutcome): void {
  parentPort?.postMessage(outcome);
}
