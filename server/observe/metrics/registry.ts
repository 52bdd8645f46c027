import { Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client';

/** What every name begins with. */
const PREFIX = 'transfer_service_';

/** A counter of one combination of labels, bound once: the look-up of labels costs more than the rest of an observation. */
export type Count = { readonly inc: (by?: number) => void };

/** A gauge of one combination of labels. */
export type Level = { readonly set: (value: number) => void };

/** A histogram of one combination of labels. */
export type Distribution = { readonly observe: (value: number) => void };

/** The name without the prefix, what it says, and the names of its labels. Values of labels are from closed sets only. */
export type Definition = { readonly name: string; readonly help: string; readonly labels?: readonly string[] };

/** What a histogram of one combination of labels has counted: how many within each bound and above the one before, and all. */
export type Counted = {
  readonly labels: Readonly<Record<string, string>>;
  readonly within: readonly number[];
  readonly seconds: number;
  readonly count: number;
};

/** What a page is made of: the metrics, and what sets those that are read only when somebody asks. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #readers: (() => void)[] = [];

  /** A counter by the values of its labels, in their order. */
  counter({ name, help, labels = [] }: Definition): (...values: readonly string[]) => Count {
    const counter = new Counter({ name: PREFIX + name, help, labelNames: [...labels], registers: [this.#registry] });
    return (...values) => counter.labels(...values);
  }

  gauge({ name, help, labels = [] }: Definition): (...values: readonly string[]) => Level {
    const gauge = new Gauge({ name: PREFIX + name, help, labelNames: [...labels], registers: [this.#registry] });
    // A gauge without labels would be 0 until it is set, as if that had been measured.
    if (labels.length === 0) gauge.remove();
    return (...values) => gauge.labels(...values);
  }

  histogram(
    { name, help, labels = [] }: Definition,
    buckets: readonly number[],
  ): (...values: readonly string[]) => Distribution {
    const configuration = { name: PREFIX + name, help, labelNames: [...labels], buckets: [...buckets] };
    const histogram = new Histogram({ ...configuration, registers: [this.#registry] });
    return (...values) => histogram.labels(...values);
  }

  /** A histogram that something else counts; it is read for every rendering. */
  shownHistogram({ name, help }: Definition, bounds: readonly number[], read: () => readonly Counted[]): void {
    const metric = {
      name: PREFIX + name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      get: async () => ({ ...metric, values: read().flatMap((counted) => linesOf(metric.name, bounds, counted)) }),
    };
    // The registry only asks for these properties; its own histogram cannot be given what was counted.
    this.#registry.registerMetric(metric as unknown as Metric);
  }

  /** Runs before every rendering, at most once a second: it must only read what this process has in memory. */
  beforePage(read: () => void): void {
    this.#readers.push(read);
  }

  /** The page in the text format of Prometheus. */
  render(): Promise<string> {
    for (const read of this.#readers) read();
    return this.#registry.metrics();
  }

  /** The media type of the page. */
  get contentType(): string {
    return this.#registry.contentType;
  }
}

/** The values of a histogram as the registry renders them: each bucket has what is within all before it. */
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
