import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { NO_API_KEY } from '../../../domain/transfers/transfer.ts';
import { fromLimits } from '../../../server/store/ledger/limits.ts';
import type { TransferLane } from '../../../server/subjects/transfers/lane.ts';
import type { TransferRequest } from '../../../server/subjects/transfers/request.ts';
import type { Ledger } from '../../../test/harness/ledger.ts';
import type { Command, LimitChange, OpeningProgram } from '../../model/commands.ts';
import type { Refused } from '../../model/model.ts';
import { CURRENCIES } from './facts.ts';

/** The longest wait, in milliseconds. It finds a lane that hangs, but not a slow machine. */
const MAX_WAIT_MILLISECONDS = 120_000;

/** A clock that stands still until {@link setClock} changes it. */
const FREEZE_CLOCK = `
  create table frozen_clock (now timestamptz not null);
  insert into frozen_clock values (now());
  grant select on frozen_clock to public;
  create or replace function service_now() returns timestamptz language sql volatile as $$
    select now from frozen_clock
  $$`;

/** Stops the clock of a ledger. */
export async function freezeClock(client: pg.Client): Promise<void> {
  await client.query(FREEZE_CLOCK);
}

/** Sets the clock. It then stands still. */
export async function setClock(client: pg.Client, now: number): Promise<void> {
  await client.query('update frozen_clock set now = $1', [new Date(now)]);
}

/** Inserts the program, its accounts and its cards, with the postings that explain their balances. */
const OPEN = `
  with program_made as (
    insert into program (program_id, name, currency, time_zone, limits, card_limits, created_at)
    values ($1, 'Story', 'USD', $2, $3, $4, now())
  ), opened as (
    select * from jsonb_to_recordset($5) as opened(
      account_id uuid, kind text, owner_id uuid, currency text, balance bigint, sequence bigint
    )
  ), account_made as (
    insert into account (program_id, account_id, kind, owner_id, currency, balance, floor, sequence, created_at)
    select $1, account_id, kind, owner_id, currency, balance, case when kind <> 'world' then 0 end, sequence, now()
    from opened
  ), posting_made as (
    insert into posting (program_id, cause_id, index, purpose, source_account_id, destination_account_id, amount, currency,
      source_balance, destination_balance, source_sequence, destination_sequence, created_at)
    select $1, gen_random_uuid(), 0, 'deposit', source_account_id, destination_account_id, amount, currency,
      source_balance, amount, source_sequence, 1, now()
    from jsonb_to_recordset($6) as sent(source_account_id uuid, destination_account_id uuid, amount bigint,
      currency text, source_balance bigint, source_sequence bigint)
  )
  insert into card (program_id, card_id, name, status, currency, account_id, funding_account_id, expires_on, limits,
    created_at, updated_at)
  select $1, card_id, name, 'active', currency, account_id, funding_account_id, expires_on, limits, now(), now()
  from jsonb_to_recordset($7) as sent(card_id uuid, name text, currency text, account_id uuid,
    funding_account_id uuid, expires_on date, limits jsonb)`;

/** The values of accounts and transfers as text, in the books or in a model. */
type Facts = ReadonlyMap<string, string>;

/** One program of a ledger. The steps of a story run in it. */
export class LaneLedger {
  readonly programId = randomUUID();
  readonly #client: pg.Client;
  readonly #ledger: Ledger;
  /** The ids of accounts, by their names in the model. */
  readonly #accounts = new Map<string, string>();
  readonly #transfers: string[] = [];

  constructor(client: pg.Client, ledger: Ledger) {
    this.#client = client;
    this.#ledger = ledger;
  }

  /** Creates the program in its initial state. */
  async open({ zone, limits, cardLimits, funding, cards }: OpeningProgram): Promise<void> {
    const names = [
      ...CURRENCIES.flatMap((currency) => [`world ${currency}`, `funding ${currency}`]),
      ...cards.map(({ name }) => name),
    ];
    for (const name of names) this.#accounts.set(name, randomUUID());
    const id = (name: string): string => this.#accounts.get(name) ?? '';
    const postings: object[] = [];
    const opened = CURRENCIES.flatMap((currency) => {
      const world = { balance: 0n, sequence: 0n };
      const brought = [
        { name: `funding ${currency}`, kind: 'funding', owner_id: this.programId, balance: funding[currency] ?? 0n },
        ...cards
          .filter((card) => card.currency === currency)
          .map(({ name, balance }) => ({ name, kind: 'card', owner_id: id(name), balance })),
      ];
      for (const { name, balance } of brought) {
        if (balance === 0n) continue;
        world.balance -= balance;
        world.sequence += 1n;
        postings.push({
          source_account_id: id(`world ${currency}`),
          destination_account_id: id(name),
          amount: balance,
          currency,
          source_balance: world.balance,
          source_sequence: world.sequence,
        });
      }
      return [
        { account_id: id(`world ${currency}`), kind: 'world', owner_id: this.programId, currency, ...world },
        ...brought.map(({ name, ...account }) => ({
          ...account,
          account_id: id(name),
          currency,
          sequence: account.balance === 0n ? 0n : 1n,
        })),
      ];
    });
    const made = cards.map(({ name, currency, expiresOn, limits: own }) => ({
      card_id: id(name),
      name,
      currency,
      account_id: id(name),
      funding_account_id: id(`funding ${currency}`),
      expires_on: expiresOn,
      limits: fromLimits(own),
    }));
    await this.#client.query(OPEN, [
      this.programId,
      zone,
      jsonOf(fromLimits(limits)),
      jsonOf(fromLimits(cardLimits)),
      jsonOf(opened),
      jsonOf(postings),
      jsonOf(made),
    ]);
  }

  /** The lane's request for a step about transfers. Undefined for any other step. */
  requestOf(step: Command): TransferRequest | undefined {
    const { programId } = this;
    const origin = { programId, requestId: randomUUID(), key: null, operator: null } as const;
    if (step.does === 'create') {
      const { program: _program, card: cardName, destination: destinationCardName, ...terms } = step.asked;
      const notes = { description: null, metadata: {} };
      return {
        ...origin,
        createdBy: NO_API_KEY,
        command: 'create',
        terms: { ...terms, cardName, destinationCardName },
        notes,
      };
    }
    if (!isAboutTransfer(step)) return undefined;
    const transferId = this.#transfers[Number(step.transfer)] ?? '';
    const sentId = toWireId('tr', transferId);
    switch (step.does) {
      case 'capture':
        return { ...origin, command: 'capture', transferId, sentId, amount: step.amount };
      case 'reverse':
        return {
          ...origin,
          command: 'reverse',
          transferId,
          sentId,
          createdBy: NO_API_KEY,
          amount: step.amount,
          description: null,
        };
      case 'cancel':
        return { ...origin, command: 'cancel', transferId, sentId };
      default:
        return { ...origin, command: step.does, transferId };
    }
  }

  /** Sends a request through a lane and returns the refusal. `index` is the model's number of a new transfer. */
  async submit(lane: TransferLane, request: TransferRequest, index: number): Promise<Refused | null> {
    const outcome = await lane.submit(request, performance.now() + MAX_WAIT_MILLISECONDS);
    if (outcome instanceof Refusal) return { code: outcome.code, about: outcome.message };
    if (request.command === 'create' && 'record' in outcome && 'transfer_id' in outcome.record) {
      this.#transfers[index] = uuidOf(outcome.record.transfer_id);
    }
    return null;
  }

  /** Changes the program or a card. No request about this program may be in progress. */
  async arrange(step: Command, transfers: number): Promise<Refused | null> {
    const params = { program_id: toWireId('prog', this.programId) };
    switch (step.does) {
      case 'put_card_status': {
        const text = 'update card set status = $3 where program_id = $1 and name = $2';
        await this.#client.query(text, [this.programId, step.card, step.status]);
        return null;
      }
      case 'update_program': {
        const { limit, cardLimit } = step;
        const body =
          limit === undefined ? { card_limits: cardLimit && patchOf(cardLimit) } : { limits: patchOf(limit) };
        return refusalOf(this.#ledger.call('update_program', body, { params }));
      }
      case 'deposit': {
        const { currency, amount } = step;
        const at = { params, idempotencyKey: randomUUID() };
        return refusalOf(this.#ledger.call('create_deposit', { amount, currency }, at));
      }
      case 'limit_card':
        return this.#updateCard(step.card, { limits: patchOf(step.limit) }, transfers);
      case 'update_card': {
        const { status, expiresOn: expires_on, balanceTo: balance_to } = step;
        const given = Object.entries({ status, expires_on, balance_to }).filter(([, value]) => value !== null);
        return this.#updateCard(step.card, Object.fromEntries(given), transfers);
      }
      default:
        throw new Error(`${step.does} does not change the program or a card`);
    }
  }

  async #updateCard(card: string, body: object, transfers: number): Promise<Refused | null> {
    const { programId } = this;
    const refused = await refusalOf(this.#ledger.call('update_card', body, { programId, params: { card_id: card } }));
    if (refused !== null) return refused;
    // The money on the card has become a transfer.
    const { rows } = await this.#client.query<{ transfer_id: string }>(
      'select transfer_id from transfer where program_id = $1 and not transfer_id = any($2)',
      [programId, this.#transfers.filter((id) => id !== undefined)],
    );
    for (const { transfer_id } of rows) this.#transfers[transfers] = transfer_id;
    return null;
  }

  /** Reads the accounts and the transfers from the books. */
  async facts(): Promise<Facts> {
    const accounts = await this.#client.query(
      'select account_id, balance, held, incoming, sequence from account where program_id = $1',
      [this.programId],
    );
    const transfers = await this.#client.query(
      `select transfer_id, status, captured_amount, reversed_amount, completed_at, updated_at, error->>'Code' as code
        from transfer where program_id = $1`,
      [this.programId],
    );
    const nameOf = new Map([...this.#accounts].map(([name, id]) => [id, name]));
    return new Map([
      ...accounts.rows.map(
        (row) =>
          [
            `account ${nameOf.get(row.account_id)}`,
            [row.balance, row.held, row.incoming, row.sequence].join(' '),
          ] as const,
      ),
      ...transfers.rows.map(
        (row) =>
          [
            `transfer ${this.#transfers.indexOf(row.transfer_id)}`,
            [
              row.status,
              row.captured_amount,
              row.reversed_amount,
              shown(row.completed_at),
              shown(row.updated_at),
              row.code,
            ].join(' '),
          ] as const,
      ),
    ]);
  }
}

/** The refusal of a call, or null if it succeeds. */
async function refusalOf(call: Promise<unknown>): Promise<Refused | null> {
  try {
    await call;
    return null;
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, about: error.message };
    throw error;
  }
}

/** A time as text, or `never`. */
export function shown(moment: Date | number | null): string {
  return moment === null ? 'never' : new Date(moment).toISOString();
}

function uuidOf(wireId: string): string {
  return wireId.replace(/^[a-z]+_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function jsonOf(value: unknown): string | null {
  if (value === null) return null;
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? Number(inner) : inner));
}

/** A patch that sets or removes one limit. */
function patchOf({ direction, name, value }: LimitChange): object {
  const patch = { [name]: value === null ? null : Number(value) };
  return direction === null ? patch : { [direction]: patch };
}

/** Whether a lane carries out a command about an existing transfer. */
export function isAboutTransfer(
  command: Command,
): command is Exclude<Extract<Command, { transfer: string }>, { does: 'update_transfer' }> {
  return 'transfer' in command && command.does !== 'update_transfer';
}
