import { Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client';

const PREFIX = 'transfer_service_';

/**
 * A counter for one combination of labels. It is bound once, because looking up the labels costs more than the rest of an
 * observation.
 */
export type BoundCounter = { readonly inc: (by?: number) => void };

/** A gauge for one combination of labels. Once removed, it is absent until it is set again. */
export type BoundGauge = { readonly set: (value: number) => void; readonly remove: () => void };

export type BoundHistogram = { readonly observe: (value: number) => void };

/**
 * The name of a metric without the prefix, its description, and the names of its labels. Values of labels must come from closed
 * sets.
 */
export type Definition = { readonly name: string; readonly help: string; readonly labels?: readonly string[] };

/**
 * The counts of a histogram for one combination of labels, and their total. There is a count for each bound: the number of values
 * within it but above the previous bound.
 */
export type Counted = {
  readonly labels: Readonly<Record<string, string>>;
  readonly within: readonly number[];
  readonly seconds: number;
  readonly count: number;
};

/** The content of a page: the metrics, and the functions that set the metrics that are read only on request. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #readers: (() => void)[] = [];

  /** Creates a counter. The returned function takes the values of the labels in the same order. */
  counter({ name, help, labels = [] }: Definition): (...values: readonly string[]) => BoundCounter {
    const counter = new Counter({ name: PREFIX + name, help, labelNames: [...labels], registers: [this.#registry] });
    return (...values) => counter.labels(...values);
  }

  gauge({ name, help, labels = [] }: Definition): (...values: readonly string[]) => BoundGauge {
    const gauge = new Gauge({ name: PREFIX + name, help, labelNames: [...labels], registers: [this.#registry] });
    // Otherwise a gauge without labels would be 0 until it is set, as if 0 had been measured.
    if (labels.length === 0) gauge.remove();
    return (...values) => {
      const bound = gauge.labels(...values);
      return {
        set: (value) => bound.set(value),
        remove: () => gauge.remove(...values),
      };
    };
  }

  histogram(
    { name, help, labels = [] }: Definition,
    buckets: readonly number[],
  ): (...values: readonly string[]) => BoundHistogram {
    const configuration = { name: PREFIX + name, help, labelNames: [...labels], buckets: [...buckets] };
    const histogram = new Histogram({ ...configuration, registers: [this.#registry] });
    return (...values) => histogram.labels(...values);
  }

  /** Adds a histogram whose counts are kept elsewhere. It is read each time the page is rendered. */
  shownHistogram({ name, help }: Definition, bounds: readonly number[], read: () => readonly Counted[]): void {
    const metric = {
      name: PREFIX + name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      get: async () => ({ ...metric, values: read().flatMap((counted) => linesOf(metric.name, bounds, counted)) }),
    };
    // The registry uses only these properties. Its own histogram cannot be filled with existing counts.
    this.#registry.registerMetric(metric as unknown as Metric);
  }

  /**
   * Registers a function that runs each time before the page is rendered, at most once a second. It may only read the memory of
   * this process.
   */
  beforePage(read: () => void): void {
    this.#readers.push(read);
  }

  /** Renders the page in the text format of Prometheus. */
  render(): Promise<string> {
    for (const read of this.#readers) read();
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}

/** Returns the values of a histogram in the form that the registry renders: each bucket includes all smaller ones. */
function linesOf(
  name: string,
  bounds: readonly number[],
  { labels, within, seconds, count }: Counted,
): readonly object[] {
  let sum = 0;
  const buckets = bounds.map((le, place) => {
    sum += within[place] ?? 0;
    return { metricName: `${name}_bucket`, labels: { le }, sharedLabels: labels, value: sum };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { le: '+Inf' }, sharedLabels: labels, value: count },
    { metricName: `${name}_sum`, sharedLabels: labels, value: seconds },
    { metricName: `${name}_count`, sharedLabels: labels, value: count },
  ];
}
