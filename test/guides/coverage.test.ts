import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../cli/program.ts';
import { CARD_STATUS_CODES } from '../../domain/cards/card.ts';
import { GUIDES } from '../../server/pages/guides/guide-list.ts';
import { EXEMPTIONS, exemptionOf } from './exemptions.ts';
import { GUIDES_BY_MEMBER } from './guide-reader.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const TEXTS = GUIDES.map(({ slug, file }) => ({ slug, file, text: readFileSync(join(ROOT, file), 'utf8') }));

/** Matches the first word of a command that a reader types. */
const TYPED = /^(?:[A-Z_]+=\S+ )*(npx|npm|node|curl|sh|git|psql|transfer-service|systemctl|apt-get|docker|podman)\b/;

type Found = { readonly line: number; readonly command: string; readonly isRun: boolean };

/**
 * Returns the commands in the listings of a guide. A listing in `sh` that is not a file counts as one command and is
 * identified by its first line. No test runs such a listing, so it needs an exemption.
 */
function commandsOf(text: string): readonly Found[] {
  const lines = text.split('\n');
  const fences = lines.flatMap((line, at) => (line.startsWith('```') ? [at] : []));
  return fences.flatMap((at, index): readonly Found[] => {
    const end = fences[index + 1];
    if (index % 2 === 1 || end === undefined) return [];
    const language = lines[at]?.slice(3) ?? '';
    const content = lines.slice(at + 1, end);
    const above = lines.slice(0, at).findLast((line) => line.trim() !== '') ?? '';
    if (language === 'sh' || language === 'bash') {
      const isFile = /`[a-zA-Z-]+\.[a-z]+`/.test(above);
      const onlyAssigns = content.every((line) => /^([A-Z_]+=\S+)?$/.test(line));
      return isFile || onlyAssigns ? [] : [{ line: at + 2, command: content[0] ?? '', isRun: false }];
    }
    if (language !== '') return [];
    return content.flatMap((line, offset): readonly Found[] => {
      if (line.startsWith('$ ')) return [{ line: at + 2 + offset, command: line.slice(2), isRun: true }];
      return TYPED.test(line) ? [{ line: at + 2 + offset, command: line, isRun: false }] : [];
    });
  });
}

it.each(CARD_STATUS_CODES)('the support playbook explains %s, and what to tell a cardholder', (code) => {
  const playbook = TEXTS.find(({ slug }) => slug === 'support-playbook')?.text ?? '';
  expect(playbook.match(new RegExp(`^\\| [^|]*\`${code}\``, 'gm'))?.length).toBeGreaterThanOrEqual(2);
});

describe.each(TEXTS)('$file', ({ slug, text }) => {
  const commands = commandsOf(text);
  const isByMember = GUIDES_BY_MEMBER.includes(slug);

  it('has only commands that a test runs', () => {
    const missing = commands.filter(
      ({ command, isRun }) => !isRun && !isByMember && exemptionOf(slug, command) === undefined,
    );
    expect(missing.map(({ line, command }) => `line ${line}: ${command}`)).toEqual([]);
  });

  it('has a test if it has commands to run', () => {
    const isRun = commands.some((one) => one.isRun && exemptionOf(slug, one.command) === undefined);
    const hasTest = globSync(`**/${slug}.test.ts`, { cwd: import.meta.dirname }).length === 1;
    expect(!isRun || isByMember || hasTest).toBe(true);
  });

  it('names only commands that exist', () => {
    const typed = [...text.matchAll(/npx transfer-service ([^`\n|;]+)/g)].map(([, line = '']) =>
      line.trim().split(/\s+/),
    );
    expect(typed.map(problemOf).filter((problem) => problem !== undefined)).toEqual([]);
  });

  it('has `npx` before typed commands', () => {
    expect(text.split('\n').filter((line) => /^(\$ )?transfer-service /.test(line))).toEqual([]);
  });
});

it('every exemption is needed', () => {
  const all = TEXTS.flatMap(({ slug, text }) => commandsOf(text).map(({ command }) => `${slug}: ${command}`));
  expect(EXEMPTIONS.map(({ guide, command }) => `${guide}: ${command}`).filter((one) => !all.includes(one))).toEqual(
    [],
  );
});

it('every exemption gives a reason, and names what checks the command instead', () => {
  for (const { reason, checkedBy } of EXEMPTIONS) {
    expect(reason.length).toBeGreaterThan(10);
    const [, file] = /^((?:test|tools)\/[a-z/.-]+)/.exec(checkedBy) ?? [];
    if (file !== undefined) expect(existsSync(join(ROOT, file)), file).toBe(true);
  }
});

const ignore = (): void => undefined;
const PROGRAM = buildProgram({
  environment: {
    url: 'http://127.0.0.1:8080',
    key: undefined,
    program: undefined,
    webhookSecret: undefined,
    isRunByNpm: true,
  },
  write: ignore,
  writeAll: async () => undefined,
  writeError: ignore,
  untilEnded: () => new AbortController().signal,
  exitWith: ignore,
  confirm: undefined,
});

/** Returns the problem of a command line, or undefined if the command and its options exist. */
function problemOf(words: readonly string[]): string | undefined {
  let command: Command = PROGRAM;
  const options = [...command.options];
  for (const word of words) {
    if (word === '…' || word === '#') return undefined;
    if (word.startsWith('--')) {
      options.push(...command.options);
      const isKnown = options.some(({ long }) => long === word.split('=')[0]?.replace(/[.,:)]$/, ''));
      if (word !== '--help' && word !== '--version' && !isKnown) return `no option ${word} in: ${words.join(' ')}`;
      continue;
    }
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined && command.commands.length > 0 && command.registeredArguments.length === 0)
      return `no command ${word} in: ${words.join(' ')}`;
    command = next ?? command;
  }
  return undefined;
}
