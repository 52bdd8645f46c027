import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';

type OnResult = Parameters<SpanExporter['export']>[1];

/** Passes spans to an exporter, and reports the first of several failures in a row. */
export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #onFailure: (error: unknown, lost: number) => void;
  #isFailing = false;

  /** `onFailure` gets the number of lost spans. */
  constructor(exporter: SpanExporter, onFailure: (error: unknown, lost: number) => void) {
    this.#exporter = exporter;
    this.#onFailure = onFailure;
  }

  /** Passes spans on; `onResult` is called once, when the collector has them or the exporter gives up. */
  export(spans: ReadableSpan[], onResult: OnResult): void {
    this.#exporter.export(spans, (result) => {
      const { error } = result;
      const hasFailed = error !== undefined;
      if (hasFailed && !this.#isFailing) this.#onFailure(causeOf(error), spans.length);
      this.#isFailing = hasFailed;
      onResult(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }
}

/** The exporter's error for a status contains the text of the answer, which must not be logged. */
function causeOf(error: Error): Error {
  return 'code' in error && typeof error.code === 'number'
    ? new Error(`the answer has the status ${error.code}`)
    : error;
}
