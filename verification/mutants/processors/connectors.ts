import type { Mutants, Witness } from '../mutant.ts';

const connector = (only: string): Witness => ({ file: 'server/background/processors/http-connector.test.ts', only });
const answers = (only: string): Witness => ({ file: 'contract/processors/read-answer.test.ts', only });
const signatures = (only: string): Witness => ({ file: 'server/foundation/signature.test.ts', only });

/** Mistakes about orders to card processors. */
export const CONNECTORS: Mutants = {
  'connector-written-but-not-sent': {
    mistake: 'a written request counts as not sent, so its transfer fails although the money may have moved',
    edits: { sendOnce: ['mayHaveLeft = true', 'mayHaveLeft = false'] },
    witnesses: [connector('the outcome is unknown')],
  },
  'connector-keeps-connections': {
    mistake: 'a request may use an idle connection, and is sent again if the connection was closed',
    edits: { CONNECTOR_LIMITS: ['maxIdleConnections: 0', 'maxIdleConnections: 100'] },
    witnesses: [connector('connection each time')],
  },
  'connector-accepted-is-approved': {
    mistake: 'an answer with the status 202 counts as an approval',
    edits: { toAnswer: ['status !== 200', 'status < 200 || status > 202'] },
    witnesses: [connector('if the status is')],
  },
  'connector-cuts-long-answers': {
    mistake: 'the beginning of an answer that is too long counts as the whole answer',
    edits: { readBody: ['isWhole && bytes <= maxKeptBytes ? read : null', 'read.subarray(0, maxKeptBytes)'] },
    witnesses: [connector('longer than 64 KiB')],
  },
  'connector-another-amount': {
    mistake: 'an approval of part of the amount counts as an approval of the whole amount',
    edits: { readAnswer: ['!== expected.amount', '> expected.amount'] },
    witnesses: [answers('about another')],
  },
  'connector-another-attempt': {
    mistake: 'an answer about a different attempt counts',
    edits: { readAnswer: ['fields.attempt_id !== expected.attemptId', "fields.attempt_id === ''"] },
    witnesses: [answers('about another')],
  },
  'connector-loopback-in-live-mode': {
    mistake: 'a live service calls its own machine although no setting allows it',
    edits: {
      openConnectorRules: [
        "(mode === 'sandbox' && isInNetworks(LOOPBACK, address))",
        'isInNetworks(LOOPBACK, address)',
      ],
    },
    witnesses: [connector('unless allowed_networks names the address')],
  },
  'notice-for-ever': {
    mistake: 'a recorded notice is valid forever',
    edits: { verifyNotice: ['age > TOLERANCE_MILLISECONDS', 'age > 1000 * TOLERANCE_MILLISECONDS'] },
    witnesses: [signatures('ms off')],
  },
};
