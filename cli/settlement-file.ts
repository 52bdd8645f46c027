import { open } from 'node:fs/promises';
import { readBai2 } from './settlement-bai2.ts';
import { type Reference, readCamt } from './settlement-camt.ts';
import { checkFile, MAX_SETTLEMENT_LINES, type ReadSettlementFile, readPortions } from './settlement-csv.ts';

/** Reads and checks a settlement file in the format that its first characters show. Rejects if the file cannot be read. */
export async function readSettlementFile(path: string, reference: Reference): Promise<ReadSettlementFile> {
  const beginning = await beginningOf(path);
  if (beginning.startsWith('<')) return readCamt(path, reference);
  if (beginning.startsWith('01,')) return readBai2(path);
  const portions = (skipped: number) => readPortions(path, skipped, MAX_SETTLEMENT_LINES);
  return { checked: await checkFile(path), portions };
}

async function beginningOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(100), 0, 100, 0);
    const beginning = buffer.subarray(0, bytesRead).toString();
    return beginning.replace(/^\ufeff/, '').trimStart();
  } finally {
    await file.close();
  }
}
