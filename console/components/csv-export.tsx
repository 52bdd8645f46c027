import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { CallOptions, TextChunks, TransferService } from '../../sdk/client.ts';
import { client } from '../data/client.ts';
import { useProgramId } from '../data/program.ts';
import { formatCount } from '../format/amounts.ts';
import { Button } from './button.tsx';
import { ErrorRecord } from './error-record.tsx';

/** A button that saves an export as a file, and a note on its progress. `things` names the lines, in the plural. */
export function useCsvExport(
  fileName: string,
  things: string,
  call: (api: TransferService, options: CallOptions) => Promise<TextChunks>,
): { readonly button: JSX.Element; readonly note: JSX.Element } {
  const { state, save, cancel } = useCsv(fileName);
  const button =
    state.kind === 'reading' ? (
      <Button onClick={cancel}>Stop the export</Button>
    ) : (
      <Button onClick={() => void save(call)}>Save as CSV</Button>
    );
  return { button, note: <CsvNote state={state} things={things} /> };
}

function CsvNote({ state, things }: { readonly state: CsvState; readonly things: string }) {
  if (state.kind === 'failed') {
    return (
      <div>
        <p>Nothing was saved: the export was cut off.</p>
        <ErrorRecord error={state.error} />
      </div>
    );
  }
  const text =
    state.kind === 'reading'
      ? `Reading: ${formatCount(state.lines)} ${things} so far…`
      : state.kind === 'saved'
        ? `Saved ${formatCount(state.lines)} ${things}.`
        : '';
  return (
    <p class={text === '' ? 'hidden' : 'quiet'} role="status">
      {text}
    </p>
  );
}

type CsvState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'reading'; readonly lines: number }
  | { readonly kind: 'saved'; readonly lines: number }
  | { readonly kind: 'failed'; readonly error: Error };

/** Longer text goes to the browser in parts. The browser may keep them on disk. */
const MAX_TEXT_LENGTH = 1_000_000;

/**
 * Saves an export as a file. It reads the whole export first: a link can't send the console's header, and a truncated file
 * would not show that lines are missing.
 */
function useCsv(fileName: string): {
  readonly state: CsvState;
  readonly save: (call: (api: TransferService, options: CallOptions) => Promise<TextChunks>) => Promise<void>;
  readonly cancel: () => void;
} {
  const programId = useProgramId();
  const [state, setState] = useState<CsvState>({ kind: 'idle' });
  const running = useRef<AbortController | undefined>(undefined);
  const cancel = useCallback(() => {
    running.current?.abort();
    running.current = undefined;
    setState({ kind: 'idle' });
  }, []);
  useEffect(() => () => running.current?.abort(), []);
  const save = useCallback(
    async (call: (api: TransferService, options: CallOptions) => Promise<TextChunks>) => {
      if (running.current !== undefined) return;
      const leaving = new AbortController();
      running.current = leaving;
      setState({ kind: 'reading', lines: 0 });
      try {
        const chunks = await call(client, { programId, signal: leaving.signal });
        const { parts, lines } = await readAll(chunks, (count) => {
          if (!leaving.signal.aborted) setState({ kind: 'reading', lines: count });
        });
        if (leaving.signal.aborted) return;
        download(new Blob(parts, { type: 'text/csv' }), fileName);
        setState({ kind: 'saved', lines });
      } catch (error) {
        if (leaving.signal.aborted) return;
        setState({ kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
      } finally {
        if (running.current === leaving) running.current = undefined;
      }
    },
    [programId, fileName],
  );
  return { state, save, cancel };
}

async function readAll(
  chunks: TextChunks,
  onLines: (count: number) => void,
): Promise<{ readonly parts: Blob[]; readonly lines: number }> {
  const parts: Blob[] = [];
  let text = '';
  // The first line does not count, because it has the names of the columns.
  let lines = -1;
  for await (const chunk of chunks) {
    text += chunk;
    lines += chunk.split('\r\n').length - 1;
    onLines(Math.max(0, lines));
    if (text.length < MAX_TEXT_LENGTH) continue;
    parts.push(new Blob([text]));
    text = '';
  }
  return { parts: [...parts, new Blob([text])], lines: Math.max(0, lines) };
}

function download(content: Blob, fileName: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName;
  link.click();
  // The browser has started to save the file by then.
  window.setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
