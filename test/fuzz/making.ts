import { asOperation, type Draft, draft, text } from './draft.ts';
import type { Random } from './random.ts';

/** Cards that money goes to and from. The campaign makes them for itself. */
export const CARDS = Array.from({ length: 8 }, (_, at) => `fuzz-${at}`);

/** Limits as JSON texts. */
export const LIMITS = [
  '{}',
  '{"in":{"daily_amount":50000}}',
  '{"in":{"minimum_amount":1,"maximum_amount":900},"out":{"weekly_count":7},"maximum_balance":1000000}',
  '{"out":{"monthly_amount":0,"monthly_count":0}}',
] as const;

/** Changes of limits as JSON texts: they are merged into those that are there. */
export const LIMIT_CHANGES = [
  ...LIMITS,
  'null',
  '{"in":null}',
  '{"in":{"daily_amount":null},"maximum_balance":null}',
  '{"out":{"weekly_count":9,"monthly_count":null}}',
] as const;

/** A load that nothing speaks against: made at once, held, or scheduled. */
export function newLoad(random: Random, unique: string): Draft {
  const amount = 1 + random.below(500);
  const made = draft('create_transfer', { amount: String(amount), card_id: text(random.pick(CARDS)) });
  if (random.chance(0.3)) made.members?.push(['type', text('load')]);
  if (random.chance(0.3)) made.members?.push(['description', text(random.pick(['a gift', 'zum Geburtstag 🎁', 'é']))]);
  if (random.chance(0.2)) made.members?.push(['reference', text(`reference ${unique}`)]);
  if (random.chance(0.2)) made.members?.push(['metadata', '{"order":"A-1","note":"x"}']);
  if (random.chance(0.2)) made.members?.push(['currency', text('USD')]);
  if (random.chance(0.4)) made.headers.push(['Idempotency-Key', unique]);
  if (random.chance(0.2)) pushHold(made, random);
  if (random.chance(0.1)) made.members?.push(['scheduled_for', text(daysAhead(20 + random.below(300)))]);
  return { ...made, amount };
}

function pushHold({ members }: Draft, random: Random): void {
  members?.push(['capture', text(random.pick(['manual', 'manual', 'automatic']))]);
}

/** The beginning of a day so far ahead: the same all day long, as a case must be that is looked at again. */
function daysAhead(days: number): string {
  const day = 86_400_000;
  return new Date((Math.floor(Date.now() / day) + days) * day).toISOString();
}

/** Whether there is enough to take depends on what came before. */
export function newOtherTransfer(random: Random, unique: string): Draft {
  const made = newLoad(random, unique);
  const [card = CARDS[0], other = CARDS[1]] = random.chance(0.5) ? CARDS : [...CARDS].reverse();
  const isUnload = random.chance(0.5);
  const members = made.members?.filter(([name]) => !['type', 'card_id'].includes(name)) ?? [];
  members.push(['card_id', text(card ?? '')], ['type', text(isUnload ? 'unload' : 'card_to_card')]);
  if (!isUnload) members.push(['destination_card_id', text(other ?? '')]);
  return { ...made, members, expectation: 'either' };
}

/** Every row is good; what is wrong with rows is the business of single transfers. */
export function newBatch(random: Random, unique: string): Draft {
  const rows = Array.from({ length: 1 + random.below(3) }, (_, at) => {
    const row = { idempotency_key: `${unique}-${at}`, amount: 1 + random.below(500), card_id: random.pick(CARDS) };
    return JSON.stringify(row);
  });
  return draft('create_transfer_batch', { transfers: `[${rows.join(',')}]` });
}

/** Money for funding. */
export function newDeposit(random: Random, unique: string): Draft {
  const made = draft('create_deposit', { amount: String(1 + random.below(500)) });
  made.headers.push(['Idempotency-Key', unique]);
  return made;
}

/** Money from funding, which has far more. */
export function newWithdrawal(random: Random, unique: string): Draft {
  return { ...newDeposit(random, unique), ...asOperation('create_withdrawal') };
}

/** A card, with or without limits. */
export function newCard(random: Random, unique: string): Draft {
  const made = draft('create_card', random.chance(0.5) ? { card_id: text(`card-${unique}`) } : {});
  if (random.chance(0.5)) made.members?.push(['last_four', text(random.digits(4))]);
  if (random.chance(0.3)) made.members?.push(['expires_on', text('2099-12-31')]);
  if (random.chance(0.3)) made.members?.push(['limits', random.pick(LIMITS)]);
  return keyed(made, random, unique);
}

/** With an idempotency key now and then. */
function keyed(made: Draft, random: Random, unique: string): Draft {
  if (random.chance(0.4)) made.headers.push(['Idempotency-Key', unique]);
  return made;
}

/** An API key. */
export function newKey(random: Random, unique: string): Draft {
  const scopes = random.pick(['["transfers:read"]', '["cards:read","cards:write"]', '["operator"]']);
  return keyed(draft('create_key', { name: text(unique), scopes, all_programs: 'true' }), random, unique);
}

/** A card program. */
export function newProgram(random: Random, unique: string): Draft {
  const members = { name: text(unique), currency: text(random.pick(['USD', 'EUR', 'JPY'])) };
  return keyed(draft('create_program', members), random, unique);
}
