import type { ComponentChildren } from 'preact';

/** A name and its value. Null, false and undefined are left out, so a list of facts can contain conditions. */
export type Fact = readonly [name: string, value: ComponentChildren] | null | false | undefined;

export function metadataFacts(metadata: Readonly<Record<string, string>>): readonly Fact[] {
  return Object.entries(metadata).map(([name, value]) => [`Metadata: ${name}`, value]);
}

/** Shows the one or two most important facts in large type, each with an optional note. */
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
