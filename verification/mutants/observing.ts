import type { Mutants, Witness } from './mutant.ts';

const RESPONSES: Witness = { file: 'test/http/responses.test.ts' };
const response = (only: string): Witness => ({ ...RESPONSES, only });

/** Mistakes about requests in logs, metrics and traces. */
export const OBSERVING: Mutants = {
  'response-told-twice': {
    mistake: 'a request is reported again when its connection closes',
    edits: { noteResponse: ['context.isNoted = true;', ''] },
    witnesses: [response('for a success, with the key and the trace')],
  },
  'response-of-a-path-as-sent': {
    mistake: 'the path of a request is reported with its ids, as it was sent',
    edits: { noteResponse: ['path: context.pattern', 'path: context.path ?? context.pattern'] },
    witnesses: [response('for a path with an id, without the id')],
  },
  'traceparent-with-a-card-number': {
    mistake: 'a traceparent that contains a card number is stored',
    edits: { readTraceparent: ['if (containsCardNumber(sent)) return undefined;', ''] },
    witnesses: [response('with a card number')],
  },
  'request-of-another-event': {
    mistake: 'all events of a group get the request id of the first event that has one',
    edits: { insertEvents: ['event.requestId', 'events.find((one) => one.requestId)?.requestId'] },
    witnesses: [{ file: 'test/errors/requests.test.ts' }],
  },
  'trace-of-another-request': {
    mistake: 'all events of a group get the trace of the first event that has one',
    edits: { insertEvents: ['event.traceparent', 'events.find((one) => one.traceparent)?.traceparent'] },
    witnesses: [{ file: 'test/store/events/traces.test.ts' }],
  },
  'sampling-by-the-caller': {
    mistake: 'a caller decides how many of its requests are traced',
    edits: { 'Sampler.#takesWanted': ['this.#wanted <= MAX_WANTED_PER_SECOND', 'true'] },
    witnesses: [{ file: 'test/start/traces.test.ts', only: 'takes at most ten requests a second' }],
  },
  'variables-of-the-exporter': {
    mistake: 'environment variables that are not settings add headers to requests to the collector',
    edits: {
      openTraceExport: [
        "withoutVariables('OTEL_', () => openTraces(traces, onFailure))",
        'openTraces(traces, onFailure)',
      ],
    },
    witnesses: [{ file: 'test/start/traces.test.ts', only: 'sends only the spans of requests' }],
  },
  'spans-that-wait-for-the-end': {
    mistake: 'a collector that hangs delays the stop',
    edits: { withinTime: ['resolve, milliseconds', 'resolve, 60 * milliseconds'] },
    witnesses: [{ file: 'test/start/traces.test.ts', only: 'does not wait for a hanging collector' }],
  },
};

/** Mistakes about metrics and monitoring. */
export const METRICS: Mutants = {
  'response-counted-twice': {
    mistake: 'a response is counted again when its connection closes',
    edits: { noteResponse: ['context.isNoted = true;', ''] },
    witnesses: [{ file: 'test/metrics/metrics.test.ts', only: 'every request is counted once' }],
  },
  'unknown-not-counted': {
    mistake: 'transfers whose outcome stays unknown are not counted',
    edits: { 'LockingPath.#leaveOpen': ['if (made !== undefined) unknown += 1;', ''] },
    witnesses: [{ file: 'test/metrics/commit-observer.test.ts' }],
  },
  'books-verified-by-everybody': {
    mistake: 'a process that waited does not check whether another process has just verified the books',
    edits: {
      verifyAndStore: [
        ['if (!isDue(toLastVerification(await run(client, READ_LAST_VERIFICATION)))) return undefined;', ''],
        ['prepared?.taken !== true', 'prepared === undefined'],
      ],
    },
    witnesses: [{ file: 'test/metrics/books-verification.test.ts', only: 'several processes' }],
  },
};
