import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readMigrations } from '../../server/store/migrations/migration-files.ts';
import { root } from '../../tools/command.ts';
import {
  CHECKSUMS_FILE,
  findChecksumProblems,
  readMigrationChecksums,
  withNewChecksums,
} from '../../tools/migration-rules.ts';
import { listPaths } from '../../tools/tidy.ts';

const committed = readFileSync(join(root, CHECKSUMS_FILE), 'utf8');

describe('landed migrations', () => {
  test('have the committed checksums', () => {
    expect(findChecksumProblems(committed, readMigrationChecksums(root))).toEqual([]);
    expect(withNewChecksums(committed, readMigrationChecksums(root))).toBe(committed);
  });

  test('have the same bytes as in the releases, up to 0.1.0', () => {
    const first = committed.split('\n').slice(0, RELEASED.length);
    expect(first.map((line) => line.slice(0, 8))).toEqual(RELEASED);
  });

  test('allow 0.1.0 to run after all later migrations, so that an upgrade can be reverted', async () => {
    const newest = String(RELEASED.length).padStart(4, '0');
    const later = (await readMigrations()).slice(RELEASED.length);
    expect(later.filter(({ needs }) => needs > newest)).toEqual([]);
  });
});

/** The first digits of the checksums of 0001 to 0021, which are not in the file that the test above uses. */
const RELEASED: readonly string[] = [
  'beb933f6',
  'ed259fd6',
  'abaf81c4',
  '17f83df2',
  '16e72725',
  'bb3a7917',
  '9ef3c59b',
  '0861d47a',
  '4e70e58d',
  'cf110c03',
  '1b2e8e6f',
  'e89fab76',
  '6937361e',
  '496cfa79',
  'bccc9e28',
  '5d8c96c3',
  '7762a4b4',
  '62226b63',
  '5a55a78c',
  '08f3fda7',
  'bf87af7b',
];

describe('npm run generate, on a copy of the project', () => {
  let copy = '';
  const file = (path: string) => join(copy, path);
  const generate = (...more: string[]) =>
    spawnSync(process.execPath, [file('tools/generate.ts'), ...more], { cwd: copy, encoding: 'utf8' });

  beforeEach(() => {
    copy = mkdtempSync(join(tmpdir(), 'transfer-service-checksums-'));
    for (const path of listPaths(root)) cpSync(join(root, path), file(path));
    symlinkSync(join(root, 'node_modules'), file('node_modules'));
  });
  afterEach(() => rmSync(copy, { recursive: true, force: true }));

  test('refuses an edited or removed migration, and keeps its checksum', () => {
    const migration = file('server/store/migrations/0003_holds_and_limits.sql');
    writeFileSync(migration, `${readFileSync(migration, 'utf8')}\n-- edited\n`);
    unlinkSync(file('server/store/migrations/0006_audit_positions.sql'));
    for (const more of [[], ['--check']]) {
      const { status, stderr } = generate(...more);
      expect(status).toBe(1);
      expect(stderr).toContain('0003_holds_and_limits.sql was changed after its checksum was committed');
      expect(stderr).toContain('0006_audit_positions.sql was removed after its checksum was committed');
    }
    expect(readFileSync(file(CHECKSUMS_FILE), 'utf8')).toBe(committed);
  });

  test('adds the checksum of a new migration at the end', () => {
    writeFileSync(file('server/store/migrations/9999_new.sql'), 'select 1;\n');
    expect(generate('--check').status).toBe(1);
    expect(generate().status).toBe(0);
    const text = readFileSync(file(CHECKSUMS_FILE), 'utf8');
    expect(text.startsWith(committed)).toBe(true);
    expect(text.slice(committed.length)).toMatch(/^[0-9a-f]{64} {2}9999_new\.sql\n$/);
    expect(generate('--check').status).toBe(0);
  });
});
