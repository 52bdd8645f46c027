import { open } from 'node:fs/promises';
import { type Reference, readCamt } from './settlement-camt.ts';
import { checkFile, MAX_SETTLEMENT_LINES, type ReadSettlementFile, readPortions } from './settlement-csv.ts';

/** Reads and checks a settlement file in the format that its first character shows. Rejects if the file cannot be read. */
export async function readSettlementFile(path: string, reference: Reference): Promise<ReadSettlementFile> {
  if (await isXml(path)) return readCamt(path, reference);
  const portions = (skipped: number) => readPortions(path, skipped, MAX_SETTLEMENT_LINES);
  return { checked: await checkFile(path), portions };
}

async function isXml(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(100), 0, 100, 0);
    const beginning = buffer.subarray(0, bytesRead).toString();
    return beginning
      .replace(/^\ufeff/, '')
      .trimStart()
      .startsWith('<');
  } finally {
    await file.close();
  }
}
