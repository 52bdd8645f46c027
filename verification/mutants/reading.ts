import type { Mutant, Witness } from './mutant.ts';

const NEWS: Witness = { file: 'test/store/events/news.test.ts' };
const STREAMS: Witness = { file: 'test/api/events/streams.test.ts' };
const STREAMS_OF_HTTP: Witness = { file: 'test/http/streams.test.ts' };
const RETENTION: Witness = { file: 'test/api/events/retention.test.ts' };
const LISTS: Witness = { file: 'test/api/events/lists.test.ts' };
const STANDBY: Witness = { file: 'test/crashes/standby.test.ts' };

/** Mistakes about reading events. */
export const READING: readonly Mutant[] = [
  {
    name: 'wait-without-look',
    mistake: 'an event that arrives between the read and the wait is not seen before the next event',
    find: '      void this.#poll();\n',
    replace: '',
    witnesses: [NEWS],
  },
  {
    name: 'stream-without-beginning',
    mistake: 'a reader that loses its connection before the first event resumes too late',
    find: `\\nid: \${start}\\n\\n`,
    replace: '\\n\\n',
    witnesses: [STREAMS],
  },
  {
    name: 'position-before-read',
    mistake: 'a stream continues after events that it failed to read',
    find: '    read: async () =>\n      take(',
    replace: '    read: async () =>\n      take((position += 1) && ',
    witnesses: [STREAMS],
  },
  {
    name: 'deleted-skipped',
    mistake: 'reading continues with the oldest stored event, as if nothing was deleted',
    find: "      if (isDeleted(row, offset)) return 'deleted';\n",
    replace: '      if (isDeleted(row, offset)) {\n        end = start + offset;\n        continue;\n      }\n',
    witnesses: [RETENTION],
  },
  {
    name: 'all-deleted-is-no-event',
    mistake: 'a reader that missed all events gets an empty page',
    find: '  if (second.end === after) await refuseDeleted(database, source, after);\n',
    replace: '',
    witnesses: [RETENTION],
  },
  {
    name: 'filtered-not-read',
    mistake: 'the position of a page does not count the events that the filter left out',
    find: 'position: read.end',
    replace: 'position: read.events.at(-1)?.position ?? this.#query.after ?? 0',
    witnesses: [LISTS],
  },
  {
    name: 'stream-outlives-its-key',
    mistake: 'a key is checked only when its stream begins',
    find: '    await checkKey();\n',
    replace: '    void checkKey;\n',
    witnesses: [STREAMS_OF_HTTP],
  },
  {
    name: 'stream-ahead-of-its-reader',
    mistake: 'events for a slow reader pile up in memory',
    find: 'if (!response.write(text) && !(await isDrained(response, readTimeoutMilliseconds, signal))) {',
    replace: 'if (!response.write(text) && text === String(isDrained(response, readTimeoutMilliseconds, signal))) {',
    witnesses: [STREAMS_OF_HTTP],
  },
  {
    name: 'events-before-the-standby',
    mistake: 'an event is shown although a failover undoes it',
    find: '  await confirmReplicated(database, performance.now() + PROOF_MILLISECONDS, places);\n',
    replace: '  void confirmReplicated;\n  void PROOF_MILLISECONDS;\n',
    witnesses: [STANDBY],
  },
];
