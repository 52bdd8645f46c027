import { toWireId } from '../../../domain/identifier.ts';
import { printable } from '../../../domain/printable-text.ts';
import type { Database } from '../../store/connection/database.ts';
import {
  findEscapedNames,
  KINDS_WITH_METADATA,
  type LastRecord,
  type RecordWithEscapes,
  toRecordWithEscapes,
} from '../../store/search/escaped-names.ts';

const PORTION = 1000;

type Print = (line: string) => void;

/**
 * Lists the records whose metadata has a name that an earlier version could have changed: a name with an escape in JSON
 * (domain/parse-json.ts). Node replaced such a name with a name that has a backslash. So stored names without a backslash are
 * right, and only an event about the record can have a different name.
 */
export async function verifyMetadata(database: Database, print: Print): Promise<void> {
  let stored = 0;
  let total = 0;
  for (const kind of KINDS_WITH_METADATA) {
    let after: LastRecord | undefined;
    for (;;) {
      const rows = await database.survey(findEscapedNames(kind, after, PORTION), 0);
      const records = (rows ?? []).map(toRecordWithEscapes);
      for (const record of records) {
        const isStored = record.names.some((name) => name.includes('\\'));
        if (isStored) stored += 1;
        total += 1;
        const where = isStored ? 'the stored name may be another one' : 'an event may have another name';
        print(
          `${nameOf(kind, record)}: ${record.names.map((name) => printable(JSON.stringify(name))).join(', ')} (${where})`,
        );
      }
      after = records.at(-1);
      if (records.length < PORTION) break;
    }
  }
  print(
    total === 0
      ? 'No name in metadata has a quotation mark, a backslash or a control character, so Node cannot have changed one.'
      : `${total} records have names that Node may have changed, ${stored} of them in the stored metadata. ` +
          'Compare them with what the callers sent, and correct them with an update of the metadata.',
  );
}

function nameOf(kind: (typeof KINDS_WITH_METADATA)[number], { programId, shown }: RecordWithEscapes): string {
  const program = toWireId('prog', programId);
  if (kind === 'program') return program;
  return `${kind} ${kind === 'card' ? printable(shown) : toWireId('tr', shown)} of ${program}`;
}
