import type { Random } from '../../harness/random.ts';
import { bare, type Draft } from './draft.ts';
import type { Change } from './harmless.ts';

/** Writes a card number as people do, either without separators or in groups of four. */
function written(number: string, random: Random): string {
  const between = random.pick(['', '', ' ', '-']);
  return between === '' ? number : number.replaceAll(/(\d{4})(?=\d)/g, `$1${between}`);
}

function plant(name: string, put: (made: Draft, number: string, random: Random) => boolean): Change {
  return {
    name: `a card number ${name}`,
    apply: (made, random) => {
      const number = random.cardNumber();
      if (!put(made, number, random)) return false;
      made.planted.push(number);
      return true;
    },
  };
}

function putHeader(...names: readonly string[]): (made: Draft, number: string, random: Random) => boolean {
  return ({ headers }, number, random) => headers.push([random.pick(names), written(number, random)]) > 0;
}

/**
 * Card numbers in places where people put them by mistake. For some of these places, the service refuses the request.
 * For others, it accepts the request.
 */
export const PLANTS: readonly Change[] = [
  plant('as the card', ({ members }, number, random) => {
    const card = members?.find(([name]) => bare(name) === 'card_id');
    if (card === undefined) return false;
    card[1] = JSON.stringify(written(number, random));
    return true;
  }),
  plant('as the amount', ({ members }, number, random) => {
    const amount = members?.find(([name]) => bare(name) === 'amount');
    if (amount === undefined) return false;
    amount[1] = random.chance(0.5) ? number : JSON.stringify(written(number, random));
    return true;
  }),
  plant('in a text', ({ members }, number, random) => {
    const text = random.pick([written(number, random), `card ${written(number, random)} of mine`]);
    const name = random.pick(['description', 'reference', 'type', 'currency', 'name', 'holder_reference', 'note']);
    if (members?.some(([known]) => bare(known) === name) !== false) return false;
    return members.push([name, JSON.stringify(text)]) > 0;
  }),
  plant(
    'as a name',
    ({ members }, number, random) => members !== undefined && members.push([written(number, random), '1']) > 0,
  ),
  plant(
    'as names, twice',
    ({ members }, number) => members !== undefined && members.push([number, '1'], [number, '1']) > 0,
  ),
  plant('in metadata', ({ members }, number) => {
    if (members?.some(([name]) => bare(name) === 'metadata') !== false) return false;
    return members.push(['metadata', `{"${number}":1}`]) > 0;
  }),
  plant(
    'in a header',
    putHeader('X-Card', 'Idempotency-Key', 'Program-Id', 'Origin', 'Host', 'Expect', 'Content-Type'),
  ),
  plant('as a key', putHeader('Authorization', 'Sandbox-Provoke', 'Request-Id', 'Sec-Fetch-Site')),
  plant('in the path', (made, number, random) => {
    made.target = `${random.pick(['/', '/errors/', '/api/v0.1/core/card/', '/api/v0.1/core/transfer/', '/api/v0.1/core/error/'])}${number}`;
    return true;
  }),
  plant('in a broken path', (made, number) => {
    made.target = `/api/v0.1/core/card/${number}%zz`;
    return true;
  }),
  plant('in the query', (made, number, random) => {
    made.target += `${made.target.includes('?') ? '&' : '?'}${random.pick(['cursor', 'reference', 'limit', 'a', 'code'])}=${number}`;
    return true;
  }),
  plant('in a body that is not JSON', ({ members, patches }, number, random) => {
    if (members === undefined) return false;
    patches.push(() =>
      Buffer.from(random.pick([number, `"${number}`, `{${number}:1}`, `{"a":${number}x}`, `card=${number}`])),
    );
    return true;
  }),
];
