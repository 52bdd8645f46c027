import type { Mutant, Witness } from '../mutant.ts';

const connector = (only: string): Witness => ({ file: 'server/background/processors/http-connector.test.ts', only });
const answers = (only: string): Witness => ({ file: 'contract/processors/read-answer.test.ts', only });
const signatures = (only: string): Witness => ({ file: 'server/foundation/signature.test.ts', only });

/** Mistakes about orders to card processors. */
export const CONNECTORS: readonly Mutant[] = [
  {
    name: 'connector-written-but-not-sent',
    mistake: 'a written request counts as not sent, so its transfer fails although the money may have moved',
    find: 'progress.mayHaveLeft = true;',
    replace: 'progress.mayHaveLeft = false;',
    witnesses: [connector('the outcome is unknown')],
  },
  {
    name: 'connector-keeps-connections',
    mistake: 'a request may use an idle connection, and is sent again if the connection was closed',
    find: 'maxIdleConnections: 0,',
    replace: 'maxIdleConnections: 100,',
    witnesses: [connector('on another connection each time')],
  },
  {
    name: 'connector-accepted-is-approved',
    mistake: 'an answer with the status 202 counts as an approval',
    find: 'if (status !== 200)',
    replace: 'if (status < 200 || status > 202)',
    witnesses: [connector('if the status is')],
  },
  {
    name: 'connector-cuts-long-answers',
    mistake: 'the beginning of an answer that is too long counts as the whole answer',
    find: 'const body = isWhole && bytes <= maxKeptBytes ? read : null;',
    replace: 'const body = read.subarray(0, maxKeptBytes);',
    witnesses: [connector('longer than 64 KiB')],
  },
  {
    name: 'connector-another-amount',
    mistake: 'an approval of a part of the amount counts as an approval of the whole amount',
    find: 'BigInt(fields.amount) !== expected.amount',
    replace: 'BigInt(fields.amount) > expected.amount',
    witnesses: [answers('about another')],
  },
  {
    name: 'connector-another-attempt',
    mistake: 'an answer about another attempt counts',
    find: 'fields.attempt_id !== expected.attemptId',
    replace: "fields.attempt_id === ''",
    witnesses: [answers('about another')],
  },
  {
    name: 'connector-loopback-in-live-mode',
    mistake: 'a live service calls its own machine although no setting allows it',
    find: "(mode === 'sandbox' && isInNetworks(LOOPBACK, address))",
    replace: 'isInNetworks(LOOPBACK, address)',
    witnesses: [connector('which a live service must name')],
  },
  {
    name: 'notice-for-ever',
    mistake: 'a recorded notice is valid forever',
    find: 'if (age > TOLERANCE_MILLISECONDS)',
    replace: 'if (age > 1000 * TOLERANCE_MILLISECONDS)',
    witnesses: [signatures('ms from its time')],
  },
];
