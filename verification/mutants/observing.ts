import type { Mutant, Witness } from './mutant.ts';

const RESPONSES: Witness = { file: 'test/http/responses.test.ts' };
const response = (only: string): Witness => ({ ...RESPONSES, only });

/** Mistakes about requests in logs, metrics and traces. */
export const OBSERVING: readonly Mutant[] = [
  {
    name: 'response-told-twice',
    mistake: 'a request is reported again when its connection closes',
    find: '  context.isNoted = true;\n',
    replace: '',
    witnesses: [response('for a success, with the key and the trace')],
  },
  {
    name: 'response-of-a-path-as-sent',
    mistake: 'the path of a request is reported with its ids, as it was sent',
    file: 'server/http/wire/note-response.ts',
    find: 'path: context.pattern ??',
    replace: 'path: context.path ?? context.pattern ??',
    witnesses: [response('for a path with an id, without the id')],
  },
  {
    name: 'traceparent-with-a-card-number',
    mistake: 'a traceparent that contains a card number is stored',
    find: '  if (containsCardNumber(sent)) return undefined;\n',
    replace: '',
    witnesses: [response('with a card number')],
  },
  {
    name: 'request-of-another-event',
    mistake: 'all events of a group have the request of the first event with one',
    find: 'requestId: event.requestId ?? of?.requestId ?? null,',
    replace: 'requestId: events.find((one) => one.requestId)?.requestId ?? of?.requestId ?? null,',
    witnesses: [{ file: 'test/errors/requests.test.ts' }],
  },
  {
    name: 'trace-of-another-request',
    mistake: 'all events of a group have the trace of the first event with one',
    find: 'traceparent: event.traceparent ?? of?.traceparent ?? null,',
    replace: 'traceparent: events.find((one) => one.traceparent)?.traceparent ?? of?.traceparent ?? null,',
    witnesses: [{ file: 'test/store/events/traces.test.ts' }],
  },
  {
    name: 'sampling-by-the-caller',
    mistake: 'a caller decides how many of its requests are traced',
    find: 'return this.#wanted <= MAX_WANTED_PER_SECOND;',
    replace: 'return true;',
    witnesses: [{ file: 'test/start/traces.test.ts', only: 'takes at most ten a second' }],
  },
  {
    name: 'variables-of-the-exporter',
    mistake: 'environment variables that are not settings add headers to requests to the collector',
    find: "return withoutVariables('OTEL_', () => openTraces(traces, onFailure));",
    replace: 'return openTraces(traces, onFailure);',
    witnesses: [{ file: 'test/start/traces.test.ts', only: 'sends the spans only of requests' }],
  },
  {
    name: 'spans-that-wait-for-the-end',
    mistake: 'a collector that hangs delays the stop',
    find: 'const timer = setTimeout(resolve, milliseconds);',
    replace: 'const timer = setTimeout(resolve, 60 * milliseconds);',
    witnesses: [{ file: 'test/start/traces.test.ts', only: 'does not wait for a hanging collector' }],
  },
];
