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
