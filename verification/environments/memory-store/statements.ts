import { ACCOUNT_STATEMENTS } from './accounts.ts';
import { CARD_STATEMENTS } from './cards.ts';
import { CONTROL_STATEMENTS } from './control.ts';
import { EVENT_STATEMENTS } from './events.ts';
import type { Meanings } from './meaning.ts';
import { PROCESSOR_STATEMENTS } from './processors.ts';
import { PROGRAM_STATEMENTS } from './programs.ts';
import { SWITCH_STATEMENTS } from './switch.ts';
import { TRANSFER_STATEMENTS } from './transfers.ts';
import { WEBHOOK_STATEMENTS } from './webhooks.ts';

/** All statements of the simulation. A test of the suite `store` compares each with PostgreSQL. */
export const STATEMENTS: Meanings = {
  ...CONTROL_STATEMENTS,
  ...ACCOUNT_STATEMENTS,
  ...CARD_STATEMENTS,
  ...TRANSFER_STATEMENTS,
  ...EVENT_STATEMENTS,
  ...PROGRAM_STATEMENTS,
  ...SWITCH_STATEMENTS,
  ...WEBHOOK_STATEMENTS,
  ...PROCESSOR_STATEMENTS,
};
