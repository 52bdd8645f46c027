/** The interval between lines if the output is not a terminal, in milliseconds. */
const BETWEEN_LINES = 15_000;

/** The interval between updates in a terminal, in milliseconds. */
const BETWEEN_UPDATES = 200;

/** Shows a row's progress: one updated line in a terminal, or a new line every 15 seconds. */
export class Progress {
  readonly #total: number;
  readonly #unit: string;
  readonly #started = performance.now();
  #shownAt = 0;

  constructor(total: number, unit: string) {
    this.#total = total;
    this.#unit = unit;
  }

  readonly tell = (done: number, remark = ''): void => {
    const now = performance.now();
    const { isTTY, columns = 100 } = process.stdout;
    if (done < this.#total && now - this.#shownAt < (isTTY ? BETWEEN_UPDATES : BETWEEN_LINES)) return;
    this.#shownAt = now;
    const seconds = (now - this.#started) / 1000;
    const left = done === 0 ? '' : `, ${Math.round((seconds / done) * Math.max(0, this.#total - done))} s left`;
    const line = `  ${done} of ${this.#total} ${this.#unit} in ${Math.round(seconds)} s${left}; ${remark}`;
    process.stdout.write(isTTY ? `\r${line.slice(0, columns - 1).padEnd(columns - 1)}` : `${line}\n`);
  };

  end(): void {
    if (process.stdout.isTTY) process.stdout.write('\n');
  }
}
