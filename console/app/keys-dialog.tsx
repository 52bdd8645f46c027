import { Dialog } from '../components/dialogs/dialog.tsx';
import { KEYS, routesWithLetter } from './keyboard.ts';
import type { Route } from './routes.ts';

/** All keyboard shortcuts of the console. */
export function KeysDialog({ routes, onClose }: { readonly routes: readonly Route[]; readonly onClose: () => void }) {
  const rows = [...KEYS, ...routesWithLetter(routes).map(({ letter, title }) => [`g ${letter}`, title] as const)];
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
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
