import { randomFillSync } from 'node:crypto';
import { toWireId } from '../../domain/identifier.ts';
import type { EndedRequest, GroupTrace, RequestTrace } from '../operations/trace.ts';
import { KIND, type Span, type SpanName } from './span.ts';

type OnSpan = (span: Span) => void;

/** What `performance.now()` was zero at, by the clock of this machine as it is now. */
const originNow = (): number => Date.now() - performance.now();

/** Random bytes for some hundred ids: to ask for each of them takes longer than everything else about a span. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}

const newSpanId = (): string => randomHex(8);
const newTraceId = (): string => randomHex(16);

/** A request that is traced: a span of its own, one for each wait in the lane, and a link to each group that had it. */
export class TracedRequest implements RequestTrace {
  readonly traceId: string;
  readonly spanId = newSpanId();
  readonly #parentSpanId: string | undefined;
  readonly #origin = originNow();
  readonly #beganAt: number;
  readonly #onSpan: OnSpan;
  readonly #groups: SpanName[] = [];
  /** Since when it waits for a group. */
  #submittedAt: number | undefined;

  /** `beganAt` by `performance.now()`. */
  constructor(traceparent: string | undefined, beganAt: number, onSpan: OnSpan) {
    this.traceId = traceparent?.slice(3, 35) ?? newTraceId();
    this.#parentSpanId = traceparent?.slice(36, 52);
    this.#beganAt = beganAt;
    this.#onSpan = onSpan;
  }

  submitted(): void {
    this.#submittedAt ??= performance.now();
  }

  beginGroup(requests: readonly RequestTrace[]): GroupTrace {
    const traced = [...new Set(requests)].filter((request) => request instanceof TracedRequest);
    const group = new TracedGroup(traced, this.#onSpan);
    for (const request of traced) request.join(group);
    return group;
  }

  /** A group has begun that has this request. */
  join(group: SpanName): void {
    this.#groups.push({ traceId: group.traceId, spanId: group.spanId });
    const now = performance.now();
    const begin = this.#submittedAt ?? now;
    this.#submittedAt = undefined;
    this.#onSpan({
      traceId: this.traceId,
      spanId: newSpanId(),
      parentSpanId: this.spanId,
      name: 'lane wait',
      kind: KIND.internal,
      begin: this.#origin + begin,
      end: this.#origin + now,
      attributes: {},
      links: [],
      isError: false,
    });
  }

  end({ requestId, method, path, operation, status, code, programId }: EndedRequest): void {
    this.#onSpan({
      traceId: this.traceId,
      spanId: this.spanId,
      parentSpanId: this.#parentSpanId,
      name: [method, path].filter((part) => part !== undefined).join(' '),
      kind: KIND.server,
      begin: this.#origin + this.#beganAt,
      end: this.#origin + performance.now(),
      attributes: {
        'http.request.method': method,
        'http.route': path,
        'http.response.status_code': status,
        'error.type': code,
        'transfer_service.operation': operation,
        'transfer_service.request_id': toWireId('req', requestId),
        'transfer_service.program_id': programId === undefined ? undefined : toWireId('prog', programId),
      },
      links: this.#groups,
      isError: status === undefined || status >= 500,
    });
  }
}

/** A group of transfers with a traced request: a trace of its own, because many requests share it. */
class TracedGroup implements GroupTrace, SpanName {
  readonly traceId = newTraceId();
  readonly spanId = newSpanId();
  readonly #requests: readonly SpanName[];
  readonly #onSpan: OnSpan;
  readonly #origin = originNow();
  readonly #beganAt = performance.now();
  #loadedAt: number | undefined;
  #decidedAt: number | undefined;

  constructor(requests: readonly SpanName[], onSpan: OnSpan) {
    this.#requests = requests.map(({ traceId, spanId }) => ({ traceId, spanId }));
    this.#onSpan = onSpan;
  }

  loaded(): void {
    this.#loadedAt = performance.now();
  }

  decided(): void {
    this.#decidedAt = performance.now();
  }

  ended(size: number, outcome: 'committed' | 'failed'): void {
    const now = performance.now();
    const isError = outcome === 'failed';
    const steps = [
      { name: 'load', begin: this.#beganAt, end: this.#loadedAt },
      { name: 'decide', begin: this.#loadedAt, end: this.#decidedAt },
      { name: 'commit', begin: this.#decidedAt, end: undefined },
    ];
    for (const { name, begin, end } of steps) {
      // The step that has no end is the one in which the group ended; those after it never began.
      if (begin === undefined) continue;
      const isLast = end === undefined;
      this.#give({ name, spanId: newSpanId(), parentSpanId: this.spanId }, [begin, end ?? now], isLast && isError);
    }
    const attributes = { 'transfer_service.group_size': size };
    const root = { name: 'group', spanId: this.spanId, parentSpanId: undefined, attributes, links: this.#requests };
    this.#give(root, [this.#beganAt, now], isError);
  }

  #give(
    span: Pick<Span, 'name' | 'spanId' | 'parentSpanId'> & Partial<Span>,
    [begin, end]: readonly [number, number],
    isError: boolean,
  ): void {
    const [from, to] = [this.#origin + begin, this.#origin + end];
    const common = { traceId: this.traceId, kind: KIND.internal, attributes: {}, links: [] };
    this.#onSpan({ ...common, ...span, begin: from, end: to, isError });
  }
}
