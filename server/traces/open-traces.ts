import type { TraceSettings } from '../configuration/traces.ts';
import type { RequestTrace } from '../operations/trace.ts';
import { VERSION } from '../version.ts';
import { Exporter } from './exporter.ts';
import { Sampler } from './sampler.ts';
import { openSender } from './send-spans.ts';
import { TracedRequest } from './traced.ts';

/** The traces of a process. */
export type Traces = {
  /** The trace of a request, if it is to have one; `beganAt` by `performance.now()`. */
  readonly begin: (traceparent: string | undefined, beganAt: number) => RequestTrace | undefined;
  readonly stop: () => Promise<void>;
};

/** Opens the export of traces. `onFailure` is called for the first of several failures in a row. */
export function openTraces(
  { endpoint, headers, ratio, serviceName }: TraceSettings,
  onFailure: (error: unknown, lost: number) => void,
): Traces {
  const { send, close } = openSender(new URL(`${endpoint.replace(/\/$/, '')}/v1/traces`), headers);
  const exporter = new Exporter({ send, serviceName, version: VERSION, onFailure });
  const sampler = new Sampler(ratio);
  const onSpan = exporter.add.bind(exporter);
  return {
    begin: (traceparent, beganAt) =>
      sampler.takes(traceparent, beganAt) ? new TracedRequest(traceparent, beganAt, onSpan) : undefined,
    stop: async () => {
      await exporter.stop();
      close();
    },
  };
}
