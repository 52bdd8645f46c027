import { Dialog } from '../components/dialogs/dialog.tsx';
import { KEYS, lettered } from './keyboard.ts';
import type { Route } from './routes.ts';

/** All keys of the console. */
export function KeysDialog({ routes, onClose }: { readonly routes: readonly Route[]; readonly onClose: () => void }) {
  const rows = [...KEYS, ...lettered(routes).map(({ letter, title }) => [`g ${letter}`, title] as const)];
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="keys">
        {rows.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
