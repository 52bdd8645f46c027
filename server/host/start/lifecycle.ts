import { performance } from 'node:perf_hooks';
import { VERSION } from '../../../installation.mjs';
import { withoutSecrets } from '../../foundation/redaction.ts';
import type { LineWriter } from '../../observe/log/line-writer.ts';
import type { Log } from '../../observe/log/log.ts';

export class Lifecycle {
  readonly #lines: Pick<LineWriter, 'flush'>;
  readonly #beganAt = performance.now();
  #log: Log | undefined;

  constructor(lines: Pick<LineWriter, 'flush'>) {
    this.#lines = lines;
  }

  /**
   * Logs the first line. Called when nothing can prevent the service from starting any more. A service that refuses to start
   * logs nothing, and writes its reason to standard error for people.
   */
  start(
    log: Log,
    about: { readonly mode: string; readonly port: number; readonly migration: string | undefined },
  ): void {
    this.#log = log;
    const fields = { event: 'service_start', version: VERSION, processId: process.pid, ...about } as const;
    log.info(fields, `the service starts, version ${VERSION}`);
  }

  /** Logs that the service is ready. Called when requests are accepted and everything else runs. */
  ready(port: number): void {
    const milliseconds = Math.round(performance.now() - this.#beganAt);
    this.#log?.info({ event: 'service_ready', port, milliseconds }, 'the service accepts requests');
  }

  /** Stops the service and writes the last line. Rejects with the error of `stop`. */
  async stop(reason: string, stop: () => Promise<void>): Promise<void> {
    const beganAt = performance.now();
    const fields = () => ({
      event: 'service_stop' as const,
      reason,
      milliseconds: Math.round(performance.now() - beganAt),
      uptimeSeconds: Math.round((performance.now() - this.#beganAt) / 1000),
    });
    try {
      await stop();
      this.#log?.info(fields(), 'the service has stopped');
    } catch (error) {
      this.#log?.error({ ...fields(), cause: withoutSecrets(String(error)) }, 'the service did not stop cleanly');
      throw error;
    } finally {
      this.#lines.flush();
    }
  }
}

export class Ending {
  readonly #steps: (() => unknown)[] = [];
  #run: Promise<void> | undefined;

  /** Adds a function that ends a part. Call it when the part has begun or is about to begin. */
  add(end: () => unknown): void {
    this.#steps.push(end);
  }

  /**
   * Ends all parts, one after the other, in reverse order, because a part may need the parts that began before it. If one fails,
   * the others still end, and then the first error is thrown. Repeated calls share one run.
   */
  run(): Promise<void> {
    this.#run ??= this.#runOnce();
    return this.#run;
  }

  async #runOnce(): Promise<void> {
    const failures: unknown[] = [];
    for (let end = this.#steps.pop(); end !== undefined; end = this.#steps.pop()) {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/**
 * Stops on the first signal, and ignores further ones. They are normal, because Ctrl-C in a terminal reaches both npm
 * and the service.
 */
export function stopOnSignal(end: (signal: NodeJS.Signals) => Promise<void>): { readonly isStopping: boolean } {
  const state = { isStopping: false };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (state.isStopping) return;
    state.isStopping = true;
    process.stdout.write('\nStopping. Waiting for requests in progress …\n');
    end(signal).then(
      () => {
        process.stdout.write('Stopped.\n');
        process.exit(0);
      },
      (error: unknown) => {
        process.stderr.write(`The service did not stop cleanly: ${withoutSecrets(String(error))}\n`);
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  return state;
}
