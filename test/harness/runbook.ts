import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const FOLDER = resolve(import.meta.dirname, '../../docs/runbook');

type Row = { readonly pieces: readonly string[]; readonly page: string };

/** Reads the rows of the index, each with the parts of messages that lead to its page. */
export function readMessageIndex(): readonly Row[] {
  const text = readFileSync(resolve(FOLDER, 'README.md'), 'utf8');
  const [, table = ''] = /^## Messages$(.*?)^## /ms.exec(text) ?? [];
  return [...table.matchAll(/^\| (.+) \| \[[^\]]+\]\(([a-z-]+)\.md\) \|$/gm)].map(([, part = '', page = '']) => ({
    pieces: part
      .split('…')
      .map((piece) => piece.trim())
      .filter((piece) => piece !== ''),
    page,
  }));
}

/** Returns the pages that the index lists for a message. */
export function pagesOf(message: string): readonly string[] {
  const fits = ({ pieces }: Row): boolean => {
    let from = 0;
    return pieces.every((piece) => {
      const at = message.indexOf(piece, from);
      from = at + piece.length;
      return at !== -1;
    });
  };
  return [
    ...new Set(
      readMessageIndex()
        .filter(fits)
        .map(({ page }) => page),
    ),
  ];
}

/**
 * Checks the runbook link of every refusal that a test causes. Throws unless the refusal names an existing page that
 * the index also lists for its message. Ignores other output.
 */
export function followRunbook(errors: string): void {
  const [, page] = /^Runbook: docs\/runbook\/([a-z-]+)\.md$/m.exec(errors) ?? [];
  if (page === undefined) return;
  const title = readFileSync(resolve(FOLDER, `${page}.md`), 'utf8').split('\n')[0] ?? '';
  if (!title.startsWith('# ')) throw new Error(`the page ${page} has no title`);
  const found = pagesOf(errors);
  if (found.includes(page)) return;
  throw new Error(`docs/runbook/README.md lists no part of this message for the page ${page}:\n${errors}`);
}
