import { type Draft, draft, NEEDED_ID, type Need, text } from './draft.ts';
import { CARDS, LIMIT_CHANGES } from './making.ts';
import type { Random } from './random.ts';

/** What a transfer is made for that a request needs, in minor units. */
export const NEEDED_AMOUNT = 500;

/** A card that no money goes to, so that its state is nobody else's business. */
export const QUIET_CARD = 'without-money';

/** A card that is closed, again and again: what changes nothing succeeds. */
export const CLOSED_CARD = 'to-be-closed';

const HOLDS: readonly Need[] = ['held load', 'held unload', 'held between cards'];

/** Requests that must be refused: the operation, what it is asked of, and the least amount that is too much. */
const MISPLACED = [
  ['capture_transfer', 'load', undefined],
  ['capture_transfer', 'scheduled', undefined],
  ['capture_transfer', 'held load', NEEDED_AMOUNT + 1],
  ['cancel_transfer', 'load', undefined],
  ['reverse_transfer', 'held unload', undefined],
  ['reverse_transfer', 'scheduled', undefined],
  ['reverse_transfer', 'load', NEEDED_AMOUNT + 1],
] as const;

function withKey(made: Draft, random: Random, unique: string): void {
  if (random.chance(0.5)) made.headers.push(['Idempotency-Key', unique]);
}

/** A part of what there is, or all of it where no amount is named. */
function withAmount(made: Draft, random: Random): Draft {
  if (random.chance(0.3)) return made;
  const amount = 1 + random.below(NEEDED_AMOUNT);
  made.members?.push(['amount', String(amount)]);
  return { ...made, amount };
}

/** A capture of a hold, whole or in part. */
export function newCapture(random: Random, unique: string): Draft {
  const made = draft('capture_transfer', {});
  withKey(made, random, unique);
  return { ...withAmount(made, random), needs: random.pick(HOLDS) };
}

/** A hold or a scheduled transfer that is canceled. */
export function newCancel(random: Random, unique: string): Draft {
  const made = draft('cancel_transfer');
  withKey(made, random, unique);
  return { ...made, needs: random.pick([...HOLDS, 'scheduled'] as const) };
}

/** Whether the money is still on the card depends on what came between. */
export function newReversal(random: Random, unique: string): Draft {
  const made = draft('reverse_transfer', {});
  if (random.chance(0.3)) made.members?.push(['description', text('came back')]);
  withKey(made, random, unique);
  return { ...withAmount(made, random), needs: 'load', expectation: 'either' };
}

/** What the state of a transfer, or what is left of it, does not allow. */
export function newMisplaced(random: Random, unique: string): Draft {
  const [operation, needs, amount] = random.pick(MISPLACED);
  const made = draft(operation, operation === 'cancel_transfer' ? undefined : {});
  if (amount !== undefined) made.members?.push(['amount', String(amount + random.below(500))]);
  withKey(made, random, unique);
  return { ...made, needs, amount, expectation: 'refusal' };
}

/** Other metadata for a transfer in any state. */
export function newMetadata(random: Random): Draft {
  const made = draft('update_transfer', {
    metadata: random.pick(['{}', 'null', '{"order":"A-2"}', '{"a":"1","é":"🎁","order":null}']),
  });
  return { ...made, needs: random.pick([...HOLDS, 'scheduled', 'load'] as const) };
}

/** A change of a card that nothing speaks against. */
export function newCardChange(random: Random): Draft {
  const made = draft('update_card', {});
  if (random.chance(0.2)) {
    made.target = made.target.replace('{card_id}', CLOSED_CARD);
    made.members?.push(['status', text('closed')], ['balance_to', text('funding')]);
    return made;
  }
  made.target = made.target.replace('{card_id}', QUIET_CARD);
  // From each of these states every other of them can be reached.
  if (random.chance(0.5)) made.members?.push(['status', text(random.pick(['active', 'inactive', 'lost']))]);
  if (random.chance(0.4)) made.members?.push(['limits', random.pick(LIMIT_CHANGES)]);
  if (random.chance(0.3))
    made.members?.push(['holder_reference', random.pick(['null', text('employee 7'), text('Zoë 🎁')])]);
  if (random.chance(0.3))
    made.members?.push(['expires_on', random.pick(['null', text('2099-12-31'), text('2098-02-28')])]);
  return made;
}

const READINGS = [
  'list_transfers',
  'list_transfers',
  'list_cards',
  'get_card',
  'get_card_limits',
  'list_holds',
  'list_postings',
  'list_postings',
  'export_postings',
  'export_transfers',
  'list_reversals',
  'get_reversal',
  'get_transfer_timeline',
  'list_likely_duplicates',
  'get_program',
  'list_programs',
  'list_keys',
  'list_funding_movements',
  'verify_audit',
  'get_switch',
  'preview_switch',
  'get_status',
  'get_overview',
  'get_session',
  'list_sessions',
  'list_errors',
  'get_transfer',
  'get_error',
  'get_request',
  'search',
] as const;

/** Filters of transfers; exports get those that few transfers fit. */
const FILTERS = [
  'status=pending',
  'status=completed&type=load',
  'type=unload',
  `card_id=${CARDS[0]}`,
  'reference=reference%201',
  'metadata_name=order&metadata_value=A-1',
  'minimum_amount=499&maximum_amount=500',
  'created_from=2026-01-01T00:00:00Z&status=canceled',
] as const;
const NARROW = ['created_to=2020-01-01T00:00:00Z', 'reference=nobody%27s', `card_id=${QUIET_CARD}`] as const;

const SEARCHED = [
  'q=4242',
  'q=12.34',
  'q=tr_1',
  'q=card_',
  'q=USD+5&created_from=2026-01-01T00:00:00Z',
  'q=%F0%9F%8E%81',
];

/** Something that is read; nothing of it moves money. */
export function newReading(random: Random): Draft {
  const operation = random.pick(READINGS);
  const made = draft(operation);
  made.target = made.target.replace('{card_id}', operation === 'export_postings' ? QUIET_CARD : random.pick(CARDS));
  if (
    operation === 'get_error' ||
    operation === 'get_request' ||
    operation === 'get_reversal' ||
    (operation === 'get_transfer' && random.chance(0.5))
  ) {
    made.target = made.target.replace(/\{.*\}/, random.pick(['rev_missing', 'x', 'req_1'])).replace(NEEDED_ID, 'tr_1');
    return { ...made, expectation: 'refusal' };
  }
  const query = [
    ...(operation === 'list_transfers' && random.chance(0.7) ? [random.pick(FILTERS)] : []),
    ...(operation === 'search' ? [random.pick(SEARCHED)] : []),
    ...(operation === 'export_transfers' ? [random.pick(NARROW)] : []),
    ...(operation === 'list_postings' && random.chance(0.3) ? ['created_from=2026-01-01T00:00:00Z'] : []),
    ...(operation.startsWith('list_') && random.chance(0.5) ? [`limit=${1 + random.below(5)}`] : []),
  ];
  if (query.length > 0) made.target += `?${query.join('&')}`;
  return made.target.includes(NEEDED_ID) ? { ...made, needs: 'load' } : made;
}
