import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { InvalidArgument } from '../../sdk/client.ts';
import { OutputFailure } from '../failure.ts';
import { printable } from '../output.ts';
import type { Session, Surroundings } from '../session.ts';

/** The options of an export. */
export type OutputOptions = { readonly output?: string };

type Target = { readonly path: string; readonly mode: number };

const NOTE = `
Without --output it goes to standard output. Only an exit code of 0 means that
it is whole. A file is there when all of it is there; until then an older one
stays as it is. What is exported is the same with --json.`;

/** Adds `--output`, and says what it means. */
export function addOutputOption(command: Command): Command {
  return command.option('--output <file>', 'write it to this file').addHelpText('after', NOTE);
}

/** Writes an export where it shall go. `begin` asks for it, after it is known that the file can be written. */
export async function showExport(
  session: Session,
  { output }: OutputOptions,
  surroundings: Surroundings,
  begin: () => Promise<AsyncIterable<string>>,
): Promise<void> {
  if (output === undefined || output === '-') {
    await surroundings.writeAll(await begin());
    return;
  }
  const target = await targetOf(output);
  try {
    const bytes = await saveWhole(output, target, begin);
    session.showText({ output, bytes }, `${bytes} bytes were written to ${printable(output)}.\n`);
  } catch (error) {
    // With --json standard error holds one JSON value, which is that of the failure.
    const isSaid = session.json || error instanceof OutputFailure;
    if (!isSaid) surroundings.writeError(`Nothing was written to ${printable(output)}.\n`);
    throw error;
  }
}

/** Writes to a name beside the file and renames at the end, so that the file never looks whole when it is not. */
async function saveWhole(output: string, target: Target, begin: () => Promise<AsyncIterable<string>>): Promise<number> {
  const unfinished = `${target.path}.${randomBytes(4).toString('hex')}.unfinished`;
  const handle = await onDisk(output, open(unfinished, 'wx', target.mode));
  const forget = removeWhenKilled(unfinished);
  try {
    const bytes = await fill(output, handle, begin);
    await onDisk(output, rename(unfinished, target.path));
    return bytes;
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  } finally {
    forget();
  }
}

async function fill(output: string, handle: FileHandle, begin: () => Promise<AsyncIterable<string>>): Promise<number> {
  let bytes = 0;
  try {
    for await (const text of await begin()) {
      await onDisk(output, handle.appendFile(text));
      bytes += Buffer.byteLength(text);
    }
    // Or a crash of the machine could leave the name without what it stands for.
    await onDisk(output, handle.sync());
  } finally {
    await handle.close();
  }
  return bytes;
}

/** The file behind a name. A device or a pipe cannot be put in place by renaming, and must not be replaced by it. */
async function targetOf(output: string): Promise<Target> {
  const path = await realpath(output).catch(() => output);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return { path, mode: 0o666 };
  if (found.isFile()) return { path, mode: found.mode & 0o777 };
  throw new InvalidArgument(`${printable(output)} is not a regular file; to write to it, use > instead of --output.`);
}

function onDisk<Value>(output: string, work: Promise<Value>): Promise<Value> {
  return work.catch((error: unknown) => {
    // Without the name of the file after the comma, which is not the one that was typed.
    const [reason] = error instanceof Error ? error.message.split(',') : [String(error)];
    throw new OutputFailure(`${printable(output)} cannot be written: ${reason}.`);
  });
}

/** Whoever ends the command while it writes must not find half a file either. Gives what calls this off. */
function removeWhenKilled(file: string): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const end = (signal: NodeJS.Signals): void => {
    rmSync(file, { force: true });
    // Nobody listens any more, so now it ends the process as it would have without this.
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.once(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}
