import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Copy, copyName, type Manifest, segmentsOf, sumOf } from './manifest.ts';
import { type Candidate, planRestore, surveyBackups } from './restore-plan.ts';
import { followChain, segmentName } from './wal-files.ts';

const made: string[] = [];
afterEach(async () => {
  for (const path of made.splice(0)) await rm(path, { recursive: true });
});

/** Returns the manifest of a copy from a day of January 2020. The copy needs only the WAL file with this number. */
function manifestOf(day: number, number: number): Manifest {
  const file = `0/${number.toString(16).toUpperCase()}000`;
  const endedAt = new Date(Date.UTC(2020, 0, day)).toISOString();
  return {
    format: 1,
    systemIdentifier: '1',
    postgresVersion: 18,
    timeline: 1,
    startPosition: `${file}028`,
    stopPosition: `${file}158`,
    startedAt: endedAt,
    endedAt,
    bytes: 1,
    directories: [],
    files: [],
  };
}

const walOf = (...numbers: readonly number[]): ReadonlySet<string> =>
  new Set(numbers.map((number) => segmentName({ timeline: 1, number })));

function candidateOf(day: number, number: number, names: ReadonlySet<string>): Candidate {
  const manifest = manifestOf(day, number);
  const copy: Copy = { name: `${day}`, path: `/backup/base/${day}`, manifest, problem: undefined };
  return { copy, manifest, chain: followChain(names, segmentsOf(manifest).first, 1, []) };
}

function surveyOf(numbers: readonly number[], ...firsts: readonly number[]) {
  const candidates = firsts.map((first, index) => candidateOf(index + 1, first, walOf(...numbers)));
  return { copies: candidates.map(({ copy }) => copy), timeline: 1, state: undefined, candidates };
}

const namesOf = (candidates: readonly Candidate[]) => candidates.map(({ copy }) => copy.name);

test('restores the latest time only from copies that have no gap after them', () => {
  const plan = planRestore(surveyOf([2, 3, 8, 9, 10], 2, 8, 10), undefined);
  expect(namesOf(plan.candidates)).toEqual(['3', '2']);
  expect(plan.beforeGap?.copy.name).toBe('1');
  const whole = planRestore(surveyOf([2, 3, 4, 5], 2, 4), undefined);
  expect([namesOf(whole.candidates), whole.beforeGap]).toEqual([['2', '1'], undefined]);
});

test('refuses the latest time if a gap follows the newest copy', () => {
  expect(() => planRestore(surveyOf([2, 3, 8, 9, 11], 2, 8), undefined)).toThrow(
    'The WAL file 00000001000000000000000A is missing',
  );
});

test('restores a time from any copy before it, newest first', () => {
  const survey = surveyOf([2, 3, 8, 9], 2, 8);
  expect(namesOf(planRestore(survey, new Date(Date.UTC(2020, 0, 1, 12))).candidates)).toEqual(['1']);
  expect(namesOf(planRestore(survey, new Date(Date.UTC(2020, 0, 3))).candidates)).toEqual(['2', '1']);
});

test('does not restore the latest time from an older copy if the WAL of the newest copy is missing', async () => {
  const path = await mkdtemp(join(tmpdir(), 'transfer-service-plan-'));
  made.push(path);
  const [wal, base] = [join(path, 'wal'), join(path, 'base')];
  await mkdir(wal);
  for (const name of walOf(2, 3)) await writeFile(join(wal, name), '');
  for (const [day, number] of [
    [1, 2],
    [8, 8],
  ] as const) {
    const copy = join(base, copyName(new Date(Date.UTC(2020, 0, day))));
    await mkdir(copy, { recursive: true });
    const text = JSON.stringify(manifestOf(day, number));
    await writeFile(join(copy, 'manifest.json'), text);
    await writeFile(join(copy, 'manifest.sha256'), sumOf(text));
  }
  const survey = await surveyBackups({ path, wal, base });
  expect(() => planRestore(survey, undefined)).toThrow('The WAL file 000000010000000000000004 is missing');
});
