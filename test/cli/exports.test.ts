import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Canned, type CannedService, errorAnswer, startCannedService } from '../sdk/canned-service.ts';
import { type Outcome, runHere } from './in-process.ts';

const CSV = 'transfer_id,note\r\ntr_1,ü\r\n';
const WHOLE: Canned = { pieces: ['transfer_id,note\r\n', 'tr_1,ü\r\n'] };
const CUT: Canned = { pieces: ['transfer_id,note\r\n', 'tr_1,ü\r\n'], ends: 'cut' };
const REFUSED = errorAnswer({ Status: 404, Code: 'card_not_found', Type: 'Request Error' });

let service: CannedService;
let folder: string;
let file: string;
beforeAll(async () => {
  service = await startCannedService();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'transfer-service-export-'));
  file = join(folder, 'out.csv');
});
afterEach(() => rmSync(folder, { recursive: true }));
afterAll(() => service.close());

function save(...more: string[]): Promise<Outcome> {
  return runHere(service.url, ['cards', 'export', 'card_1', '--output', file, ...more]);
}

describe('to standard output', () => {
  test.each(['transfers export', 'cards export card_1', 'cards export-postings card_1 --output -'])(
    '%s prints what comes, and nothing else',
    async (text) => {
      service.play(WHOLE);
      expect(await runHere(service.url, text.split(' '))).toEqual({ exitCode: 0, output: CSV, errors: '' });
    },
  );

  test('what breaks off ends with 4, and says that it is not whole and by what to ask support', async () => {
    service.play(CUT);
    const { exitCode, output, errors } = await runHere(service.url, ['transfers', 'export']);
    expect({ exitCode, isBeginning: CSV.startsWith(output) }).toEqual({ exitCode: 4, isBeginning: true });
    expect(errors).toContain('The response is incomplete.\nRequest id: req_canned\n');
    expect(errors).not.toContain('Is the service running?');
  });

  test('what breaks off is named for machines', async () => {
    service.play(CUT);
    const { errors } = await runHere(service.url, ['transfers', 'export', '--json']);
    expect(JSON.parse(errors)).toMatchObject({
      failure: 'incomplete_answer',
      request_id: 'req_canned',
      money_moved: 'no',
    });
  });

  test('a refusal is reported as for every command', async () => {
    service.play(REFUSED);
    const { exitCode, output, errors } = await runHere(service.url, ['cards', 'export', 'card_missing']);
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' });
    expect(errors).toContain('Code:        card_not_found\n');
  });
});

describe('to a file', () => {
  test('a whole export is there under its name, and nothing beside it', async () => {
    service.play(WHOLE);
    const size = Buffer.byteLength(CSV);
    expect(await save()).toEqual({
      exitCode: 0,
      output: `${size} bytes were written to ${file}.\n`,
      errors: '',
    });
    expect(readFileSync(file, 'utf8')).toBe(CSV);
    expect(readdirSync(folder)).toEqual(['out.csv']);
    service.play(WHOLE);
    expect(JSON.parse((await save('--json')).output)).toEqual({ output: file, bytes: size });
  });

  test.each<[string, Canned, number]>([
    ['that breaks off', CUT, 4],
    ['that breaks off before its first line', { pieces: [], ends: 'cut' }, 4],
    ['that is refused', REFUSED, 1],
    ['that is a page of something in between', { status: 200, body: '<h1>Log in</h1>' }, 3],
  ])('an export %s leaves none, and says so', async (_, canned, code) => {
    service.play(canned);
    const { exitCode, output, errors } = await save();
    expect({ exitCode, output }).toEqual({ exitCode: code, output: '' });
    expect(errors).toMatch(new RegExp(`^Nothing was written to ${file}\\.\n.`));
    expect(readdirSync(folder)).toEqual([]);
  });

  test('an export that breaks off leaves an older file as it was', async () => {
    writeFileSync(file, 'older');
    service.play(CUT);
    const { exitCode, errors } = await save('--json');
    expect(exitCode).toBe(4);
    expect(JSON.parse(errors)).toMatchObject({ failure: 'incomplete_answer' });
    expect(readdirSync(folder)).toEqual(['out.csv']);
    expect(readFileSync(file, 'utf8')).toBe('older');
  });

  test('a whole export takes the place of an older file, with its permissions and through a link', async () => {
    writeFileSync(join(folder, 'real.csv'), 'older', { mode: 0o600 });
    symlinkSync('real.csv', file);
    service.play(WHOLE);
    expect(await save()).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(folder, 'real.csv'), 'utf8')).toBe(CSV);
    expect(statSync(join(folder, 'real.csv')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).sort()).toEqual(['out.csv', 'real.csv']);
  });

  test('a file that cannot be made ends with 5 before the service is asked', async () => {
    service.play(WHOLE);
    file = join(folder, 'missing', 'out.csv');
    const { exitCode, output, errors } = await save();
    expect({ exitCode, output }).toEqual({ exitCode: 5, output: '' });
    expect(errors).toBe(`error: ${file} cannot be written: ENOENT: no such file or directory.\n`);
    expect(service.received).toEqual([]);
  });

  test.each(['/dev/null', '.'])('%s is no file that could be put in place, and stays what it is', async (output) => {
    service.play(WHOLE);
    file = output;
    const { exitCode, errors } = await save();
    expect(exitCode).toBe(2);
    expect(errors).toContain('is not a regular file; to write to it, use > instead of --output.');
    expect(statSync(output).isFile()).toBe(false);
    expect(service.received).toEqual([]);
  });

  test('the help says what a file that is there means', async () => {
    for (const command of ['transfers', 'cards']) {
      const { output } = await runHere(service.url, [command, 'export', '--help']);
      expect(output).toContain('--output <file>');
      expect(output.replaceAll(/\s+/g, ' ')).toContain('A file is there when all of it is there');
    }
  });
});
