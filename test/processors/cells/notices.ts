import { equal } from 'node:assert/strict';
import { waitFor } from '../../harness/process.ts';
import type { End, Trial } from '../trial.ts';
import type { Cell, Incident, Pair } from './cell.ts';

const COMPLETED: readonly End[] = ['completed, executed 1'];

/** Begins transfers to which the processor answers pending, then executes them. */
async function executeLater(trial: Trial): Promise<void> {
  await trial.begin(() => ({ executes: false, reply: 'pending' }));
  await trial.untilAttempts("status = 'pending'");
  for (const id of trial.transferIds) trial.stage.processor.execute(id);
}

/** Sends a notice until its response has this status. */
async function untilAnswered(trial: Trial, id: string, facts: object, status: number, isSlow = false): Promise<void> {
  const delivery = isSlow ? 'slow' : 'whole';
  const isAnswered = async () => (await trial.stage.tryToNotify(id, facts, delivery)) === status;
  await waitFor(`a notice to be answered with ${status}`, isAnswered);
}

/** Returns a cell about notices for `pending` transfers. `come` delivers the notices. */
const cell = (name: string, fault: Pair, come: (trial: Trial, id: string) => Promise<void>): Cell => ({
  name: `notice: ${name}`,
  pairs: [fault],
  way: 'inquired',
  ends: COMPLETED,
  arrive: async (trial) => {
    await executeLater(trial);
    for (const id of trial.transferIds) await come(trial, id);
  },
});

const approved = (id: string) => ({ status: 'approved', notice_id: `notice ${id}` });

const BADLY_SENT: readonly Cell[] = [
  cell('pending, then approved', 'notice: reordered', (trial, id) => trial.stage.notify(id, 'approved', `later ${id}`)),
  cell('never sent', 'notice: silence', async () => undefined),
  cell('sent again after its response was lost', 'notice: cut', async (trial, id) => {
    await trial.stage.tryToNotify(id, approved(id), 'cut');
    await untilAnswered(trial, id, approved(id), 200);
  }),
  cell('byte by byte', 'notice: slow', (trial, id) => untilAnswered(trial, id, approved(id), 200, true)),
  cell('malformed, then well-formed', 'notice: malformed', async (trial, id) => {
    await untilAnswered(trial, id, { ...approved(id), amount: 'ten' }, 400);
    await untilAnswered(trial, id, approved(id), 200);
  }),
  {
    ...cell('with a wrong amount, then with the right one', 'notice: wrong amount', async (trial, id) => {
      await untilAnswered(trial, id, { ...approved(id), notice_id: `wrong ${id}`, amount: 999 }, 200);
      await untilAnswered(trial, id, approved(id), 200);
    }),
    after: async (trial) => {
      await trial.untilAllIsHeard();
      const breaks = `select from processor_break where 'tr_' || replace(transfer_id::text, '-', '') = $1`;
      for (const id of trial.transferIds) equal((await trial.stage.query(breaks, [id])).length, 1, 'one break');
    },
  },
];

/** Cells with notices in every order relative to the processor's answers. */
const BESIDE_ANSWERS: readonly Cell[] = [
  {
    name: 'notice: twice, after the answer',
    pairs: ['notice: twice'],
    way: 'inquired',
    ends: COMPLETED,
    arrive: async (trial) => {
      await trial.begin();
      await trial.untilAsked('send');
      for (const id of trial.transferIds) await trial.stage.notify(id, 'approved', `after ${id}`);
      for (const id of trial.transferIds) await trial.stage.notify(id, 'approved', `after ${id}`);
      for (const id of trial.transferIds) await trial.stage.notify(id, 'approved', `again ${id}`);
    },
  },
  {
    name: 'notice: before the answer',
    pairs: ['notice: reordered', 'read: reordered'],
    way: 'inquired',
    ends: COMPLETED,
    arrive: async (trial) => {
      await trial.begin(() => ({ executes: true, reply: 'malformed', until: trial.hold.held }));
      await trial.untilAsked('send');
      for (const id of trial.transferIds) await trial.stage.notify(id, 'approved', `before ${id}`);
    },
    after: async (trial) => {
      await trial.untilEnded();
      trial.hold.release();
    },
  },
  {
    name: 'notice: approved, then pending, then the answer',
    pairs: ['notice: reordered', 'read: reordered', 'record: reordered'],
    way: 'inquired',
    ends: COMPLETED,
    arrive: async (trial) => {
      await trial.begin(() => ({ executes: true, reply: 'answer', until: trial.hold.held }));
      await trial.untilAsked('send');
      for (const id of trial.transferIds) {
        await trial.stage.notify(id, 'approved', `first ${id}`);
        await trial.stage.notify(id, 'pending', `second ${id}`);
      }
    },
    after: async (trial) => {
      await trial.untilEnded();
      trial.hold.release();
    },
  },
  {
    name: 'notice: approved, after a declined order',
    pairs: ['notice: reordered'],
    way: 'inquired',
    ends: ['failed, executed 1 late'],
    arrive: async (trial) => {
      await trial.begin(() => ({ executes: false, reply: 'decline' }));
      await trial.untilAttempts("status = 'declined'");
      for (const id of trial.transferIds) {
        trial.stage.processor.execute(id);
        for (const time of ['once', 'twice']) await trial.stage.notify(id, 'approved', `${time} ${id}`);
      }
    },
  },
  {
    name: 'record: an answer and a notice at the same time',
    pairs: ['record: twice'],
    way: 'inquired',
    ends: COMPLETED,
    arrive: async (trial) => {
      await trial.begin(() => ({ executes: true, reply: 'answer', until: trial.hold.held }));
      await trial.untilAsked('send');
    },
    approach: async (trial) => {
      await trial.stage.gates.close('record', trial.connectorId);
      trial.hold.release();
      for (const id of trial.transferIds) await trial.stage.notify(id, 'approved', `beside ${id}`);
    },
  },
];

/** Returns cells with an incident while a notice is stored, or while its effects are written. */
export function atNotice(incident: Incident, pair: Pair): readonly Cell[] {
  return (['stored', 'noticed'] as const).map((gate) => ({
    name: `before ${gate}: ${incident}`,
    pairs: [pair],
    way: 'inquired',
    ends: COMPLETED,
    incident,
    isAtGate: true,
    arrive: executeLater,
    approach: async (trial) => {
      await trial.stage.gates.close(gate, trial.connectorId);
      const all = trial.transferIds.map((id) => trial.stage.notify(id, 'approved', `meanwhile ${id}`));
      trial.goOn(Promise.all(all));
    },
    after: (trial) => trial.whenDone(),
  }));
}

/** All cells with notices from the processor. */
export const NOTICES: readonly Cell[] = [...BADLY_SENT, ...BESIDE_ANSWERS];
