import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type InspectedErrorRecord, type TransferService, TransferServiceError } from '../../sdk/client.ts';

/**
 * An error that is not found within this time counts as lost. The documented time is one second, on a machine that is
 * not busy.
 */
const TIMEOUT_MILLISECONDS = 120_000;

/** An error, and the time from its response until it was found. */
export type Found = { readonly error: InspectedErrorRecord; readonly afterMilliseconds: number };

/** Looks up an error until it is found. Call this as soon as the response has arrived. */
export async function lookUp(client: TransferService, requestId: string): Promise<Found> {
  const start = performance.now();
  for (;;) {
    const error = await client.errors.inspect(requestId).catch((failure: unknown) => {
      if (failure instanceof TransferServiceError && performance.now() - start < TIMEOUT_MILLISECONDS) return undefined;
      throw failure;
    });
    if (error !== undefined) return { error, afterMilliseconds: performance.now() - start };
    await delay(10);
  }
}

/** Returns the path of a service process's error spool in a data directory. Processes are numbered from 1. */
export function spoolOf(dataDirectory: string, number = 1): string {
  return `${dataDirectory}/error-spool/${number}/error-spool.jsonl`;
}

/** Returns the lines of a spool, or no lines if it does not exist. */
export function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
  } catch {
    return [];
  }
}

export function printFigure(what: string, figure: number, unit: string): void {
  process.stdout.write(`${what}: ${figure.toFixed(figure < 10 ? 2 : 0)} ${unit}\n`);
}

export function worst(figures: readonly number[]): number {
  return Math.max(...figures);
}
