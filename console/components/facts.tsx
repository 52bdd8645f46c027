import type { ComponentChildren } from 'preact';

/** A name and its value; `null` is left out, so that a list can have conditions in it. */
export type Fact = readonly [name: string, value: ComponentChildren] | null | false | undefined;

/** The metadata of one thing, a fact for each pair. */
export function metadataFacts(metadata: Readonly<Record<string, string>>): readonly Fact[] {
  return Object.entries(metadata).map(([name, value]) => [`Metadata: ${name}`, value]);
}

/** What is known about one thing: names and values in columns. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
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
