import { expect, test } from 'vitest';
import type { CardStatus } from '../../domain/cards/card.ts';
import type { Limits } from '../../domain/ledger/limits.ts';
import type { TransferType } from '../../domain/transfers/transfer.ts';
import { fundingOf, LIMIT_NAMES, suspenseOf, worldOf } from './books.ts';
import { type Change, Model } from './model.ts';

// Examples that were computed by hand, to check the model. Before you change a rule about money, add a row here.
//
// A row has a time (UTC), a step, its answer, and for each account: balance, held, incoming, available. An empty field
// repeats the value above it. Each table begins with 1,000 in funding and nothing on the cards. The program is in Berlin,
// one hour ahead of UTC until 29 March 2026. March 2 is a Monday. Transfers are t1, t2 and so on. The processor has the
// money of the card `pro`.

const TABLES: Readonly<Record<string, string>> = {
  'money moves between funding, cards and the world': `
    when        | step                    | answer              | funding        | ann          | bob
    03-02 10:00 | load ann 300            | done                | 700 0 0 700    | 300 0 0 300  | 0 0 0 0
    03-02 10:01 | move ann bob 120        | done                |                | 180 0 0 180  | 120 0 0 120
    03-02 10:02 | unload bob 20           | done                | 720 0 0 720    |              | 100 0 0 100
    03-02 10:03 | unload bob 101          | insufficient_funds  |                |              |
    03-02 10:04 | deposit 80 ref d1       | done                | 800 0 0 800    |              |
    03-02 10:05 | deposit 80 ref d1       | duplicate_reference |                |              |
    03-02 10:06 | withdraw 801            | insufficient_funds  |                |              |
    03-02 10:07 | withdraw 800            | done                | 0 0 0 0        |              |
    03-02 10:08 | load ann 1              | insufficient_funds  |                |              |
    03-02 10:09 | load eve 1              | card_not_found      |                |              |`,

  'a hold is captured in part, canceled or expires': `
    when        | step                    | answer                  | funding      | ann            | bob
    03-02 10:00 | load ann 100            | done                    | 900 0 0 900  | 100 0 0 100    | 0 0 0 0
    03-02 10:01 | move ann bob 60 hold    | done                    |              | 100 60 0 40    | 0 0 60 0
    03-02 10:02 | unload ann 41           | insufficient_funds      |              |                |
    03-02 10:03 | capture t2 61           | amount_too_large        |              |                |
    03-02 10:04 | capture t2 45           | done                    |              | 55 0 0 55      | 45 0 0 45
    03-02 10:05 | capture t2 1            | invalid_transfer_status |              |                |
    03-02 10:06 | unload ann 50 hold      | done                    | 900 0 50 900 | 55 50 0 5      |
    03-02 10:07 | cancel t3               | done                    | 900 0 0 900  | 55 0 0 55      |
    03-02 10:08 | cancel t3               | invalid_transfer_status |              |                |
    03-02 10:09 | load bob 10 hold until 03-02 11:00 | done         | 900 10 0 890 |                | 45 0 10 45
    03-02 10:10 | expire t4               | invalid_transfer_status |              |                |
    03-02 11:00 | capture t4              | invalid_transfer_status |              |                |
    03-02 11:00 | expire t4               | done                    | 900 0 0 900  |                | 45 0 0 45
    03-02 11:01 | load bob 5 hold         | done                    | 900 5 0 895  |                | 45 0 5 45
    03-09 11:01 | expire t5               | done                    | 900 0 0 900  |                | 45 0 0 45
    03-09 11:02 | load bob 5 hold until 03-09 11:02 | create_transfer_schema |     |                |
    03-09 11:02 | load bob 5 hold until 06-07 11:03 | create_transfer_schema |     |                |
    03-09 11:02 | load bob 5 hold until 06-07 11:02 | done          | 900 5 0 895  |                | 45 0 5 45`,

  'a transfer is reversed in parts, up to the captured amount': `
    when        | step                    | answer                  | funding      | ann            | bob
    03-02 10:00 | load ann 100            | done                    | 900 0 0 900  | 100 0 0 100    | 0 0 0 0
    03-02 10:01 | move ann bob 80 hold    | done                    |              | 100 80 0 20    | 0 0 80 0
    03-02 10:02 | reverse t2              | invalid_transfer_status |              |                |
    03-02 10:03 | capture t2 50           | done                    |              | 50 0 0 50      | 50 0 0 50
    03-02 10:04 | reverse t2 51           | amount_too_large        |              |                |
    03-02 10:05 | reverse t2 30           | done                    |              | 80 0 0 80      | 20 0 0 20
    03-02 10:06 | unload bob 15 hold      | done                    | 900 0 15 900 |                | 20 15 0 5
    03-02 10:06 | reverse t2 6            | insufficient_funds      |              |                |
    03-02 10:06 | capture t3              | done                    | 915 0 0 915  |                | 5 0 0 5
    03-02 10:07 | reverse t2              | insufficient_funds      |              |                |
    03-02 10:08 | reverse t2 5            | done                    |              | 85 0 0 85      | 0 0 0 0
    03-02 10:09 | load bob 15             | done                    | 900 0 0 900  |                | 15 0 0 15
    03-02 10:10 | reverse t2              | done                    |              | 100 0 0 100    | 0 0 0 0
    03-02 10:11 | reverse t2              | invalid_transfer_status |              |                |
    03-02 10:12 | reverse t1 100          | done                    | 1000 0 0 1000 | 0 0 0 0       |`,

  'a due scheduled transfer is executed, fails, waits or is too late': `
    when        | step                                     | answer                 | funding      | ann
    03-02 10:00 | load ann 100 at 03-02 12:00              | done                   | 1000 0 0 1000 | 0 0 0 0
    03-02 10:01 | unload ann 100 at 03-02 12:00            | done                   |              |
    03-02 10:02 | load ann 10 at 03-02 12:00 hold until 03-02 13:00 | done          |              |
    03-02 10:03 | load ann 10 at 03-02 10:03               | create_transfer_schema |              |
    03-02 11:59 | execute t1                               | invalid_transfer_status |             |
    03-02 12:00 | execute t2                               | done                   |              |
    03-02 12:00 | = t2                                     | failed insufficient_funds |           |
    03-02 12:01 | switch off load                          | done                   |              |
    03-02 12:01 | execute t1                               | service_disabled       |              |
    03-02 12:02 | switch on load                           | done                   |              |
    03-02 12:02 | execute t1                               | done                   | 900 0 0 900  | 100 0 0 100
    03-02 13:00 | switch off load                          | done                   |              |
    03-02 13:00 | execute t3                               | done                   |              |
    03-02 13:00 | = t3                                     | expired                |              |
    03-02 13:00 | switch on load                           | done                   |              |
    03-02 13:01 | load ann 5 at 03-02 14:00                | done                   |              |
    03-02 13:02 | cancel t4                                | done                   |              |
    03-02 14:00 | execute t4                               | invalid_transfer_status |             |
    03-02 14:01 | load ann 10 at 2027-03-03 14:02          | create_transfer_schema |              |
    03-02 14:01 | load ann 10 at 2027-03-03 14:01          | done                   |              |`,

  'a daily limit counts the captured amount, on the local day of the hold': `
    when        | step                         | answer           | funding      | ann
    03-02 10:00 | limit ann in daily_amount 100 | done            | 1000 0 0 1000 | 0 0 0 0
    03-02 10:01 | load ann 60 hold             | done             | 1000 60 0 940 | 0 0 60 0
    03-02 10:02 | load ann 41                  | limit_exceeded   |              |
    03-02 10:03 | capture t1 20                | done             | 980 0 0 980  | 20 0 0 20
    03-02 10:04 | load ann 80                  | done             | 900 0 0 900  | 100 0 0 100
    03-02 10:05 | reverse t2                   | done             | 980 0 0 980  | 20 0 0 20
    03-02 10:06 | load ann 1                   | limit_exceeded   |              |
    03-02 22:59 | load ann 1                   | limit_exceeded   |              |
    03-02 23:00 | load ann 90 hold             | done             | 980 90 0 890 | 20 0 90 20
    03-02 23:01 | load ann 11                  | limit_exceeded   |              |
    03-03 23:00 | load ann 100                 | done             | 880 90 0 790 | 120 0 90 120
    03-03 23:01 | cancel t3                    | done             | 880 0 0 880  | 120 0 0 120
    03-03 23:02 | load ann 1                   | limit_exceeded   |              |
    03-03 23:03 | limit ann in daily_amount none | done           |              |
    03-03 23:03 | load ann 1                   | done             | 879 0 0 879  | 121 0 0 121`,

  'weeks begin on Monday, months on the first, and a limit may count transfers': `
    when        | step                           | answer         | funding      | ann
    03-06 10:00 | limit ann in weekly_amount 50  | done           | 1000 0 0 1000 | 0 0 0 0
    03-06 10:00 | limit ann in monthly_count 3   | done           |              |
    03-06 10:01 | load ann 50                    | done           | 950 0 0 950  | 50 0 0 50
    03-08 22:59 | load ann 1                     | limit_exceeded |              |
    03-08 23:00 | load ann 50                    | done           | 900 0 0 900  | 100 0 0 100
    03-15 23:00 | load ann 1 hold                | done           | 900 1 0 899  | 100 0 1 100
    03-15 23:01 | load ann 1                     | limit_exceeded |              |
    03-15 23:02 | cancel t3                      | done           | 900 0 0 900  | 100 0 0 100
    03-15 23:03 | load ann 2                     | done           | 898 0 0 898  | 102 0 0 102
    03-31 21:59 | load ann 3                     | limit_exceeded |              |
    03-31 22:00 | load ann 3                     | done           | 895 0 0 895  | 105 0 0 105`,

  'each limit of a period refuses until its period ends': `
    when        | step                             | answer         | funding       | ann
    03-02 10:00 | limit ann in daily_count 1       | done           | 1000 0 0 1000 | 0 0 0 0
    03-02 10:00 | limit ann in weekly_count 2      | done           |               |
    03-02 10:00 | limit ann in monthly_amount 60   | done           |               |
    03-02 10:01 | load ann 10                      | done           | 990 0 0 990   | 10 0 0 10
    03-02 22:59 | load ann 10                      | limit_exceeded |               |
    03-02 23:00 | load ann 10                      | done           | 980 0 0 980   | 20 0 0 20
    03-08 22:59 | load ann 10                      | limit_exceeded |               |
    03-08 23:00 | load ann 41                      | limit_exceeded |               |
    03-08 23:01 | load ann 40                      | done           | 940 0 0 940   | 60 0 0 60
    03-31 21:59 | load ann 1                       | limit_exceeded |               |
    03-31 22:00 | load ann 60                      | done           | 880 0 0 880   | 120 0 0 120`,

  'limits of the program, of each card and of the card': `
    when        | step                             | answer           | funding      | ann          | bob
    03-02 10:00 | limit cards in maximum_amount 50 | done             | 1000 0 0 1000 | 0 0 0 0     | 0 0 0 0
    03-02 10:00 | limit cards in minimum_amount 5  | done             |              |              |
    03-02 10:00 | limit ann in maximum_amount 70   | done             |              |              |
    03-02 10:00 | limit program in daily_amount 100 | done            |              |              |
    03-02 10:01 | load ann 71                      | amount_too_large |              |              |
    03-02 10:02 | load ann 70                      | done             | 930 0 0 930  | 70 0 0 70    |
    03-02 10:03 | load bob 51                      | amount_too_large |              |              |
    03-02 10:04 | load bob 4                       | amount_too_small |              |              |
    03-02 10:05 | load bob 31                      | limit_exceeded   |              |              |
    03-02 10:06 | load bob 5                       | done             | 925 0 0 925  |              | 5 0 0 5
    03-02 10:06 | load bob 25                      | done             | 900 0 0 900  |              | 30 0 0 30
    03-02 10:07 | move ann bob 50                  | done             |              | 20 0 0 20    | 80 0 0 80
    03-02 10:07 | limit bob in daily_amount 85     | done             |              |              |
    03-02 10:07 | move ann bob 6                   | limit_exceeded   |              |              |
    03-02 10:07 | move ann bob 5                   | done             |              | 15 0 0 15    | 85 0 0 85
    03-02 10:08 | limit ann out maximum_amount 10  | done             |              |              |
    03-02 10:09 | move ann bob 11                  | amount_too_large |              |              |
    03-02 10:10 | limit ann out maximum_amount 10  | unchanged        |              |              |`,

  'a maximum balance leaves room for money on hold': `
    when        | step                           | answer           | funding      | ann          | bob
    03-02 10:00 | limit cards maximum_balance 100 | done            | 1000 0 0 1000 | 0 0 0 0     | 0 0 0 0
    03-02 10:01 | load ann 60 hold               | done             | 1000 60 0 940 | 0 0 60 0    |
    03-02 10:02 | load ann 41                    | limit_exceeded   |              |              |
    03-02 10:03 | load ann 40                    | done             | 960 60 0 900 | 40 0 60 40   |
    03-02 10:04 | limit ann maximum_balance 90   | done             |              |              |
    03-02 10:05 | capture t1                     | limit_exceeded   |              |              |
    03-02 10:06 | capture t1 50                  | done             | 910 0 0 910  | 90 0 0 90    |
    03-02 10:07 | load bob 100                   | done             | 810 0 0 810  |              | 100 0 0 100
    03-02 10:08 | reverse t1 20                  | done             | 830 0 0 830  | 70 0 0 70    |
    03-02 10:09 | move bob ann 21                | limit_exceeded   |              |              |`,

  'a reference names one transfer that moved or may still move money': `
    when        | step                                | answer              | funding      | ann
    03-02 10:00 | load ann 10 hold until 03-02 11:00 ref a | done           | 1000 10 0 990 | 0 0 10 0
    03-02 10:01 | load ann 10 ref a                   | duplicate_reference |              |
    03-02 11:00 | load ann 10 ref a                   | done                | 990 10 0 980 | 10 0 10 10
    03-02 11:01 | reverse t2                          | done                | 1000 10 0 990 | 0 0 10 0
    03-02 11:02 | load ann 10 ref a                   | duplicate_reference |              |
    03-02 11:03 | unload ann 5 at 03-02 12:00 ref b   | done                |              |
    03-02 11:04 | load ann 10 ref b                   | duplicate_reference |              |
    03-02 12:00 | execute t3                          | done                |              |
    03-02 12:00 | = t3                                | failed insufficient_funds |        |
    03-02 12:01 | load ann 10 ref b                   | done                | 990 10 0 980 | 10 0 10 10`,

  'the switch stops all movements of money until it ends': `
    when        | step                         | answer               | funding      | ann
    03-02 10:00 | load ann 50                  | done                 | 950 0 0 950  | 50 0 0 50
    03-02 10:01 | unload ann 10 hold           | done                 | 950 0 10 950 | 50 10 0 40
    03-02 10:02 | switch off unload until 03-02 12:00 | done          |              |
    03-02 10:03 | capture t2                   | service_disabled     |              |
    03-02 10:04 | load ann 1                   | done                 | 949 0 10 949 | 51 10 0 41
    03-02 10:05 | card ann closed to funding   | service_disabled     |              |
    03-02 10:05 | card ann inactive            | done                 |              |
    03-02 10:05 | card ann active              | done                 |              |
    03-02 10:06 | switch off program           | done                 |              |
    03-02 10:07 | reverse t1                   | service_disabled     |              |
    03-02 10:08 | switch on unload             | done                 |              |
    03-02 10:09 | capture t2                   | service_disabled     |              |
    03-02 10:10 | cancel t2                    | done                 | 949 0 0 949  | 51 0 0 51
    03-02 10:11 | switch on program            | done                 |              |
    03-02 10:12 | switch off service until 03-02 12:00 | done         |              |
    03-02 11:59 | load ann 1                   | service_disabled     |              |
    03-02 12:00 | load ann 1                   | done                 | 948 0 0 948  | 52 0 0 52
    03-02 12:01 | switch off service until 03-02 12:01 | change_switch_schema |      |`,

  'a card is closed when nothing is on hold for it, and its balance goes to funding': `
    when        | step                         | answer               | funding      | ann          | bob
    03-02 10:00 | load ann 50                  | done                 | 950 0 0 950  | 50 0 0 50    | 0 0 0 0
    03-02 10:01 | load ann 10 hold             | done                 | 950 10 0 940 | 50 0 10 50   |
    03-02 10:02 | card ann closed to funding   | card_not_empty       |              |              |
    03-02 10:03 | cancel t2                    | done                 | 950 0 0 950  | 50 0 0 50    |
    03-02 10:04 | card ann closed              | card_not_empty       |              |              |
    03-02 10:05 | move ann bob 20              | done                 |              | 30 0 0 30    | 20 0 0 20
    03-02 10:06 | card ann closed to funding   | done                 | 980 0 0 980  | 0 0 0 0      |
    03-02 10:07 | card ann closed              | unchanged            |              |              |
    03-02 10:08 | card ann active              | invalid_card_status  |              |              |
    03-02 10:09 | reverse t3                   | card_closed          |              |              |
    03-02 10:10 | load ann 1                   | card_closed          |              |              |
    03-02 10:11 | reverse t1                   | insufficient_funds   |              |              |`,

  'a card expires after its last local day': `
    when        | step                         | answer               | funding      | ann
    03-02 10:00 | load ann 50                  | done                 | 950 0 0 950  | 50 0 0 50
    03-02 10:01 | card ann expires 2026-03-03  | done                 |              |
    03-03 22:59 | load ann 5 hold              | done                 | 950 5 0 945  | 50 0 5 50
    03-03 23:00 | load ann 5                   | card_expired         |              |
    03-03 23:01 | capture t2                   | card_expired         |              |
    03-03 23:02 | card ann inactive            | invalid_card_status  |              |
    03-03 23:03 | unload ann 20                | done                 | 970 5 0 965  | 30 0 5 30
    03-03 23:04 | card ann expires 2026-03-31  | done                 |              |
    03-03 23:05 | capture t2                   | done                 | 965 0 0 965  | 35 0 0 35`,

  'funding that falls below the threshold is reported once': `
    when        | step                  | answer           | funding      | ann
    03-02 10:00 | threshold 900         | done             | 1000 0 0 1000 | 0 0 0 0
    03-02 10:01 | load ann 100 hold     | done             | 1000 100 0 900 | 0 0 100 0
    03-02 10:02 | load ann 1            | done, low at 899 | 999 100 0 899 | 1 0 100 1
    03-02 10:03 | load ann 1            | done             | 998 100 0 898 | 2 0 100 2
    03-02 10:04 | cancel t1             | done             | 998 0 0 998  | 2 0 0 2
    03-02 10:05 | withdraw 99           | done, low at 899 | 899 0 0 899  |
    03-02 10:06 | threshold none        | done             |              |
    03-02 10:07 | threshold 900         | done, low at 899 |              |`,

  'only a report of the processor ends a transfer of its card': `
    when        | step                   | answer                  | funding      | pro            | suspense
    03-02 10:00 | limit pro in daily_amount 100 | done             | 1000 0 0 1000 | 0 0 0 0       | 0 0 0 0
    03-02 10:01 | load pro 10 hold       | connector_not_supported |              |                |
    03-02 10:02 | move pro ann 10        | connector_not_supported |              |                |
    03-02 10:03 | load pro 60            | done                    | 1000 60 0 940 | 0 0 60 0      |
    03-02 10:04 | cancel t1              | invalid_transfer_status |              |                |
    03-02 10:05 | load pro 41            | limit_exceeded          |              |                |
    03-02 10:06 | report t1 executed     | done                    | 940 0 0 940  | 60 0 0 60      |
    03-02 10:07 | report t1 executed     | invalid_transfer_status |              |                |
    03-02 10:08 | reverse t1             | connector_not_supported |              |                |
    03-02 10:09 | unload pro 90          | done                    | 940 0 90 940 | 60 90 0 -30    |
    03-02 10:10 | report t2 failed       | done                    | 940 0 0 940  | 60 0 0 60      |
    03-02 10:11 | late t1                | invalid_transfer_status |              |                |
    03-02 10:12 | late t2                | done                    |              | -30 0 0 -30    | 90 0 0 90
    03-02 10:13 | load pro 40            | done                    | 940 40 0 900 | -30 0 40 -30   |
    03-02 10:14 | card pro closed        | card_not_empty          |              |                |
    03-02 10:15 | report t3 failed       | done                    | 940 0 0 940  | -30 0 0 -30    |
    03-02 10:16 | card pro closed        | done                    |              |                |`,
};

const [PROGRAM, CURRENCY] = ['berlin', 'USD'];

/** The accounts by their names in the tables. */
const accountOf = (name: string): string =>
  ({ funding: fundingOf(PROGRAM, CURRENCY), suspense: suspenseOf(PROGRAM, CURRENCY) })[name] ?? name;

function opened(): Model {
  const model = new Model();
  const { books } = model;
  const program = { zone: 'Europe/Berlin', currency: CURRENCY, limits: null, cardLimits: null, threshold: null };
  books.programs.set(PROGRAM, program);
  for (const name of ['ann', 'bob', 'pro']) {
    const card = { program: PROGRAM, currency: CURRENCY, isElsewhere: name === 'pro', expiresOn: null, limits: null };
    books.cards.set(name, { ...card, status: 'active' });
  }
  books.move(worldOf(PROGRAM, CURRENCY), fundingOf(PROGRAM, CURRENCY), 1000n);
  return model;
}

/** Reads a step. `hold`, `until`, `at` and `ref` with their values are optional and can be in any order. */
function changeOf(step: string, { books }: Model): Change {
  const [does = '', name = '', ...rest] = step.split(' ');
  const after = (word: string): string | undefined => step.split(` ${word} `)[1];
  const time = (word: string): number | null => (after(word) === undefined ? null : timeOf(after(word) ?? ''));
  const reference = after('ref')?.split(' ')[0] ?? null;
  const amount = rest[0] === undefined ? null : BigInt(/^\d+$/.test(rest[0]) ? rest[0] : 0);
  const id = `t${books.transfers.size + 1}`;
  const program = PROGRAM;
  switch (does) {
    case 'load':
    case 'unload':
    case 'move': {
      const type: TransferType = does === 'move' ? 'card_to_card' : does;
      const [destination, sum] = does === 'move' ? [rest[0] ?? '', rest[1]] : [null, rest[0]];
      const capture = step.includes(' hold') ? 'manual' : 'automatic';
      const terms = {
        program,
        type,
        amount: BigInt(sum ?? 0),
        card: name,
        destination,
        currency: null,
        reference,
      } as const;
      return { does: 'create', id, asked: { ...terms, capture, expiresAt: time('until'), scheduledFor: time('at') } };
    }
    case 'capture':
    case 'reverse':
      return { does, transfer: name, amount };
    case 'cancel':
    case 'expire':
    case 'execute':
      return { does, transfer: name };
    case 'report':
      return { does, transfer: name, wasExecuted: rest[0] === 'executed' };
    case 'late':
      return { does: 'report_late', transfer: name };
    case 'deposit':
    case 'withdraw':
      return { does, program, currency: CURRENCY, amount: BigInt(name), reference };
    case 'threshold':
      return { does: 'update_program', program, threshold: name === 'none' ? null : BigInt(name) };
    case 'limit': {
      const { limits, cardLimits } = books.program(program);
      if (name === 'program') return { does: 'update_program', program, limits: withLimit(limits, rest) };
      if (name === 'cards') return { does: 'update_program', program, cardLimits: withLimit(cardLimits, rest) };
      return { does: 'update_card', program, card: name, sweep: id, limits: withLimit(books.card(name).limits, rest) };
    }
    case 'card': {
      const balanceTo = step.endsWith('to funding') ? 'funding' : null;
      if (rest[0] === 'expires')
        return { does: 'update_card', program, card: name, sweep: id, expiresOn: rest[1] ?? '' };
      return { does: 'update_card', program, card: name, sweep: id, status: rest[0] as CardStatus, balanceTo };
    }
    case 'switch': {
      const [scope = ''] = rest;
      const type = ['load', 'unload', 'card_to_card'].find((each) => each === scope) as TransferType | undefined;
      const of = { program: scope === 'service' ? null : program, type: type ?? null };
      return { does: 'change_switch', ...of, disabled: name === 'off', until: time('until') };
    }
    default:
      throw new Error(`no step begins with '${does}'`);
  }
}

/** Reads a time. A time without a year is in 2026. */
function timeOf(text: string): number {
  const [, year = '2026', rest] = /^(?:(\d{4})-)?(\d\d-\d\d \d\d:\d\d)/.exec(text) ?? [];
  return Date.parse(`${year}-${rest?.replace(' ', 'T')}:00Z`);
}

function withLimit(limits: Limits | null, words: readonly string[]): Limits {
  const before = limits ?? { in: {}, out: {}, maximumBalance: null };
  const value = words.at(-1) === 'none' ? undefined : BigInt(words.at(-1) ?? 0);
  const [direction = '', name = ''] = words;
  if (direction !== 'in' && direction !== 'out') return { ...before, maximumBalance: value ?? null };
  return { ...before, [direction]: { ...before[direction], [name]: value } };
}

/** Performs a step and returns its answer in the form of the tables. `= t1` only reads the status of a transfer. */
function answerTo(step: string, model: Model): string {
  if (step.startsWith('= ')) {
    const { status, errorCode } = model.books.transfer(step.slice(2));
    return errorCode === null ? status : `${status} ${errorCode}`;
  }
  const refused = model.perform(changeOf(step, model));
  const low = model.low.splice(0).map(({ available }) => `, low at ${available}`);
  return refused?.code ?? `done${low.join('')}`;
}

test.each(Object.entries(TABLES))('%s', (_title, table) => {
  const model = opened();
  const [head = [], ...rows] = table
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((field) => field.trim()));
  const accounts = head.slice(3);
  let before: readonly string[] = accounts.map(() => '0 0 0 0');
  for (const [when = '', step = '', answer, ...figures] of rows) {
    model.books.now = timeOf(when);
    const expected = before.map((last, index) => figures[index] || last);
    const found = answerTo(step, model);
    const sums = accounts.map((name) => {
      const { balance, held, incoming } = model.books.sums(accountOf(name));
      return [balance, held, incoming, balance - held].join(' ');
    });
    expect([step, found, ...sums]).toEqual([step, answer, ...expected]);
    before = expected;
  }
  const all = [worldOf(PROGRAM, CURRENCY), ...['funding', 'suspense', 'ann', 'bob', 'pro'].map(accountOf)];
  expect(all.reduce((total, account) => total + model.books.sums(account).balance, 0n)).toBe(0n);
});

test.each([...LIMIT_NAMES, 'maximum_balance'])('the limit %s has an example', (name) => {
  expect(Object.values(TABLES).join('\n')).toMatch(new RegExp(`\\| limit .*\\b${name} [0-9]`));
});

/** For each status: the answers to a load and to an unload, and the statuses that the card can change to. */
const STATUSES: Readonly<Record<CardStatus, readonly [load: string, unload: string, next: string]>> = {
  preactive: ['card_not_activated', 'card_not_activated', 'active inactive lost stolen fraud closed'],
  active: ['done', 'done', 'inactive lost stolen fraud closed'],
  inactive: ['card_suspended', 'card_suspended', 'active lost stolen fraud closed'],
  lost: ['card_lost', 'done', 'active inactive stolen fraud closed'],
  stolen: ['card_lost', 'done', 'closed'],
  fraud: ['card_suspected_fraud', 'card_suspected_fraud', 'active inactive stolen closed'],
  expired: ['card_expired', 'done', 'lost stolen fraud closed'],
  closed: ['card_closed', 'card_closed', ''],
};
const ALL = Object.keys(STATUSES) as readonly CardStatus[];

test.each(ALL)('a card that is %s moves money and changes its status by the rules', (status) => {
  const [load, unload, next] = STATUSES[status];
  const model = opened();
  model.perform(changeOf('load ann 100', model));
  model.books.card('ann').status = status;
  expect(answerTo('load ann 1', model)).toBe(load);
  expect(answerTo('unload ann 1', model)).toBe(unload);
  const allowed = ALL.filter((other) => {
    const change = changeOf(`card ann ${other} to funding`, model);
    return other !== status && model.refuse(change)?.code !== 'invalid_card_status';
  });
  expect(allowed.toSorted()).toEqual(
    next
      .split(' ')
      .filter((word) => word !== '')
      .toSorted(),
  );
});
