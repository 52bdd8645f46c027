/** Watches over one attempt: ends it when the caller gives up, or when the service is silent for too long. */
export class Watch {
  readonly #controller = new AbortController();
  readonly #given: AbortSignal | undefined;
  readonly #timeoutMilliseconds: number;
  readonly #abort = () => this.#controller.abort();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timedOut = false;

  /** Time runs from now on. `given` is the caller's own signal. */
  constructor(given: AbortSignal | undefined, timeoutMilliseconds: number) {
    this.#given = given;
    this.#timeoutMilliseconds = timeoutMilliseconds;
    given?.addEventListener('abort', this.#abort);
    this.wait();
  }

  /** Ends what is under way. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the service was silent for too long. */
  get timedOut(): boolean {
    return this.#timedOut;
  }

  /** The caller's own signal, if it is what ended the attempt. */
  get aborted(): AbortSignal | undefined {
    return this.#given?.aborted ? this.#given : undefined;
  }

  /** It is the service's turn: it has the whole time again. */
  wait(): void {
    this.rest();
    this.#timer = setTimeout(() => {
      this.#timedOut = true;
      this.#controller.abort();
    }, this.#timeoutMilliseconds);
  }

  /** It is the caller's turn, which may take as long as it likes. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  /** Nothing is left to be ended. */
  end(): void {
    this.rest();
    this.#given?.removeEventListener('abort', this.#abort);
  }
}
