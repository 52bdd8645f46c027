import { monitorEventLoopDelay } from 'node:perf_hooks';
import { follow } from './parts.ts';
import type { Metrics } from './registry.ts';

/** The interval of the samples. Node's figures include it: they show this much for a loop without delay. */
const RESOLUTION_MILLISECONDS = 20;

/**
 * The period over which the delay is collected. It is longer than the time between two scrapes, so that some scrapes see each
 * period.
 */
const WINDOW_MILLISECONDS = 15_000;

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;

/** Shows the start time of the process, its use of resources, and the delay of its event loop. `stop` ends the measurement. */
export function showProcess(
  metrics: Metrics,
  { version, mode }: { readonly version: string; readonly mode: string },
): { readonly stop: () => void } {
  metrics
    .gauge({
      name: 'info',
      help: 'Always 1. The labels are the versions of the service and of Node, and the mode.',
      labels: ['version', 'node', 'mode'],
    })(version, process.versions.node, mode)
    .set(1);
  metrics
    .gauge({ name: 'start_timestamp_seconds', help: 'When the process started.' })()
    .set(Math.round(performance.timeOrigin) / 1000);
  const processor = follow(
    metrics.counter({ name: 'cpu_seconds_total', help: 'CPU time of the process, all threads included.' })(),
  );
  const memory = metrics.gauge({ name: 'memory_bytes', help: 'Resident memory of the process.' })();
  const heap = metrics.gauge({ name: 'heap_bytes', help: 'JavaScript heap in use by the main thread.' })();
  metrics.beforePage(() => {
    const { user, system } = process.cpuUsage();
    processor((user + system) / MICROSECONDS);
    memory.set(process.memoryUsage.rss());
    heap.set(process.memoryUsage().heapUsed);
  });
  return showEventLoop(metrics);
}

function showEventLoop(metrics: Metrics): { readonly stop: () => void } {
  const delay = metrics.gauge({
    name: 'event_loop_delay_seconds',
    help: 'Delay of the event loop in the last 15 seconds: median, 99th percentile (p99) and maximum.',
    labels: ['statistic'],
  });
  const levels = [
    [50, delay('median')],
    [99, delay('p99')],
    [100, delay('maximum')],
  ] as const;
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MILLISECONDS });
  const show = (): void => {
    for (const [percentile, level] of levels) {
      const nanoseconds = monitor.count === 0 ? 0 : monitor.percentile(percentile);
      level.set(Math.max(0, nanoseconds - RESOLUTION_MILLISECONDS * 1e6) / NANOSECONDS);
    }
  };
  monitor.enable();
  show();
  const timer = setInterval(() => {
    show();
    monitor.reset();
  }, WINDOW_MILLISECONDS).unref();
  return {
    stop: () => {
      clearInterval(timer);
      monitor.disable();
    },
  };
}
