import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { splitStatements } from '../server/store/migrations/migration-files.ts';

export type MigrationFile = { readonly name: string; readonly text: string };

/** The first migration that the rules apply to. Earlier ones were only applied to ledgers that were not in use yet. */
const FIRST = '0019';

/**
 * Tables with at most a few thousand rows. Scanning them takes milliseconds. All other tables grow with cards, transfers or
 * requests.
 */
const SMALL: ReadonlySet<string> = new Set([
  'api_key',
  'audit_head',
  'books_verification',
  'card_erasure',
  'connector_switch',
  'console_session',
  'event_day',
  'event_deletion',
  'event_head',
  'ledger_mode',
  'processor_break',
  'program',
  'sandbox_clock',
  'schema_migration',
  'switch',
  'webhook',
  'webhook_secret',
  'webhook_shard',
  'webhook_state',
  'webhook_worker',
]);

/** Returns the problem with a statement in a sentence that says what to do instead. */
type Rule = (statement: string, migration: Context) => string | undefined;

type Context = {
  readonly isLarge: (table: string) => boolean;
  readonly isOutsideTransaction: boolean;
  /** This migration and all before it, in lower case. */
  readonly history: string;
  readonly own: string;
};

const INDEX =
  /^create\s+(?:unique\s+)?index\s+(concurrently\s+)?(?:if\s+not\s+exists\s+)?(?:[a-z_]\w*\s+)?on\s+(only\s+)?([a-z_]\w*)/;

const indexes: Rule = (statement, { isLarge }) => {
  const [found, concurrently, only, table = ''] = INDEX.exec(statement) ?? [];
  if (found === undefined || concurrently !== undefined || only !== undefined || !isLarge(table)) return undefined;
  return (
    `This index locks ${table} against writes until it is built. Build it concurrently, in a separate ` +
    'migration with the line "-- Transaction: none" at the top. For a partitioned table, create an index on only the ' +
    'parent, and then build one concurrently for each partition.'
  );
};

const transactions: Rule = (statement, { isOutsideTransaction }) => {
  const isConcurrent = /^(?:create\s+(?:unique\s+)?|drop\s+)index\s+concurrently\b/.test(statement);
  const isRepeatable =
    /^create\s+(?:unique\s+)?index\s+concurrently\s+[a-z_]\w*\s+on\s+[a-z_]\w*|^drop\s+index\s+concurrently\s+if\s+exists\b/.test(
      statement,
    );
  if (isConcurrent && !isOutsideTransaction)
    return 'This cannot run in a transaction. Put it into a separate migration with the line "-- Transaction: none" at the top.';
  if (!isOutsideTransaction || isRepeatable) return undefined;
  return (
    'Without a transaction, a migration may only contain statements that can be repeated after an interruption: indexes, ' +
    'by name, that are created concurrently or dropped "concurrently if exists". Put the rest into another migration.'
  );
};

const timeouts: Rule = (statement) =>
  /^(?:set|reset)\s+(?:local\s+|session\s+)?(?:lock_timeout|statement_timeout|all)\b|^(?:begin|commit|rollback)\b/.test(
    statement,
  ) || /^select\s+(?:pg_catalog\.)?set_config\s*\(\s*'(?:lock|statement)_timeout'/.test(statement)
    ? 'Every migration has the transaction and the lock_timeout of "migrate", so that requests do not wait long. Remove this.'
    : undefined;

const rewrites: Rule = (statement, { isLarge }) => {
  const [, table = ''] = /^(?:update|delete\s+from)\s+(?:only\s+)?([a-z_]\w*)/.exec(statement) ?? [];
  if (table !== '' && isLarge(table))
    return `This changes any number of rows of ${table} while requests wait for their locks. Let a job of the service do it in batches after the upgrade, and read both forms until it is done.`;
  return /^(?:vacuum\s+full|cluster)\b/.test(statement)
    ? 'This rewrites a table that is in use. Remove it.'
    : undefined;
};

/** The actions of an `alter table` on an existing table that grows. */
function actionsOf(
  statement: string,
  { isLarge }: Context,
): { readonly table: string; readonly actions: readonly string[] } {
  const [, table = '', rest = ''] =
    /^alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?([a-z_]\w*)\s+([\s\S]*)$/.exec(statement) ?? [];
  if (table === '' || !isLarge(table)) return { table, actions: [] };
  const actions = [''];
  let depth = 0;
  for (const character of rest) {
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (character === ',' && depth === 0) actions.push('');
    else actions[actions.length - 1] += character;
  }
  return { table, actions: actions.map((action) => action.trim()) };
}

const constraints: Rule = (statement, context) => {
  const { table, actions } = actionsOf(statement, context);
  for (const action of actions) {
    const isConstraint =
      /^add\s+(?:constraint\s+\w+\s+)?(?:check|foreign\s+key|unique|primary\s+key|exclude|not\s+null)\b/.test(action);
    if (isConstraint && !/\bnot\s+valid$|\busing\s+index\b/.test(action))
      return `This reads all of ${table} while it is locked. For check and foreign key: add it "not valid", and "validate constraint" in the next migration. For unique and primary key: build a unique index concurrently, and add the constraint "using index".`;
    if (/^validate\s+constraint\b/.test(action) && /\bnot\s+valid\b/.test(context.own))
      return `This reads all of ${table} in the transaction that has locked it to add the constraint. Put it into the next migration.`;
    const [, column] = /^alter\s+(?:column\s+)?(\w+)\s+set\s+not\s+null$/.exec(action) ?? [];
    if (
      column !== undefined &&
      !new RegExp(`check\\s*\\(\\s*${column}\\s+is\\s+not\\s+null\\s*\\)`).test(context.history)
    )
      return `This reads all of ${table} while it is locked. First add "check (${column} is not null) not valid", validate it in the next migration, and set not null in the one after that.`;
  }
  return undefined;
};

/** Functions with one value for a whole statement. A default that uses them rewrites no table. */
const STABLE = /^(?:now|current_setting|current_schema|to_jsonb|jsonb_build_object|array)$/;

const columns: Rule = (statement, context) => {
  const { table, actions } = actionsOf(statement, context);
  for (const action of actions) {
    if (/^alter\s+(?:column\s+)?\w+\s+(?:set\s+data\s+)?type\b/.test(action))
      return `This may rewrite all of ${table} while it is locked. Add a column of the new type, write both, fill it in batches by a job, and drop the old one a release later.`;
    if (!/^add\s+(?:column\s+)?(?!constraint\b|check\b|foreign\b|unique\b|primary\b|exclude\b)/.test(action)) continue;
    const [, value = ''] = /\bdefault\s+([\s\S]*)$/.exec(action) ?? [];
    const calls = [...value.matchAll(/\b([a-z_]\w*)\s*\(/g)].map(([, name = '']) => name);
    if (calls.some((name) => !STABLE.test(name)) || /\b(?:big|small)?serial\b|\bgenerated\b/.test(action))
      return `This gives each row of ${table} a different value, which rewrites the whole table while it is locked. Add the column without a default, set the default in another statement, and fill the rows in batches by a job.`;
    if (/\b(?:check|unique|primary\s+key|references)\b/.test(action))
      return `A constraint in "add column" reads all of ${table} while it is locked. Add the column alone, and the constraint "not valid".`;
  }
  return undefined;
};

const RULES: readonly Rule[] = [indexes, transactions, timeouts, rewrites, constraints, columns];

/**
 * Finds the problems of migrations. They must not block requests, and must declare which versions can run on their schema. Each
 * problem is a sentence that says what to do instead.
 */
export function findMigrationProblems(
  migrations: readonly MigrationFile[],
): readonly { readonly name: string; readonly line: number; readonly sentence: string }[] {
  return migrations
    .filter(({ name }) => /^[0-9]{4}_/.test(name) && name >= FIRST)
    .flatMap((migration) => {
      const before = migrations.filter(({ name }) => name < migration.name);
      return [...headerProblems(migration, before), ...statementProblems(migration, before)].map((problem) => ({
        name: migration.name,
        ...problem,
      }));
    });
}

type Problem = { readonly line: number; readonly sentence: string };

function headerProblems({ name, text }: MigrationFile, before: readonly MigrationFile[]): readonly Problem[] {
  const own = name.slice(0, 4);
  const [header = ''] = /^(?:--.*\n)*/.exec(text) ?? [];
  const [, needs] = /^-- Needs: ([0-9]{4})$/m.exec(header) ?? [];
  if (needs === own || before.some((one) => one.name.startsWith(needs ?? 'none'))) return [];
  const sentence =
    'The comment at the top needs the line "-- Needs: NNNN": the number of the newest migration that a version must have ' +
    'to run on the schema of this one. If the version before can run on it, name the newest migration of that version.';
  return [{ line: 1, sentence }];
}

function statementProblems({ text }: MigrationFile, before: readonly MigrationFile[]): readonly Problem[] {
  const createdIn = (sql: string) =>
    new Set(
      [...sql.matchAll(/\bcreate\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?([a-z_]\w*)/gi)].map(
        ([, name]) => name,
      ),
    );
  const older = createdIn(before.map((one) => one.text).join('\n'));
  const ours = createdIn(text);
  const history = [...before, { text }]
    .map((one) => one.text)
    .join('\n')
    .toLowerCase();
  const context: Context = {
    isLarge: (table) => older.has(table) && !ours.has(table) && !SMALL.has(table),
    isOutsideTransaction: /^-- Transaction: none$/m.test(text),
    history,
    own: text.toLowerCase(),
  };
  return splitStatements(text).flatMap((statement) => {
    const [first = ''] = statement.split('\n');
    const line = text.slice(0, Math.max(0, text.indexOf(first))).split('\n').length;
    return RULES.map((rule) => rule(statement.toLowerCase(), context))
      .filter((sentence) => sentence !== undefined)
      .map((sentence) => ({ line, sentence }));
  });
}

/** The committed checksums of the landed migrations, next to the migrations. `sha256sum -c` reads this file. */
export const CHECKSUMS_FILE = 'server/store/migrations/checksums.txt';

const FOLDER = 'server/store/migrations';

type Migration = { readonly name: string; readonly checksum: string };

/** The SHA-256 of every migration of the project, by name. */
export function readMigrationChecksums(root: string): readonly Migration[] {
  const folder = join(root, FOLDER);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({
      name,
      checksum: createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    }));
}

/**
 * Returns one sentence for each difference between the migrations and their committed checksums. The service refuses
 * to start on a database that has applied a migration with other bytes. So a landed migration never changes and is
 * never removed.
 */
export function findChecksumProblems(committed: string, migrations: readonly Migration[]): readonly string[] {
  return parse(committed).flatMap(({ name, checksum }) => {
    const found = migrations.find((migration) => migration.name === name);
    if (found?.checksum === checksum) return [];
    return [
      `${FOLDER}/${name} was ${found === undefined ? 'removed' : 'changed'} after its checksum was committed. ` +
        'Restore it and put the change into a new migration. ' +
        `Only if it never left your clone: remove its line from ${CHECKSUMS_FILE} and run npm run generate.`,
    ];
  });
}

/** Adds the checksums of new migrations at the end. Existing lines never change. */
export function withNewChecksums(committed: string, migrations: readonly Migration[]): string {
  const known = new Set(parse(committed).map(({ name }) => name));
  const added = migrations.filter(({ name }) => !known.has(name)).map(({ name, checksum }) => `${checksum}  ${name}\n`);
  return committed + added.join('');
}

function parse(committed: string): readonly Migration[] {
  return committed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [checksum = '', name = ''] = line.split('  ');
      return { name, checksum };
    });
}
