import type { JSX } from 'preact';
import type { CallOptions, TextChunks, TransferService } from '../../sdk/client.ts';
import { type CsvState, useCsv } from '../data/use-csv.ts';
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
