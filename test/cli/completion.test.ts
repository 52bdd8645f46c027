import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { commandWords, completionScript, flagsWithValue, SHELLS, type Shell } from '../../cli/commands/completion.ts';
import { buildProgram } from '../../cli/program.ts';
import { runHere } from './in-process.ts';
import { isInstalled, openTerminal } from './terminal.ts';

const folder = mkdtempSync(join(tmpdir(), 'transfer-service-completion-'));
const fileOf = (shell: Shell) => join(folder, `completion.${shell}`);
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Returns why a shell is not tested, or undefined if it is. bash is on every machine. The other shells are tested if
 * they are installed.
 */
function whyNotRun(shell: Shell): string | undefined {
  if (shell === 'bash' || (isInstalled(shell) && isInstalled('script'))) return undefined;
  return `${shell} is not installed`;
}

beforeAll(async () => {
  for (const shell of SHELLS) {
    const { exitCode, output } = await runHere('http://127.0.0.1:1', ['completion', shell]);
    expect(exitCode).toBe(0);
    writeFileSync(fileOf(shell), output);
  }
});

/** For each shell, a function that returns the completions the shell offers for a line with an incomplete last word. */
const COMPLETE: Readonly<Record<Shell, (line: string, offered: readonly string[]) => Promise<string>>> = {
  bash: async (line) => {
    const words = line.split(' ').map((word) => `'${word}'`);
    const script = `source ${fileOf('bash')}; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}
      _transfer_service; echo "\${COMPREPLY[*]}"`;
    return execFileSync('bash', ['--norc', '--noprofile', '-c', script], { encoding: 'utf8' });
  },
  fish: async (line) =>
    execFileSync('fish', ['--no-config', '-c', `source ${fileOf('fish')}; complete -C '${line}'`], {
      encoding: 'utf8',
      env: { ...process.env, HOME: folder },
    }),
  zsh: async (line, offered) => {
    // zsh completes only at its own prompt.
    const terminal = openTerminal('zsh -f -i', { HOME: folder, PS1: '> ' });
    try {
      terminal.type(`autoload -Uz compinit; compinit -u -D; source ${fileOf('zsh')}; echo READY$((1+1))\n`);
      await vi.waitFor(() => expect(terminal.shown()).toContain('READY2'), 120_000);
      const before = terminal.shown().length;
      // Ctrl-D at the end of a line lists the completions without inserting anything.
      terminal.type(`${line}\u0004`);
      const listed = () => terminal.shown().slice(before).replace(line, '');
      await vi.waitFor(() => {
        for (const word of offered) expect(listed()).toContain(word);
      }, 120_000);
      return listed();
    } finally {
      terminal.close();
    }
  },
};

describe.each(SHELLS)('%s completes', (shell) => {
  test.for<[string, readonly string[], readonly string[]]>([
    ['transfer-service tr', ['transfers', 'trial-balance'], ['cards']],
    ['transfer-service --json transfers cr', ['create', 'create-batch'], ['cancel']],
    ['transfer-service --url http://x transfers create --am', ['--amount'], ['--card']],
    ['transfer-service transfers create --type ', ['load', 'unload', 'card_to_card'], ['--card']],
    ['transfer-service sandbox database ', ['stop', 'start'], ['reset']],
    ['transfer-service completion ', ['bash', 'zsh', 'fish'], ['cards']],
  ])('%s', async ([line, offered, not], { task, skip }) => {
    const notRun = whyNotRun(shell);
    if (notRun !== undefined) {
      Object.assign(task.meta, { notRun });
      skip(notRun);
    }
    const found = await COMPLETE[shell](line, offered);
    for (const word of offered) expect(found).toContain(word);
    for (const word of not) expect(found).not.toContain(word);
  });
});

test('a flag takes a value in every command or in none, because the scripts rely on this', () => {
  const ignore = () => undefined;
  const words = commandWords(
    buildProgram({
      environment: { url: '', key: undefined, program: undefined, webhookSecret: undefined, isRunByNpm: false },
      write: ignore,
      writeAll: async () => undefined,
      writeError: ignore,
      untilEnded: () => new AbortController().signal,
      exitWith: ignore,
      confirm: undefined,
    }),
  );
  const valued = new Set(flagsWithValue(words));
  const plain = words.flatMap(({ options }) => options.filter(({ takesValue }) => !takesValue));
  expect(plain.filter(({ flag }) => valued.has(flag))).toEqual([]);
  expect(completionScript('zsh', words)).toMatch(/^#compdef transfer-service\n/);
});
