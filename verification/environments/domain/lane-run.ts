import type pg from 'pg';
import { contradictionIn } from '../../../domain/ledger/limits.ts';
import { HOLD_SWITCH } from '../../../server/store/locks.ts';
import { openTransferLane, type TransferLane } from '../../../server/subjects/transfers/lane.ts';
import type { Ledger } from '../../../test/harness/ledger.ts';
import { LaneLedger, setClock, shown } from './lane-ledger.ts';
import type { Command } from './transfer-commands.ts';
import { type CreateHistory, Run } from './transfer-run.ts';
import type { Refused, Step } from './transfer-steps.ts';
import { DOMAIN } from './transfer-world.ts';

/** Small groups, so that many of them follow each other. */
const BOUNDS = { batch: 8, waiting: 4096, remembered: { accounts: 4, bytes: 10_000 } };

/** The number of steps in a run, and the problems that it found. */
export type LaneRun = { readonly steps: number; readonly problems: readonly string[] };

/** `next` decides whether a new lane replaces the current one. The new lane remembers nothing. */
export type Lanes = { readonly next: () => boolean; readonly onLane?: (lane: TransferLane) => void };

/**
 * Runs several stories at the same time through one lane, each in its own program. The requests about transfers are
 * sent without waiting for the responses, so groups follow each other closely. The results must match the plain model
 * in the order of the requests. Programs and cards change between two such bursts. The first story sets the clock and
 * the switch of the whole service.
 */
export async function runThroughLane(
  client: pg.Client,
  ledger: Ledger,
  stories: readonly CreateHistory[],
  lanes: Lanes,
): Promise<LaneRun> {
  const [first] = stories;
  if (first === undefined) return { steps: 0, problems: [] };
  const [{ now }] = first;
  await client.query('delete from switch');
  await setClock(client, now);
  const tellers = stories.map(
    ([opening, commands], index) => new Teller(client, ledger, [{ ...opening, now }, commands], index === 0),
  );
  for (const teller of tellers) await teller.open();
  let lane: TransferLane | undefined;
  for (let left = true; left; ) {
    if (lane === undefined || lanes.next()) {
      lane = openTransferLane(ledger.databases.application, { compactsPayloads: true, bounds: BOUNDS });
      lanes.onLane?.(lane);
    }
    const current = lane;
    await Promise.all(tellers.map((teller) => teller.burst(current)));
    left = false;
    for (const teller of tellers) {
      const step = await teller.arrange();
      left ||= step !== undefined;
      if (step === undefined || teller !== tellers[0]) continue;
      if (step.does === 'wait_until') await setClock(client, step.now);
      if (step.does === 'wait_until' || isForAll(step)) for (const each of tellers.slice(1)) each.follow(step);
    }
  }
  for (const teller of tellers) await teller.compare();
  return {
    steps: tellers.reduce((sum, { steps }) => sum + steps, 0),
    problems: tellers.flatMap(({ problems }) => problems),
  };
}

function isForAll(step: Step): boolean {
  return step.does === 'switch' && step.setting.program === null;
}

/** Runs one story through a lane. */
class Teller {
  steps = 0;
  readonly problems: string[] = [];
  readonly #client: pg.Client;
  readonly #run: Run;
  readonly #place: LaneLedger;
  readonly #opening: CreateHistory[0];
  readonly #commands: Command[];
  /** The remaining steps of the current command. */
  #ahead: Step[] = [];
  readonly #told: string[] = [];
  /** The requests that create transfers, by the number of the transfer. */
  readonly #arriving = new Map<number, Promise<void>>();
  readonly #isFirst: boolean;

  constructor(client: pg.Client, ledger: Ledger, [opening, commands]: CreateHistory, isFirst: boolean) {
    this.#isFirst = isFirst;
    this.#client = client;
    this.#opening = opening;
    this.#run = new Run(opening, DOMAIN, new Map());
    this.#place = new LaneLedger(client, ledger);
    this.#commands = [...commands];
  }

  open(): Promise<void> {
    return this.#place.open(this.#opening);
  }

  /** Sends the next requests about transfers, up to the first step about something else. Waits for all responses. */
  async burst(lane: TransferLane): Promise<void> {
    const sent: Promise<void>[] = [];
    for (let step = this.#peek(); step !== undefined; step = this.#peek()) {
      if (step.does !== 'create' && !('transfer' in step)) break;
      // A change of a transfer needs its id.
      if ('transfer' in step) await this.#arriving.get(step.transfer);
      // A reference becomes free when the end of its transfer is committed.
      if (step.does === 'create' && this.#namesakes(step).length > 0) await Promise.all(sent);
      this.#ahead.shift();
      const index = this.#run.model.transfers.length;
      const sending = this.#send(lane, step, index);
      if (step.does === 'create') this.#arriving.set(index, sending);
      sent.push(sending);
    }
    await Promise.all(sent);
  }

  async #send(lane: TransferLane, step: Step, index: number): Promise<void> {
    const request = this.#place.requestOf(step);
    if (request === undefined) throw new Error(`${step.does} is not about a transfer`);
    const expected = this.#take(step);
    const found = await this.#place.submit(lane, request, index);
    this.#judge(step, expected, found);
  }

  /** Changes the program or a card. Returns the step, or undefined at the end of the story. */
  async arrange(): Promise<Step | undefined> {
    const step = this.#peek();
    if (step === undefined) return undefined;
    this.#ahead.shift();
    const transfers = this.#run.model.transfers.length;
    const expected = this.#take(step);
    if (step.does === 'switch') await this.#throwSwitch(step.setting);
    else if (step.does !== 'wait_until') this.#judge(step, expected, await this.#place.arrange(step, transfers));
    return step;
  }

  /** Applies a step of the first story that affects all programs. */
  follow(step: Step): void {
    this.#take(step);
  }

  #take(step: Step): Refused | null {
    this.steps += 1;
    this.#told.push(JSON.stringify(step, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));
    return this.#run.take(step);
  }

  #judge(step: Step, expected: Refused | null, found: Refused | null): void {
    if (expected?.code === found?.code && (found?.about ?? '').includes(expected?.about ?? '')) return;
    this.#say(
      `${step.does}: ${found?.code ?? 'done'} (${found?.about}) instead of ${expected?.code ?? 'done'} (${expected?.about})`,
    );
  }

  /** The next step of the story that is possible here. */
  #peek(): Step | undefined {
    for (;;) {
      const [step] = this.#ahead;
      if (step !== undefined) return step;
      const command = this.#commands.shift();
      if (command === undefined) return undefined;
      this.#ahead = this.#run.stepsOf(command).flatMap((each) => this.#fit(each));
    }
  }

  /** The numbers of the earlier transfers with the same reference as a new one. */
  #namesakes({ asked }: Extract<Step, { does: 'create' }>): readonly number[] {
    const { transfers } = this.#run.model;
    return transfers.flatMap(({ reference }, at) => (reference !== null && reference === asked.reference ? [at] : []));
  }

  /** Leaves out steps that the database cannot store, and adds the steps that the lane takes automatically. */
  #fit(step: Step): readonly Step[] {
    if (step.does === 'create') {
      const { books, transfers } = this.#run.model;
      const isOver = (at: number): boolean =>
        transfers[at]?.status === 'pending' && (transfers[at].expiresAt ?? books.now + 1) <= books.now;
      const expired = this.#namesakes(step).filter(isOver);
      return [...expired.map((transfer) => ({ does: 'expire', transfer }) as const), step];
    }
    if (step.does === 'put_card_status' && step.status === 'expired') return [{ ...step, status: 'lost' }];
    // The database accepts limits that contradict each other, but update_card refuses them.
    if (step.does === 'update_card') {
      const limits = step.limits ?? this.#run.model.books.cards.get(step.card)?.limits ?? null;
      if (limits !== null && contradictionIn(limits) !== undefined) return [];
    }
    const isOfAll = step.does === 'wait_until' || isForAll(step);
    if (isOfAll && !this.#isFirst) return [];
    if (step.does === 'switch' && step.setting.program === null && step.setting.type !== null) {
      return [{ ...step, setting: { ...step.setting, type: null } }];
    }
    return [step];
  }

  async #throwSwitch({ program, type, disabled, until }: Extract<Step, { does: 'switch' }>['setting']): Promise<void> {
    if (program === 'other') return;
    await this.#client.query('begin');
    await this.#client.query(HOLD_SWITCH.text);
    await this.#client.query(
      `insert into switch (switch_id, program_id, transfer_type, disabled, reason, actor, since, until)
        values (gen_random_uuid(), $1, $2, $3, 'test', 'test', now(), $4)
        on conflict (program_id, transfer_type) do update set disabled = excluded.disabled, until = excluded.until`,
      [program === null ? null : this.#place.programId, type, disabled, until === null ? null : new Date(until)],
    );
    await this.#client.query('commit');
  }

  /** Compares the books with the model. */
  async compare(): Promise<void> {
    const found = await this.#place.facts();
    const { books } = this.#run.world;
    const expected = new Map<string, string>([
      ...[...books.accounts].map(
        ([name, { balance, held, incoming, sequence }]) =>
          [`account ${name}`, [balance, held, incoming, sequence].join(' ')] as const,
      ),
      ...books.transfers.map((transfer, index) => {
        const { status, capturedAmount, reversedAmount, completedAt, updatedAt, error } = transfer;
        const code = error === null ? null : Reflect.get(error, 'Code');
        return [
          `transfer ${index}`,
          [status, capturedAmount, reversedAmount, shown(completedAt), shown(updatedAt), code].join(' '),
        ] as const;
      }),
    ]);
    for (const name of new Set([...found.keys(), ...expected.keys()])) {
      if (found.get(name) !== expected.get(name))
        this.#say(`${name} is ${found.get(name)} instead of ${expected.get(name)}`);
    }
  }

  #say(problem: string): void {
    this.problems.push(`${problem}\n${this.#told.map((step, index) => `${index + 1}. ${step}`).join('\n')}`);
  }
}
