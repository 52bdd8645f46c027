import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TEXT_COLUMNS } from '../../../server/store/text-columns.ts';
import { useConnection, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
const owner = await useConnection(server.connection);

test('every text column has a rule for its writer, redaction, retention and erasure', async () => {
  const { rows } = await owner.query<{ name: string }>(
    `select relname || '.' || attname as name
      from pg_attribute join pg_class on pg_class.oid = attrelid join pg_type on pg_type.oid = atttypid
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
        and attnum > 0 and not attisdropped
        and typname in ('text', '_text', 'varchar', '_varchar', 'bpchar', 'json', 'jsonb', '_jsonb', 'bytea', 'name', 'xml')
      order by name`,
  );
  expect(Object.keys(TEXT_COLUMNS).sort()).toEqual(rows.map(({ name }) => name).sort());
});

test('the guide names every table with text about holders', () => {
  const guide = readFileSync('docs/retention.md', 'utf8').split('\n');
  for (const [column, { erasedBy }] of Object.entries(TEXT_COLUMNS)) {
    const [table = ''] = column.split('.');
    const row = guide.find((line) => line.startsWith('| `') && line.split('|')[1]?.includes(`\`${table}\``));
    expect(row, table).toBeDefined();
    if (erasedBy !== null && erasedBy !== 'erase_person') expect(row?.split('|')[3], column).toContain('holder');
  }
});
