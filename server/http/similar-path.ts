import { isMeantFor } from '../../contract/reading/similar-names.ts';

/** What the paths of all operations begin with: `/api/v0.1/core`, `/api/v0.1/operator`, `/api/v0.1/sandbox`. */
const BEGINNING = /^(?:api|v[0-9.]+|core|operator|sandbox)$/i;

/**
 * The pattern that a path was probably meant for, such as `/api/v0.1/core/transfer/{transfer_id}` for `/v1/transfers/tr_1`;
 * undefined if none is near. The beginning of the path counts least: clients leave it out, or have that of another API.
 */
export function similarPath(path: string, patterns: readonly string[]): string | undefined {
  const sent = partsOf(path);
  const near = patterns.flatMap((pattern) => {
    const cost = costOf(sent, partsOf(pattern));
    return cost === undefined ? [] : [{ pattern, cost }];
  });
  return near.toSorted((one, other) => one.cost - other.cost)[0]?.pattern;
}

type Parts = { readonly beginning: string; readonly rest: readonly string[] };

function partsOf(path: string): Parts {
  const segments = path.split('/').filter((segment) => segment !== '');
  const first = segments.findIndex((segment) => !BEGINNING.test(segment));
  const end = first === -1 ? segments.length : first;
  return { beginning: segments.slice(0, end).join('/'), rest: segments.slice(end) };
}

/** How far a path is from a pattern; undefined if it is another one. */
function costOf(sent: Parts, known: Parts): number | undefined {
  if (sent.rest.length !== known.rest.length || sent.rest.length === 0) return undefined;
  let cost = sent.beginning === known.beginning ? 0 : 0.5;
  for (const [at, name] of known.rest.entries()) {
    const given = sent.rest[at] ?? '';
    if (name.startsWith('{')) cost += 0.25;
    else if (name !== given && !isMeantFor(given, name)) return undefined;
    else if (name !== given) cost += 1;
  }
  return cost;
}
