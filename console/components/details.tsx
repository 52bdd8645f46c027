import type { ComponentChildren } from 'preact';
import type { Fact } from './facts.tsx';

/** The one or two facts for which somebody opens a screen, large. The note below one says what it is about. */
export function Highlights({
  facts,
}: {
  readonly facts: readonly (
    | { readonly name: string; readonly value: ComponentChildren; readonly note?: ComponentChildren }
    | null
    | false
    | undefined
  )[];
}) {
  return (
    <dl class="highlights">
      {facts.map(
        (fact) =>
          fact && (
            <div key={fact.name}>
              <dt>{fact.name}</dt>
              <dd>
                {fact.value}
                {fact.note !== undefined && <small>{fact.note}</small>}
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** Everything else that is known about one thing: a name and its value in each line. */
export function Details({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="details">
      {facts.map(
        (fact) =>
          fact && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
