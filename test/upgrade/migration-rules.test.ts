import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readMigrations, splitStatements } from '../../server/store/migrations/migration-files.ts';
import { findMigrationProblems } from '../../tools/migration-rules.ts';

const migrations = await readMigrations();

/** Returns the problems of a migration that follows the project's migrations. */
const problemsOf = (sql: string, header = '-- Needs: 0018\n') =>
  findMigrationProblems([...migrations, { name: '9001_next.sql', text: `${header}${sql}\n` }])
    .filter(({ name }) => name === '9001_next.sql')
    .map(({ sentence }) => sentence);

test("the project's migrations keep the rules from 0019 on", () => {
  expect(findMigrationProblems(migrations)).toEqual([]);
});

test('docs/migrations.md has the rules for authors, and names this test', () => {
  const guide = readFileSync(new URL('../../docs/migrations.md', import.meta.url), 'utf8');
  for (const words of ['-- Needs:', '-- Transaction: none', 'not valid', 'tools/migration-rules.ts']) {
    expect(guide).toContain(words);
  }
});

const NONE = '-- Needs: 0018\n-- Transaction: none\n';

const REFUSED: readonly (readonly [what: string, sql: string, says: RegExp, header?: string])[] = [
  ['an index', 'create index new_one on transfer (created_at);', /Build it concurrently/],
  ['a unique index without a name', 'create unique index on card (name);', /Build it concurrently/],
  ['a concurrent index in a transaction', 'create index concurrently a on card (name);', /separate migration/],
  ['another statement outside a transaction', 'create table a (b int);', /can be repeated/, NONE],
  ['a check', 'alter table transfer add constraint a check (amount > 0);', /"not valid"/],
  ['a check without a name', 'alter table transfer add check (amount > 0);', /"not valid"/],
  ['a foreign key', 'alter table card add constraint a foreign key (program_id) references program;', /"not valid"/],
  ['a unique constraint', 'alter table card add constraint a unique (card_id);', /"using index"/],
  ['one of several actions', 'alter table card add column a text, add constraint b check (a > 1);', /"not valid"/],
  [
    'validation at once',
    'alter table card add constraint a check (b) not valid; alter table card validate constraint a;',
    /next migration/,
  ],
  ['not null', 'alter table card alter column name set not null;', /is not null\) not valid/],
  ['another type', 'alter table transfer alter column amount type numeric;', /new type/],
  ['a different type in other words', 'alter table transfer alter amount set data type numeric;', /new type/],
  ['a volatile default', 'alter table posting add column a uuid default gen_random_uuid();', /without a default/],
  [
    'a time of each row',
    'alter table posting add column a timestamptz not null default clock_timestamp();',
    /without a default/,
  ],
  ['an identity', 'alter table posting add column a bigint generated always as identity;', /without a default/],
  ['a serial', 'alter table posting add column a bigserial;', /without a default/],
  ['a column with a check', 'alter table posting add column a int check (a > 0);', /Add the column alone/],
  ['another lock_timeout', "set local lock_timeout = '1min';", /lock_timeout of "migrate"/],
  [
    'a different lock_timeout by a function',
    "select set_config('lock_timeout', '0', true);",
    /lock_timeout of "migrate"/,
  ],
  ['a commit in the middle', 'commit;', /lock_timeout of "migrate"/],
  ['changes of all rows', "update transfer set description = '';", /in batches/],
  ['deletions', 'delete from error;', /in batches/],
];

describe('refuses, and gives advice about', () => {
  for (const [what, sql, says, header] of REFUSED) {
    test(what, () => expect(problemsOf(sql, header)).toEqual([expect.stringMatching(says)]));
  }
});

test.each([
  ['an index of a table of this migration', 'create table a (b int); create index on a (b); create index c on a (b);'],
  ['an index that partitions get later', 'create index a on only event (type);'],
  ['a check that is not valid yet', 'alter table transfer add constraint a check (amount > 0) not valid;'],
  ['validation of an earlier check', 'alter table transfer validate constraint a;'],
  ['a constraint of an index', 'alter table card add constraint a unique using index b;'],
  ['a column', 'alter table transfer add column a text, add column b int not null default 0;'],
  ['a column with one time for all', 'alter table transfer add column a timestamptz default now();'],
  ['a constraint of a small table', 'alter table api_key add constraint a check (true);'],
  [
    'a limit of a function',
    "create function a() returns void language sql set lock_timeout = '1s' as $$ update transfer set amount = 1; $$;",
  ],
  [
    'comments and texts about it',
    "-- update transfer set a;\ncomment on table card is 'create index a on card; commit;';",
  ],
])('%s is accepted', (_, sql) => {
  expect(problemsOf(sql)).toEqual([]);
});

test('building and dropping indexes outside a transaction is accepted', () => {
  const sql = 'create unique index concurrently a on transfer (card_id);\ndrop index concurrently if exists b;';
  expect(problemsOf(sql, NONE)).toEqual([]);
});

test('a line with the needed migration is required, and that migration must exist', () => {
  for (const header of ['', '-- Needs: 8000\n', '-- Needs: 9002\n', '-- A comment\n\n-- Needs: 0018\n']) {
    expect(problemsOf('select 1;', header)).toEqual([expect.stringContaining('-- Needs: NNNN')]);
  }
  for (const header of ['-- Needs: 9001\n', '-- A comment\n-- Needs: 0018\n']) {
    expect(problemsOf('select 1;', header)).toEqual([]);
  }
});

test('statements are split at the semicolons that end them', () => {
  const sql = `select 'a;''b', E'c\\';', "d;e" -- f;\n; do $x$ begin; $y$; end $x$; /* g; */ select $$;$$`;
  expect(splitStatements(sql)).toEqual([
    `select 'a;''b', E'c\\';', "d;e"`,
    'do $x$ begin; $y$; end $x$',
    'select $$;$$',
  ]);
});
