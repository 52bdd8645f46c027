import { Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client';

const PREFIX = 'transfer_service_';

/**
 * A counter for one combination of labels. It is bound once, because looking up labels costs more than the rest of an
 * observation.
 */
export type BoundCounter = { readonly inc: (by?: number) => void };

/** A gauge for one combination of labels. Once removed, it is absent until it is set again. */
export type BoundGauge = { readonly set: (value: number) => void; readonly remove: () => void };

export type BoundHistogram = { readonly observe: (value: number) => void };

/**
 * The name without the prefix, its description, and the names of its labels. Label values come from closed sets only.
 */
export type Definition = { readonly name: string; readonly help: string; readonly labels?: readonly string[] };

/**
 * The counts of a histogram for one combination of labels: the count within each bound but above the one before, and the
 * total.
 */
export type Counted = {
  readonly labels: Readonly<Record<string, string>>;
  readonly within: readonly number[];
  readonly seconds: number;
  readonly count: number;
};

/** The content of a page: the metrics, and functions that set the metrics that are only read on request. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #readers: (() => void)[] = [];

  /** Creates a counter. The returned function takes the values of the labels, in their order. */
  counter({ name, help, labels = [] }: Definition): (...values: readonly string[]) => BoundCounter {
    const counter = new Counter({ name: PREFIX + name, help, labelNames: [...labels], registers: [this.#registry] });
    return (...values) => counter.labels(...values);
  }

  gauge({ name, help, labels = [] }: Definition): (...values: readonly string[]) => BoundGauge {
    const gauge = new Gauge({ name: PREFIX + name, help, labelNames: [...labels], registers: [this.#registry] });
    // A gauge without labels would be 0 until it is set, like a measured value.
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

  /** Adds a histogram that is counted by another part and read for every rendering. */
  shownHistogram({ name, help }: Definition, bounds: readonly number[], read: () => readonly Counted[]): void {
    const metric = {
      name: PREFIX + name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      get: async () => ({ ...metric, values: read().flatMap((counted) => linesOf(metric.name, bounds, counted)) }),
    };
    // The registry only uses these properties. Its own histogram cannot be filled with counts.
    this.#registry.registerMetric(metric as unknown as Metric);
  }

  /**
   * Registers a function that runs before every rendering, at most once a second. It must only read the memory of this
   * process.
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

/** Returns the values of a histogram as the registry renders them: each bucket includes all before it. */
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
