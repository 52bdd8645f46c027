import { beforeAll, describe, expect, test } from 'vitest';
import type { AuditEntryRecord, FundingMovementRecord } from '../../sdk/client.ts';
import { refusalOf, useService } from '../harness/service.ts';

const running = useService();
const client = () => running().client;

/** More deposits than fit into the first two pages of an export. */
const DEPOSITS = 1300;

let programId: string;
let movements: readonly FundingMovementRecord[];
let entries: readonly AuditEntryRecord[];

beforeAll(async () => {
  programId = (await client().programs.create({ name: 'Exported', currency: 'USD' })).program_id;
  await client().deposits.create(programId, { amount: 900, description: '=SUM(A1)', metadata: { bank: 'a, "b"' } });
  for (let at = 0; at < DEPOSITS; at += 50) {
    await Promise.all(Array.from({ length: 50 }, () => client().deposits.create(programId, { amount: 1 })));
  }
  await client().withdrawals.create(programId, { amount: 7, reference: `out of ${programId}` });
  movements = (await all(client().programs.movementsAll(programId, { limit: 100 }))).toReversed();
  entries = (await all(client().audit.listAll({ program_id: programId, limit: 100 }))).toReversed();
}, 60_000);

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Returns the lines of an export. The first one contains the column names. */
async function linesOf(text: Promise<AsyncIterable<string>>): Promise<readonly string[]> {
  return (await all(await text)).join('').trimEnd().split('\r\n');
}

/** Returns the line of a record, as a spreadsheet writes it. */
const lineOf = (record: object) =>
  Object.values(record)
    .map((value) => (value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)))
    .map((text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
    .join(',');

describe('export_funding_movements', () => {
  const exported = (query: object = {}) => linesOf(client().programs.exportMovements(programId, query));

  test('lists every deposit and withdrawal once, as the list shows it, oldest first', async () => {
    expect(movements).toHaveLength(DEPOSITS + 2);
    const [head, ...lines] = await exported({ raw: true });
    expect(head).toBe(Object.keys(movements[0] ?? {}).join(','));
    expect(lines).toEqual(movements.map(lineOf));
  });

  test('escapes formulas unless raw text is requested', async () => {
    expect((await exported())[1]).toContain(",'=SUM(A1),");
    expect((await exported({ raw: true }))[1]).toContain(',=SUM(A1),');
  });

  test('contains exactly the movements of a period', async () => {
    const created_from = movements[100]?.created_at ?? '';
    const created_to = movements[1200]?.created_at ?? '';
    const within = movements.filter(({ created_at: at }) => at >= created_from && at < created_to);
    expect((await exported({ created_from, created_to })).slice(1)).toEqual(within.map(lineOf));
    expect(await exported({ created_from: '2100-01-01T00:00:00Z' })).toHaveLength(1);
  });

  test('refuses an empty period and an unknown program', async () => {
    const period = { created_from: '2030-01-02T00:00:00Z', created_to: '2030-01-01T00:00:00Z' };
    const empty = await refusalOf(client().programs.exportMovements(programId, period));
    expect(empty).toMatchObject({ code: 'export_funding_movements_schema', field: '/created_to' });
    const missing = await refusalOf(client().programs.exportMovements('prog_missing'));
    expect(missing.code).toBe('program_not_found');
  });
});

describe('export_audit_entries', () => {
  const exported = (query: object = {}) => linesOf(client().audit.export(query));

  test('lists each entry that matches a filter, without duplicates, as the list shows it, oldest first', async () => {
    expect(entries).toHaveLength(DEPOSITS + 3);
    const [head, ...lines] = await exported({ program_id: programId, raw: true });
    expect(head).toBe(Object.keys(entries[0] ?? {}).join(','));
    expect(lines).toEqual(entries.map(lineOf));
  });

  test('without a filter, contains the whole hash chain', async () => {
    const { data } = await client().audit.list({ limit: 1 });
    const [, ...lines] = await exported({ raw: true });
    const positions = lines.map((line) => Number(line.split(',')[1]));
    expect(positions).toEqual(Array.from({ length: data[0]?.position ?? 0 }, (_, at) => at + 1));
  });

  test('finds a rare entry, and the entries of an actor and a period', async () => {
    const rare = entries.filter(({ action }) => action === 'create_withdrawal');
    const action = { action: 'create_withdrawal', program_id: programId, raw: true };
    expect((await exported(action)).slice(1)).toEqual(rare.map(lineOf));
    const created_from = entries[10]?.created_at ?? '';
    const created_to = entries[700]?.created_at ?? '';
    const within = entries.filter(({ created_at: at }) => at >= created_from && at < created_to);
    const period = { created_from, created_to, actor: 'sandbox', program_id: programId };
    expect((await exported({ ...period, raw: true })).slice(1)).toEqual(within.map(lineOf));
    expect(await exported({ ...period, actor: 'host' })).toHaveLength(1);
  });

  test('refuses an action that is never recorded', async () => {
    const refused = await refusalOf(client().audit.export({ action: 'get_transfer' }));
    expect(refused).toMatchObject({ code: 'export_audit_entries_schema', field: '/action' });
  });
});
