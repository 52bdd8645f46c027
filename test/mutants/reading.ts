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
    mistake: 'an event that comes between the read and the wait is not seen before the next one',
    find: '      void this.#poll();\n',
    replace: '',
    witnesses: [NEWS],
  },
  {
    name: 'stream-without-beginning',
    mistake: 'a reader that is disconnected before its first event resumes with the next one',
    find: `\\nid: \${start}\\n\\n`,
    replace: '\\n\\n',
    witnesses: [STREAMS],
  },
  {
    name: 'position-before-read',
    mistake: 'a stream goes on after events whose reading failed',
    find: '    read: async () =>\n      take(',
    replace: '    read: async () =>\n      take((position += 1) && ',
    witnesses: [STREAMS],
  },
  {
    name: 'deleted-skipped',
    mistake: 'reading goes on with the oldest stored event, as if nothing was deleted',
    find: "      if (isDeleted(row, offset)) return 'deleted';\n",
    replace: '      if (isDeleted(row, offset)) {\n        end = start + offset;\n        continue;\n      }\n',
    witnesses: [RETENTION],
  },
  {
    name: 'all-deleted-is-no-event',
    mistake: 'whoever missed everything is told that nothing happened',
    find: '  if (second.end === after) await refuseDeleted(database, source, after);\n',
    replace: '',
    witnesses: [RETENTION],
  },
  {
    name: 'filtered-not-read',
    mistake: 'the position of a page stays behind what the filter left out',
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
    mistake: 'what a slow reader does not take piles up in memory',
    find: 'if (!response.write(text) && !(await isDrained(response, readTimeoutMilliseconds, signal))) {',
    replace: 'if (!response.write(text) && text === String(isDrained(response, readTimeoutMilliseconds, signal))) {',
    witnesses: [STREAMS_OF_HTTP],
  },
  {
    name: 'events-before-the-standby',
    mistake: 'an event is shown that a failover undoes',
    find: '  await confirmReplicated(database, performance.now() + PROOF_MILLISECONDS, places);\n',
    replace: '  void confirmReplicated;\n  void PROOF_MILLISECONDS;\n',
    witnesses: [STANDBY],
  },
];
