import { rmSync } from 'node:fs';
import { type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { printable } from '../../domain/printable-text.ts';
import { InvalidArgument } from '../../sdk/client.ts';
import type { OptionsFor } from '../command.ts';
import { OutputFailure } from '../failure.ts';
import type { Session } from '../session.ts';

export type OutputOption = { readonly output?: string; readonly raw?: boolean };

export const OUTPUT_OPTION: OptionsFor<OutputOption> = {
  output: { flag: '--output <file>', help: 'write the export to this file' },
  raw: { flag: '--raw', help: 'export text unchanged, for programs' },
};

type Target = { readonly path: string; readonly mode: number };

export const EXPORT_NOTES = `
The default output is standard output. The export is complete only if the exit
code is 0. The file is created, or replaced, only when the export is complete.
Text that a spreadsheet would take for a formula gets a leading apostrophe,
unless --raw is given. --json does not change the exported text.`;

/** Writes an export to a file or to standard output. `begin` requests it, after the file is known to be writable. */
export async function showExport(
  session: Session,
  output: string | undefined,
  begin: () => Promise<AsyncIterable<string>>,
): Promise<void> {
  if (output === undefined || output === '-') return session.writeAll(await begin());
  const target = await targetOf(output);
  try {
    const bytes = await saveComplete(output, target, begin);
    session.showText({ output, bytes }, `Wrote ${bytes} bytes to ${printable(output)}.\n`);
  } catch (error) {
    // With --json, standard error must contain only one JSON value: the failure.
    const isReported = session.json || error instanceof OutputFailure;
    if (!isReported) session.writeError(`Nothing was written to ${printable(output)}.\n`);
    throw error;
  }
}

/** Writes to a temporary file in the same folder and renames it at the end, so that the file is always complete. */
async function saveComplete(
  output: string,
  target: Target,
  begin: () => Promise<AsyncIterable<string>>,
): Promise<number> {
  const unfinished = `${target.path}.${crypto.randomUUID().slice(0, 8)}.unfinished`;
  const handle = await onDisk(output, open(unfinished, 'wx', target.mode));
  const removeListeners = removeWhenKilled(unfinished);
  try {
    const bytes = await fill(output, handle, begin);
    await onDisk(output, rename(unfinished, target.path));
    return bytes;
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  } finally {
    removeListeners();
  }
}

async function fill(output: string, handle: FileHandle, begin: () => Promise<AsyncIterable<string>>): Promise<number> {
  let bytes = 0;
  try {
    for await (const text of await begin()) {
      await onDisk(output, handle.appendFile(text));
      bytes += Buffer.byteLength(text);
    }
    // Otherwise a machine crash after the rename could leave an empty file.
    await onDisk(output, handle.sync());
  } finally {
    await handle.close();
  }
  return bytes;
}

/** Finds the file to write. Refuses a device or a pipe, because renaming the finished file would replace it. */
async function targetOf(output: string): Promise<Target> {
  const path = await realpath(output).catch(() => output);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return { path, mode: 0o666 };
  if (found.isFile()) return { path, mode: found.mode & 0o777 };
  throw new InvalidArgument(`${printable(output)} is not a regular file; to write to it, use > instead of --output.`);
}

function onDisk<Value>(output: string, work: Promise<Value>): Promise<Value> {
  return work.catch((error: unknown) => {
    // The text after the comma names the temporary file, so it is left out.
    const [reason] = error instanceof Error ? error.message.split(',') : [String(error)];
    throw new OutputFailure(`${printable(output)} cannot be written: ${reason}.`);
  });
}

/** Removes the file if a signal ends the process. Returns a function that removes the listeners. */
function removeWhenKilled(file: string): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const end = (signal: NodeJS.Signals): void => {
    rmSync(file, { force: true });
    // The listener is gone, so the signal now ends the process.
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.once(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}
