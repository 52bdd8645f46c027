import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { buildProgram } from '../../cli/program.ts';
import { runHere } from './in-process.ts';

// People follow the runbook during an incident, so its commands must exist.

const FOLDER = resolve(import.meta.dirname, '../../docs/runbook');
const PAGES = readdirSync(FOLDER).map((file) => [file, readFileSync(join(FOLDER, file), 'utf8')] as const);

function program(): Command {
  const ignore = () => undefined;
  const environment = {
    url: 'http://127.0.0.1:8080',
    key: undefined,
    program: undefined,
    webhookSecret: undefined,
    isRunByNpm: false,
  };
  const writeAll = async () => undefined;
  const untilEnded = () => new AbortController().signal;
  return buildProgram({
    environment,
    write: ignore,
    writeAll,
    writeError: ignore,
    untilEnded,
    exitWith: ignore,
    confirm: undefined,
  });
}

/** Returns the problem of a command line, or undefined if the command and its options exist. */
function problemOf(words: readonly string[]): string | undefined {
  let command = program();
  const options = [...command.options];
  for (const word of words) {
    if (word.startsWith('--')) {
      options.push(...command.options);
      if (word !== '--help' && !options.some(({ long }) => long === word.split('=')[0])) return `no option ${word}`;
      continue;
    }
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined && command.commands.length > 0 && command.registeredArguments.length === 0)
      return `no command ${word}`;
    command = next ?? command;
  }
  return undefined;
}

test.each(PAGES)('every command of %s exists', (_file, text) => {
  const typed = [...text.matchAll(/npx transfer-service ([^`\n]+)/g)].map(([, line = '']) => line.trim().split(/\s+/));
  expect(typed.map(problemOf).filter((problem) => problem !== undefined)).toEqual([]);
});

test.each(PAGES)('every link of %s leads to a file', (_file, text) => {
  const links = [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
  const local = links.filter((path) => !path.startsWith('https://'));
  for (const path of local) expect(() => readFileSync(resolve(FOLDER, path))).not.toThrow();
});

test("runbook shows only the runbook's pages, and needs no service", async () => {
  const nowhere = 'http://127.0.0.1:1';
  for (const [file, text] of PAGES)
    expect(await runHere(nowhere, ['runbook', file.replace(/\.md$/, '')])).toMatchObject({ exitCode: 0, output: text });
  for (const page of ['unknown', '../deploy', 'disk-full.md', ''])
    expect(await runHere(nowhere, ['runbook', page])).toMatchObject({ exitCode: 2, output: '' });
});
