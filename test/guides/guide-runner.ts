import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type GuideListing =
  | { readonly kind: 'file'; readonly line: number; readonly name: string; readonly text: string }
  | { readonly kind: 'command'; readonly line: number; readonly command: string; readonly shown: readonly string[] }
  | { readonly kind: 'output'; readonly line: number; readonly shown: readonly string[] };

/** Returns the files, commands and output that a guide shows, in order. */
export function readListings(text: string): readonly GuideListing[] {
  const lines = text.split('\n');
  const fences = lines.flatMap((line, at) => (line.startsWith('```') ? [at] : []));
  return fences.flatMap((at, index): GuideListing[] => {
    const end = fences[index + 1];
    if (index % 2 === 1 || end === undefined) return [];
    const content = lines.slice(at + 1, end);
    const language = lines[at]?.slice(3) ?? '';
    if (language !== '') {
      const name = /`([a-zA-Z-]+\.[a-z]+)`/.exec(lines.slice(0, at).findLast((line) => line.trim() !== '') ?? '')?.[1];
      return name === undefined ? [] : [{ kind: 'file', line: at + 2, name, text: `${content.join('\n')}\n` }];
    }
    return commandsIn(content, at + 2);
  });
}

function commandsIn(content: readonly string[], line: number): GuideListing[] {
  const listings: (GuideListing & { readonly shown: string[] })[] = [];
  for (let at = 0; at < content.length; at += 1) {
    const text = content[at] ?? '';
    const last = listings.at(-1);
    if (!text.startsWith('$ ')) {
      if (last === undefined) return [{ kind: 'output', line, shown: content }];
      last.shown.push(text);
      continue;
    }
    const begun = at;
    let command = text.slice(2);
    while (!isWhole(command) && at + 1 < content.length) {
      at += 1;
      command += `\n${content[at]}`;
    }
    listings.push({ kind: 'command', line: line + begun, command, shown: [] });
  }
  return listings;
}

/** Returns whether a command is complete: every quote is closed, and the line does not end with a backslash. */
function isWhole(command: string): boolean {
  return !command.endsWith('\\') && !/['"]/.test(command.replaceAll(/'[^']*'|"[^"]*"/g, ''));
}

type Program = { readonly child: ChildProcess; readonly ended: Promise<number | null>; output: string };

/** Runs the commands of a guide in a shell, in the reader's folder. */
export class GuideRunner {
  readonly #folder: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #programs: Program[] = [];

  constructor(folder: string, environment: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.#environment = environment;
  }

  get output(): string {
    return this.#programs.map(({ output }) => output).join('');
  }

  save(name: string, text: string): void {
    writeFileSync(join(this.#folder, name), text);
  }

  start(command: string): Program {
    const env = { PATH: process.env.PATH ?? '', ...this.#environment };
    // Runs in a separate process group, so that it ends with all its children.
    const child = spawn('sh', ['-c', command], {
      cwd: this.#folder,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const program: Program = { child, ended, output: '' };
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        program.output += text;
      });
    }
    this.#programs.push(program);
    return program;
  }

  /**
   * Ends every running process, starting with the last one. A service stops its database when it ends, but the database would
   * keep running after a SIGKILL.
   */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    for (const { child, ended } of this.#programs.toReversed()) {
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
        process.kill(-child.pid, signal);
      await ended;
    }
  }
}

/**
 * Returns the lines of a guide that are missing in an output. Ids, times and durations may differ, and `…` matches
 * anything.
 */
export function missingIn(output: string, shown: readonly string[]): readonly string[] {
  const lines = output.split('\n').map(plain);
  return shown.filter((line) => {
    const parts = plain(line)
      .split('…')
      .map((part) => RegExp.escape(part));
    const pattern = new RegExp(`^${parts.join('.*')}$`);
    return line.trim() !== '' && !lines.some((one) => pattern.test(one));
  });
}

function plain(line: string): string {
  return line
    .replaceAll(/\d{4}-\d\d-\d\d(T[0-9:.]+Z| [0-9:]+ UTC)/g, 'TIME')
    .replaceAll(/\b\d+ ms\b/g, 'N ms')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
