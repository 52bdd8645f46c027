import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { hrefTo, navigate } from '../../data/location.ts';

/** The search that `/` and Ctrl-K open from everywhere. */
export function SearchPalette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    onClose();
    navigate(hrefTo('/console/search', { q: text }));
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <form onSubmit={submit}>
        <TextField label="Id, reference, card, amount or error code" value={text} onInput={setText} autoFocus />
        <Button type="submit">Search</Button>
      </form>
    </Dialog>
  );
}
