import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Canned, errorResponse, startCannedService } from '../sdk/canned-service.ts';
import { type Outcome, runHere } from './in-process.ts';

const CSV = 'transfer_id,note\r\ntr_1,ü\r\n';
const COMPLETE: Canned = { chunks: ['transfer_id,note\r\n', 'tr_1,ü\r\n'] };
const CUT: Canned = { chunks: ['transfer_id,note\r\n', 'tr_1,ü\r\n'], ends: 'cut' };
const REFUSED = errorResponse({ Status: 404, Code: 'card_not_found', Type: 'Request Error' });

const service = await startCannedService();
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'transfer-service-export-'));
  file = join(folder, 'out.csv');
});
afterEach(() => rmSync(folder, { recursive: true }));
afterAll(() => service.close());

function save(...more: string[]): Promise<Outcome> {
  return runHere(service.url, ['cards', 'export', 'card_1', '--output', file, ...more]);
}

describe('exports to standard output', () => {
  test.each(['transfers export', 'cards export card_1', 'cards export-postings card_1 --output -'])(
    '%s prints the export and nothing else',
    async (text) => {
      service.play(COMPLETE);
      expect(await runHere(service.url, text.split(' '))).toEqual({ exitCode: 0, output: CSV, errors: '' });
    },
  );

  test('exits with 4 if an export is cut off, and prints the request id', async () => {
    service.play(CUT);
    const { exitCode, output, errors } = await runHere(service.url, ['transfers', 'export']);
    expect({ exitCode, isBeginning: CSV.startsWith(output) }).toEqual({ exitCode: 4, isBeginning: true });
    expect(errors).toContain('The response is incomplete.\nRequest id: req_canned\n');
    expect(errors).not.toContain('Is the service running?');
  });

  test('with --json, reports in JSON that an export was cut off', async () => {
    service.play(CUT);
    const { errors } = await runHere(service.url, ['transfers', 'export', '--json']);
    expect(JSON.parse(errors)).toMatchObject({
      failure: 'incomplete_response',
      request_id: 'req_canned',
      money_moved: 'no',
    });
  });

  test('reports a refusal like every other command', async () => {
    service.play(REFUSED);
    const { exitCode, output, errors } = await runHere(service.url, ['cards', 'export', 'card_missing']);
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' });
    expect(errors).toContain('Code:        card_not_found (');
  });
});

describe('exports to a file', () => {
  test('leaves only the complete export in the folder', async () => {
    service.play(COMPLETE);
    const size = Buffer.byteLength(CSV);
    expect(await save()).toEqual({
      exitCode: 0,
      output: `Wrote ${size} bytes to ${file}.\n`,
      errors: '',
    });
    expect(readFileSync(file, 'utf8')).toBe(CSV);
    expect(readdirSync(folder)).toEqual(['out.csv']);
    service.play(COMPLETE);
    expect(JSON.parse((await save('--json')).output)).toEqual({ output: file, bytes: size });
  });

  test.each<[string, Canned, number]>([
    ['that is cut off', CUT, 4],
    ['that is cut off before its first line', { chunks: [], ends: 'cut' }, 4],
    ['that is rejected', REFUSED, 1],
    ['that is a page from a proxy', { status: 200, body: '<h1>Log in</h1>' }, 3],
  ])('leaves no file for an export %s, and reports this', async (_, canned, code) => {
    service.play(canned);
    const { exitCode, output, errors } = await save();
    expect({ exitCode, output }).toEqual({ exitCode: code, output: '' });
    expect(errors).toMatch(new RegExp(`^Nothing was written to ${file}\\.\n.`));
    expect(readdirSync(folder)).toEqual([]);
  });

  test('leaves an older file unchanged if an export is cut off', async () => {
    writeFileSync(file, 'older');
    service.play(CUT);
    const { exitCode, errors } = await save('--json');
    expect(exitCode).toBe(4);
    expect(JSON.parse(errors)).toMatchObject({ failure: 'incomplete_response' });
    expect(readdirSync(folder)).toEqual(['out.csv']);
    expect(readFileSync(file, 'utf8')).toBe('older');
  });

  test('replaces an older file, keeps its permissions and follows a link', async () => {
    writeFileSync(join(folder, 'real.csv'), 'older', { mode: 0o600 });
    symlinkSync('real.csv', file);
    service.play(COMPLETE);
    expect(await save()).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(folder, 'real.csv'), 'utf8')).toBe(CSV);
    expect(statSync(join(folder, 'real.csv')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).sort()).toEqual(['out.csv', 'real.csv']);
  });

  test('exits with 5 without a request if it cannot create the file', async () => {
    service.play(COMPLETE);
    file = join(folder, 'missing', 'out.csv');
    const { exitCode, output, errors } = await save();
    expect({ exitCode, output }).toEqual({ exitCode: 5, output: '' });
    expect(errors).toBe(`error: ${file} cannot be written: ENOENT: no such file or directory.\n`);
    expect(service.received).toEqual([]);
  });

  test.each(['/dev/null', '.'])('refuses to replace %s, which is not a regular file', async (output) => {
    service.play(COMPLETE);
    file = output;
    const { exitCode, errors } = await save();
    expect(exitCode).toBe(2);
    expect(errors).toContain('is not a regular file; to write to it, use > instead of --output.');
    expect(statSync(output).isFile()).toBe(false);
    expect(service.received).toEqual([]);
  });

  test('the help explains when the file appears', async () => {
    for (const command of ['transfers', 'cards']) {
      const { output } = await runHere(service.url, [command, 'export', '--help']);
      expect(output).toContain('--output <file>');
      expect(output.replaceAll(/\s+/g, ' ')).toContain(
        'The file is created, or replaced, only when the export is complete.',
      );
    }
  });
});
