import type { Conduct } from '../../../checkers/deliveries/notes.ts';

/** A period with a different behaviour of the receiver. It begins and ends at a share of the ledger's kills. */
type Outage = { readonly from: number; readonly to: number; readonly conduct: Conduct };

/** A webhook of the row, and the behaviour of its receiver. */
export type Endpoint = {
  readonly name: string;
  /** The source of its events: one of the two card programs, or all programs by number. */
  readonly source: 'demo' | 'other' | 'all';
  readonly order: 'parallel' | 'strict';
  readonly payload: 'full' | 'thin';
  readonly types: readonly string[] | null;
  readonly conduct: Conduct;
  readonly outages: readonly Outage[];
  /** Whether the test rolls its secret midway. */
  readonly isRolled: boolean;
};

const GOOD: Conduct = { kind: 'good' };

/** An endpoint with parallel order and full payloads that accepts everything, unless `more` says otherwise. */
export const endpoint = (name: string, source: Endpoint['source'], more: Partial<Endpoint> = {}): Endpoint => ({
  name,
  source,
  order: 'parallel',
  payload: 'full',
  types: null,
  conduct: GOOD,
  outages: [],
  isRolled: false,
  ...more,
});

/** Endpoints of every kind. Failures are rare with strict order, because each stops the webhook for seconds. */
export const ENDPOINTS: readonly Endpoint[] = [
  endpoint('all', 'demo'),
  endpoint('strict', 'demo', { order: 'strict', conduct: { kind: 'slow', share: 0.01 } }),
  endpoint('thin', 'demo', { payload: 'thin', conduct: { kind: 'slow', share: 0.2 } }),
  endpoint('filtered', 'demo', { types: ['transfer.*'], conduct: { kind: 'fails', share: 0.03 } }),
  endpoint('dead', 'demo', {
    outages: [
      { from: 0.2, to: 0.4, conduct: { kind: 'black hole' } },
      { from: 0.4, to: 0.6, conduct: { kind: 'closes' } },
    ],
  }),
  endpoint('strict-dead', 'demo', {
    order: 'strict',
    types: ['transfer.pending', 'transfer.canceled'],
    outages: [{ from: 0.3, to: 0.5, conduct: { kind: 'fails' } }],
  }),
  endpoint('rolled', 'other', { isRolled: true, conduct: { kind: 'closes', share: 0.02 } }),
  endpoint('strict-rolled', 'other', { order: 'strict', payload: 'thin', types: ['card.*'], isRolled: true }),
  endpoint('limited', 'other', {
    payload: 'thin',
    types: ['transfer.*', 'switch.changed'],
    conduct: { kind: 'limits', share: 0.02 },
  }),
  endpoint('operators', 'all', { conduct: { kind: 'slow', share: 0.1 } }),
  endpoint('operators-strict', 'all', { order: 'strict', types: ['card.*', 'program.*'] }),
];

/** Returns the receiver's behaviour after a share of the kills. */
export function conductAt({ conduct, outages }: Endpoint, share: number): Conduct {
  return outages.find(({ from, to }) => share >= from && share < to)?.conduct ?? conduct;
}
