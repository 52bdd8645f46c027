import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { openSearch, problemOf } from './open-search.ts';

/** The search that `/` and Ctrl-K open from everywhere. */
export function SearchPalette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const problem = problemOf(text);
  const submit = (event: Event) => {
    event.preventDefault();
    if (problem !== undefined || text.trim() === '') return;
    onClose();
    openSearch(text);
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <form onSubmit={submit}>
        <TextField
          label="Id, reference, card, last four digits, amount or error code"
          value={text}
          onInput={setText}
          problem={problem}
          hint="One hit opens at once. An amount is written as 12.34 or 12.34 USD."
          autoFocus
        />
        <footer class="dialog-actions">
          <Button type="submit" kind="main" disabled={problem !== undefined}>
            Search
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
