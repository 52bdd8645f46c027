import { expect, test } from 'vitest';
import { connect } from '../harness/ledger.ts';
import { useServer } from '../harness/use-ledger.ts';

const server = await useServer();

/** Reads the schema after all migrations from PostgreSQL's own catalog, line by line, without monthly partitions. */
const SCHEMA = `
  select line from (
  select 'table ' || relname || ' column ' || attname || ' ' || format_type(atttypid, atttypmod)
    || case when attnotnull then ' not null' else '' end
    || coalesce(' default ' || pg_get_expr(adbin, adrelid), '') as line
  from pg_attribute join pg_class on pg_class.oid = attrelid
  left join pg_attrdef on adrelid = attrelid and adnum = attnum
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped
    and relname !~ '_[0-9]{4}_[0-9]{2}(_[0-9]{2})?$'
  union all
  select 'table ' || relname || ' constraint ' || conname || ' ' || pg_get_constraintdef(pg_constraint.oid)
  from pg_constraint join pg_class on pg_class.oid = conrelid
  where pg_constraint.connamespace = 'public'::regnamespace and contype <> 'n' and relname !~ '_[0-9]{4}_[0-9]{2}(_[0-9]{2})?$'
  union all
  select 'index ' || indexdef from pg_indexes
  where schemaname = 'public' and tablename !~ '_[0-9]{4}_[0-9]{2}(_[0-9]{2})?$'
  union all
  select 'trigger ' || pg_get_triggerdef(pg_trigger.oid) from pg_trigger join pg_class on pg_class.oid = tgrelid
  where not tgisinternal and relname !~ '_[0-9]{4}_[0-9]{2}(_[0-9]{2})?$'
  union all
  select 'function ' || pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
  ) as lines order by line collate "C"`;

test('the schema is as in server/store/migrations/schema.txt (to update that file, remove it and run: npm test -- store)', async () => {
  const client = await connect(server.connection);
  const { rows } = await client.query<{ line: string }>(SCHEMA);
  await client.end();
  const text = `${rows.map(({ line }) => line.trim()).join('\n')}\n`;
  await expect(text).toMatchFileSnapshot('../../server/store/migrations/schema.txt');
});
