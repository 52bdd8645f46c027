/** The diagrams of a Markdown text as tables, and without its comments: what readers of the page see. */
export function withoutDiagrams(text: string): string {
  return text
    .replaceAll(/```mermaid\n(.*?)```\n/gs, (_whole, diagram: string) => movesTable(diagram))
    .replaceAll(/<!--.*?-->\n+/gs, '');
}

/**
 * A Mermaid diagram of states as a table of its moves, in Markdown: no script draws diagrams on the pages. Moves from one
 * state by the same cause share a row.
 */
function movesTable(diagram: string): string {
  const moves = diagram.split('\n').flatMap((line) => {
    const [, from, to, by = ''] = /^\s*(\S+) --> ([^\s:]+)(?:: (.*))?$/.exec(line) ?? [];
    return from === undefined || to === undefined || to === '[*]' ? [] : [{ from, to, by }];
  });
  const rows = Map.groupBy(moves, ({ from, by }) => `${from} ${by}`);
  const hasCauses = moves.some(({ by }) => by !== '');
  const line = (from: string, to: string, by: string) => `| ${from} | ${to} |${hasCauses ? ` ${by} |` : ''}\n`;
  const lines = [...rows.values()].map((row) =>
    line(state(row[0]?.from ?? ''), row.map(({ to }) => state(to)).join(', '), row[0]?.by ?? ''),
  );
  return line('from', 'to', 'by') + line('---', '---', '---') + lines.join('');
}

function state(name: string): string {
  return name === '[*]' ? '(new)' : `\`${name}\``;
}
