import { beginningOf } from './files/line-file.ts';
import { readBai2 } from './settlement-bai2.ts';
import { type Reference, readCamt } from './settlement-camt.ts';
import { checkFile, type ReadSettlementFile, readPortions } from './settlement-csv.ts';

/** Reads and checks a settlement file in the format that its first characters show. Rejects if the file cannot be read. */
export async function readSettlementFile(path: string, reference: Reference): Promise<ReadSettlementFile> {
  const beginning = await beginningOf(path);
  if (beginning.startsWith('<')) return readCamt(path, reference);
  if (beginning.startsWith('01,')) return readBai2(path);
  const portions = (skipped: number) => readPortions(path, skipped);
  return { checked: await checkFile(path), portions };
}
