import type { Meanings } from '../store/meaning.ts';
import { ACCOUNT_STATEMENTS } from './accounts.ts';
import { CARD_STATEMENTS } from './cards.ts';
import { CONTROL_STATEMENTS } from './control.ts';
import { ERASURE_STATEMENTS } from './erasure.ts';
import { EVENT_STATEMENTS } from './events.ts';
import { TRANSFER_STATEMENTS } from './transfers.ts';
import { WEBHOOK_STATEMENTS } from './webhooks.ts';

/** Every statement that the simulation knows. A test of the suite `store` compares each with PostgreSQL. */
export const STATEMENTS: Meanings = {
  ...CONTROL_STATEMENTS,
  ...ACCOUNT_STATEMENTS,
  ...CARD_STATEMENTS,
  ...TRANSFER_STATEMENTS,
  ...EVENT_STATEMENTS,
  ...ERASURE_STATEMENTS,
  ...WEBHOOK_STATEMENTS,
};
