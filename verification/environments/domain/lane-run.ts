import type pg from 'pg';
import { HOLD_SWITCH } from '../../../server/store/locks.ts';
import { openTransferLane, type TransferLane } from '../../../server/subjects/transfers/lane.ts';
import type { Ledger } from '../../../test/harness/ledger.ts';
import { Random } from '../../../test/harness/random.ts';
import { Coverage } from '../../generators/commands.ts';
import type { Transfer } from '../../model/books.ts';
import type { Command, OpeningProgram } from '../../model/commands.ts';
import type { Refused } from '../../model/model.ts';
import { isAboutTransfer, LaneLedger, setClock, shown } from './lane-ledger.ts';
import { Run, type Story } from './run.ts';
import { DOMAIN } from './world.ts';

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
  stories: readonly Story[],
  lanes: Lanes,
): Promise<LaneRun> {
  const [first] = stories;
  if (first === undefined) return { steps: 0, problems: [] };
  const { now } = first.opening;
  await client.query('delete from switch');
  await setClock(client, now);
  const tellers = stories.map((story, index) => new Teller(client, ledger, { story, now, isFirst: index === 0 }));
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

function isForAll(step: Command): boolean {
  return step.does === 'change_switch' && step.setting.program === null;
}

/** Runs one story through a lane. */
class Teller {
  steps = 0;
  readonly problems: string[] = [];
  readonly #client: pg.Client;
  readonly #run: Run;
  readonly #place: LaneLedger;
  readonly #opening: OpeningProgram;
  readonly #story: Story;
  #drawn = 0;
  /** The next commands. */
  #ahead: Command[] = [];
  readonly #told: string[] = [];
  /** The requests that create transfers, by the number of the transfer. */
  readonly #arriving = new Map<number, Promise<void>>();
  readonly #isFirst: boolean;

  constructor(
    client: pg.Client,
    ledger: Ledger,
    { story, now, isFirst }: { readonly story: Story; readonly now: number; readonly isFirst: boolean },
  ) {
    const [opening] = story.opening.programs;
    if (opening === undefined) throw new Error('there is no program');
    this.#isFirst = isFirst;
    this.#client = client;
    this.#opening = opening;
    this.#story = story;
    this.#run = new Run({ ...story.opening, now }, DOMAIN, new Coverage());
    this.#place = new LaneLedger(client, ledger);
  }

  open(): Promise<void> {
    return this.#place.open(this.#opening);
  }

  /** Sends the next requests about transfers, up to the first step about something else. Waits for all responses. */
  async burst(lane: TransferLane): Promise<void> {
    const sent: Promise<void>[] = [];
    for (let step = this.#peek(); step !== undefined; step = this.#peek()) {
      if (step.does !== 'create' && !isAboutTransfer(step)) break;
      // A change of a transfer needs its id.
      if (isAboutTransfer(step)) await this.#arriving.get(Number(step.transfer));
      // A reference becomes free when the end of its transfer is committed.
      if (step.does === 'create' && this.#namesakes(step).length > 0) await Promise.all(sent);
      this.#ahead.shift();
      const index = this.#run.serial.books.transfers.size;
      const sending = this.#send(lane, step, index);
      if (step.does === 'create') this.#arriving.set(index, sending);
      sent.push(sending);
    }
    await Promise.all(sent);
  }

  async #send(lane: TransferLane, step: Command, index: number): Promise<void> {
    const request = this.#place.requestOf(step);
    if (request === undefined) throw new Error(`${step.does} is not about a transfer`);
    const expected = this.#take(step);
    const found = await this.#place.submit(lane, request, index);
    this.#judge(step, expected, found);
  }

  /** Changes the program or a card, if that is next. Returns the next step, or undefined at the end of the story. */
  async arrange(): Promise<Command | undefined> {
    const step = this.#peek();
    if (step === undefined || step.does === 'create' || isAboutTransfer(step)) return step;
    this.#ahead.shift();
    const transfers = this.#run.serial.books.transfers.size;
    const expected = this.#take(step);
    if (step.does === 'change_switch') await this.#throwSwitch(step.setting);
    else if (step.does !== 'wait_until') this.#judge(step, expected, await this.#place.arrange(step, transfers));
    return step;
  }

  /** Applies a step of the first story that affects all programs. The next command is drawn again, because it can depend on it. */
  follow(step: Command): void {
    this.#take(step);
    if (this.#ahead.length === 0) return;
    this.#ahead = [];
    this.#drawn -= 1;
  }

  #take(step: Command): Refused | null {
    this.steps += 1;
    this.#told.push(JSON.stringify(step, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));
    return this.#run.take(step);
  }

  #judge(step: Command, expected: Refused | null, found: Refused | null): void {
    if (expected?.code === found?.code && (found?.about ?? '').includes(expected?.about ?? '')) return;
    this.#say(
      `${step.does}: ${found?.code ?? 'done'} (${found?.about}) instead of ${expected?.code ?? 'done'} (${expected?.about})`,
    );
  }

  /** The next command of the story that is possible here. */
  #peek(): Command | undefined {
    for (;;) {
      const [command] = this.#ahead;
      if (command !== undefined) return command;
      const number = this.#story.commands[this.#drawn];
      if (number === undefined) return undefined;
      this.#drawn += 1;
      this.#ahead = [...this.#fit(this.#run.next(new Random(this.#story.seed, number)))];
    }
  }

  /** The earlier transfers with the same reference as a new one. */
  #namesakes({ asked }: Extract<Command, { does: 'create' }>): readonly (readonly [string, Transfer])[] {
    const { reference } = asked;
    return [...this.#run.serial.books.transfers].filter(([, one]) => reference !== null && one.reference === reference);
  }

  /** Leaves out commands that the database cannot store, and adds the ones that the lane takes automatically. */
  #fit(command: Command): readonly Command[] {
    if (command.does === 'create') {
      const { books } = this.#run.serial;
      const isOver = ({ status, expiresAt }: Transfer): boolean =>
        status === 'pending' && (expiresAt ?? books.now + 1) <= books.now;
      const expired = this.#namesakes(command).filter(([, transfer]) => isOver(transfer));
      return [...expired.map(([transfer]) => ({ does: 'expire', transfer }) as const), command];
    }
    if (command.does === 'put_card_status' && command.status === 'expired') return [{ ...command, status: 'lost' }];
    const isOfAll = command.does === 'wait_until' || isForAll(command);
    return isOfAll && !this.#isFirst ? [] : [command];
  }

  async #throwSwitch({
    program,
    type,
    disabled,
    until,
  }: Extract<Command, { does: 'change_switch' }>['setting']): Promise<void> {
    if (program === 'another') return;
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
