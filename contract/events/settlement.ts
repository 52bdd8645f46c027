import { DayRecord, EXAMPLE_DAY } from '../days.ts';
import { call } from '../error.ts';
import { BreakRecord, EXAMPLE_BREAK } from '../processors/breaks.ts';
import { EXAMPLE_FILE, SettlementFileRecord } from '../processors/settlement-files.ts';
import { DEMO_PROGRAM, EXAMPLE_LINE } from '../samples.ts';
import { eventType } from './definition.ts';

const { attempt_id: _, ...ORDER } = EXAMPLE_LINE;

/** Imports a file of one line, about an order that the ledger does not have. `digits` are four hex digits of its SHA-256. */
const imported = (digits: string) => ({
  given: [
    call('create_settlement_file', {
      body: { connector_id: 'simulator', name: 'other-orders.csv', sha256: digits.repeat(16), line_count: 1 },
    }),
  ],
  request: call('add_settlement_lines', {
    body: { first_line: 1, lines: [{ ...ORDER, processor_reference: 'an order of {unique}' }] },
  }),
  after: [call('withdraw_settlement_file', { body: { note: 'It was an example.' } })],
});

export const SETTLEMENT_EVENTS = {
  'break.opened': eventType({
    summary: 'A processor disagrees with the books, or a settlement file or one of its orders is missing.',
    sent: ['A break opens, or a closed one opens again. The event follows within seconds.'],
    data: BreakRecord,
    subject: 'break_id',
    isOfService: true,
    notes: [
      'A break that is closed before its event was written has no event.',
      'If the processor repeats a statement or adds to it while the break is open, there is no further event.',
    ],
    example: EXAMPLE_BREAK,
    sample: {
      reproduce:
        'Import a settlement file about an order that the ledger does not have. Withdraw the file before you import it again.',
      ...imported('c0de'),
    },
  }),
  'settlement.matched': eventType({
    summary: 'All lines of a settlement file were compared with the books.',
    sent: [
      'The last line of the file has been compared. `outcomes` has the results, and each break has its own event.',
    ],
    data: SettlementFileRecord,
    subject: 'file_id',
    operation: 'get_settlement_file',
    isOfService: true,
    example: EXAMPLE_FILE,
    sample: {
      reproduce: 'Import a settlement file. Withdraw the file before you import it again.',
      ...imported('f11e'),
    },
  }),
  'day.closed': eventType({
    summary: 'A day of a card program was closed.',
    sent: ['close_day closes the day. If the day is already closed, there is no event.'],
    data: DayRecord,
    subject: 'program_id',
    isOfService: true,
    notes: ['The event does not contain the note. get_day returns it.'],
    example: { ...EXAMPLE_DAY, note: null },
    sample: {
      reproduce: 'Close a day of the demo program. Each day can be closed once.',
      request: call('close_day', {
        params: { program_id: DEMO_PROGRAM },
        body: { day: '2026-01-31', note: 'Compared with the statement of the bank' },
      }),
    },
  }),
};
