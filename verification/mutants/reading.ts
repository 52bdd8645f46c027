import type { Mutants, Witness } from './mutant.ts';

const NEWS: Witness = { file: 'test/store/events/news.test.ts' };
const STREAMS: Witness = { file: 'test/api/events/streams.test.ts' };
const STREAMS_OF_HTTP: Witness = { file: 'test/http/streams.test.ts' };
const RETENTION: Witness = { file: 'test/api/events/retention.test.ts' };
const LISTS: Witness = { file: 'test/api/events/lists.test.ts' };
const STANDBY: Witness = { file: 'test/crashes/standby.test.ts' };

/** Mistakes about reading events. */
export const READING: Mutants = {
  'wait-without-look': {
    mistake: 'an event that arrives between the read and the wait is not seen before the next event',
    edits: { 'EventNews.wait': ['void this.#poll();', ''] },
    witnesses: [NEWS],
  },
  'stream-without-beginning': {
    mistake: 'a reader that loses its connection before the first event resumes too late',
    edits: { streamFrom: [`\\nid: \${start}\\n\\n`, '\\n\\n'] },
    witnesses: [STREAMS],
  },
  'position-before-read': {
    mistake: 'a stream continues after events that it failed to read',
    edits: { streamFrom: ['take(await', 'take((position += 1) && await'] },
    witnesses: [STREAMS],
  },
  'deleted-skipped': {
    mistake: 'reading continues with the oldest stored event, as if nothing was deleted',
    edits: {
      pageAfter: [
        [
          "(isDeleted(row, offset)) return 'deleted';",
          '(isDeleted(row, offset)) {\n        end = start + offset;\n        continue;\n      }',
        ],
      ],
    },
    witnesses: [RETENTION],
  },
  'all-deleted-is-no-event': {
    mistake: 'a reader that missed all events gets an empty page',
    edits: { readAfter: ['if (second.end === after) await refuseDeleted(database, source, after);', ''] },
    witnesses: [RETENTION],
  },
  'filtered-not-read': {
    mistake: 'the position of a page does not count the events that the filter left out',
    edits: { 'ForwardList.#page': ['read.end', 'read.events.at(-1)?.position ?? this.#query.after ?? 0'] },
    witnesses: [LISTS],
  },
  'stream-outlives-its-key': {
    mistake: 'a key is checked only when its stream begins',
    edits: { 'StreamSender.#next': ['await checkKey()', 'void checkKey'] },
    witnesses: [STREAMS_OF_HTTP],
  },
  'stream-ahead-of-its-reader': {
    mistake: 'events for a slow reader pile up in memory',
    edits: { 'StreamSender.#send': ['!(await isDrained', 'text === String(isDrained'] },
    witnesses: [STREAMS_OF_HTTP],
  },
  'events-before-the-standby': {
    mistake: 'an event is shown although a failover undoes it',
    edits: {
      readEvents: [
        'await confirmReplicated(database, performance.now() + PROOF_MILLISECONDS, places)',
        'void confirmReplicated;\n  void PROOF_MILLISECONDS',
      ],
    },
    witnesses: [STANDBY],
  },
};
