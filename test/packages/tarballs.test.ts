import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { differences } from '../../tools/packages/release.ts';
import { copyClone, packedSdk, packedService, runAsUser, userEnvironment } from './packed.ts';

function newFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'transfer-service-tarballs-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('identical sources in a different folder give identical tarballs', async () => {
  const folder = newFolder();
  const copy = join(folder, 'a-clone-at-another-place');
  copyClone(copy);
  const env = { TZ: 'Asia/Kolkata', LC_ALL: 'C.UTF-8' };
  for (const [packed, cwd] of [
    [await packedService(), copy],
    [await packedSdk(), join(copy, 'sdk')],
  ] as const) {
    const { stdout, stderr } = await runAsUser('npm', ['pack', '--pack-destination', folder], { cwd, env });
    // npm would list all files.
    if (cwd === copy) expect(`${stdout}${stderr}`.trim().split('\n').length).toBeLessThanOrEqual(10);
    const [again = ''] = readdirSync(folder).filter((file) => packed.tarball.endsWith(`/${file}`));
    expect(differences(packed.tarball, join(folder, again))).toEqual([]);
  }
});

describe('two tarballs', () => {
  /** Creates a tarball of two files after a change. */
  async function pack(change: (folder: string) => void = () => undefined): Promise<string> {
    const folder = newFolder();
    writeFileSync(join(folder, 'package.json'), '{"name":"small","version":"1.0.0"}\n');
    writeFileSync(join(folder, 'README.md'), '# Small\n');
    change(folder);
    execFileSync('npm', ['pack'], { cwd: folder, env: userEnvironment(), stdio: 'ignore' });
    return join(folder, 'small-1.0.0.tgz');
  }

  test.each([
    ['nothing', () => undefined, []],
    [
      'a content',
      (folder: string) => writeFileSync(join(folder, 'README.md'), '# Large\n'),
      ['package/README.md has different content.'],
    ],
    [
      'a mode',
      (folder: string) => chmodSync(join(folder, 'README.md'), 0o755),
      ['package/README.md has a different mode, owner or time.'],
    ],
    [
      'a further file',
      (folder: string) => writeFileSync(join(folder, 'more.js'), ''),
      ['package/more.js is only in one of them.'],
    ],
  ])('show their differences: %s', async (_, change, sentences) => {
    expect(differences(await pack(), await pack(change))).toEqual(sentences);
  });
});
