import { EVERY_PROGRAM } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';

// Invariant: An id of another program gets the same response as an unknown id
// Kept by: the program in every key and query
// Tested by: `test/security/programs-apart.test.ts`, with and without row-level security

export function transferMissing(sentId: string): Refusal {
  const hint = /^tr_[0-9a-f]{32}$/.test(sentId) ? '' : ' A transfer id is tr_ and 32 hex digits.';
  return new Refusal('transfer_not_found', `There is no transfer '${sentId}' in this card program.${hint}`);
}

export function cardMissing(name: string): Refusal {
  return new Refusal('card_not_found', `There is no card '${name}' in this card program.`);
}

export function personMissing(sentId: string): Refusal {
  return new Refusal('person_not_found', `There is no person with the id '${sentId}'.`);
}

export function programMissing(sentId: string): Refusal {
  return new Refusal('program_not_found', `There is no card program '${sentId}'.`);
}

/** Returns the refusal of a position (or number, for {@link EVERY_PROGRAM}) if the events after it were deleted. */
export function eventsExpired(headOf: string, after: number, oldest: number): Refusal {
  const what = headOf === EVERY_PROGRAM ? 'number' : 'position';
  const message =
    `The events after ${what} ${after} are no longer stored. ` +
    `The oldest stored event has ${what} ${oldest}: to continue with it, send after=${oldest - 1}.`;
  return new Refusal('events_expired', message, { field: '/after' });
}
