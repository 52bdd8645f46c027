import { readFileSync } from 'node:fs';
import type { InspectedErrorRecord, TransferService } from '../../sdk/client.ts';
import { TransferServiceError } from '../../sdk/client.ts';

/** How long a look-up is repeated, in milliseconds: an error that is not there by then was lost. A second is the promise. */
const PATIENCE = 120_000;

/** An error that was found, and how long after its answer, in milliseconds. */
export type Found = { readonly error: InspectedErrorRecord; readonly after: number };

/** Looks an error up until it is there. Call it as soon as the answer has come. */
export async function lookUp(client: TransferService, requestId: string): Promise<Found> {
  const answered = performance.now();
  for (;;) {
    const error = await client.errors.inspect(requestId).catch((failure: unknown) => {
      if (failure instanceof TransferServiceError && performance.now() - answered < PATIENCE) return undefined;
      throw failure;
    });
    if (error !== undefined) return { error, after: performance.now() - answered };
    await pause(10);
  }
}

/** The error that a call is answered with; fails when it is answered with anything else. */
export async function errorOf(call: Promise<unknown>): Promise<TransferServiceError & { readonly requestId: string }> {
  const answer = await call.then(
    (record: unknown) => new Error(`it was not refused: ${JSON.stringify(record)}`),
    (failure: unknown) => failure,
  );
  if (answer instanceof TransferServiceError && answer.requestId !== undefined) {
    return answer as TransferServiceError & { readonly requestId: string };
  }
  throw answer;
}

/** The path of the spool that the first process below a data directory has. */
export function spoolOf(dataDirectory: string, number = 1): string {
  return `${dataDirectory}/error-spool/${number}/error-spool.jsonl`;
}

/** The lines of a spool; none when there is no spool. */
export function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  }
}

/** Prints a figure of a run; what was measured is worth a line even where nothing depends on it. */
export function tell(what: string, figure: number, unit: string): void {
  process.stdout.write(`${what}: ${figure.toFixed(figure < 10 ? 2 : 0)} ${unit}\n`);
}

/** The worst of some figures. */
export function worst(figures: readonly number[]): number {
  return Math.max(...figures);
}

/** Waits some milliseconds. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
