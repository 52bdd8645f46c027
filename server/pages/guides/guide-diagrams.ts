/** A Markdown text as the page shows it: with its diagrams as tables, and without its comments. */
export function withoutDiagrams(text: string): string {
  return text
    .replaceAll(/```mermaid\n(.*?)```\n/gs, (_whole, diagram: string) => transitionTable(diagram))
    .replaceAll(/<!--.*?-->\n+/gs, '');
}

/**
 * A Mermaid state diagram as a Markdown table of its transitions, because no script draws diagrams on the pages.
 * Transitions from one state with the same cause share a row.
 */
function transitionTable(diagram: string): string {
  const transitions = diagram.split('\n').flatMap((line) => {
    const [, from, to, by = ''] = /^\s*(\S+) --> ([^\s:]+)(?:: (.*))?$/.exec(line) ?? [];
    return from === undefined || to === undefined || to === '[*]' ? [] : [{ from, to, by }];
  });
  const rows = Map.groupBy(transitions, ({ from, by }) => `${from} ${by}`);
  const hasCauses = transitions.some(({ by }) => by !== '');
  const line = (from: string, to: string, by: string) => `| ${from} | ${to} |${hasCauses ? ` ${by} |` : ''}\n`;
  const lines = [...rows.values()].map((row) =>
    line(state(row[0]?.from ?? ''), row.map(({ to }) => state(to)).join(', '), row[0]?.by ?? ''),
  );
  return line('from', 'to', 'by') + line('---', '---', '---') + lines.join('');
}

function state(name: string): string {
  return name === '[*]' ? '(new)' : `\`${name}\``;
}
