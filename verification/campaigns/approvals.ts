import { OPERATIONS } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { onConnection } from '../../test/harness/ledger.ts';
import { NoResponse, type RawRequest, type RawResponse, sendRaw } from '../../test/harness/raw-request.ts';
import { type Findings, pause, type Setting, streamOf, Tally } from '../campaign.ts';
import { type AskedFor, checkApprovals, type FoundApproval, type FoundMovement } from '../checkers/approvals.ts';
import { type Ledger, overLedgers } from '../environments/processes/ledgers.ts';
import {
  chooseVictims,
  oncePostgresIsBack,
  type TwoServices,
  withTwoServices,
} from '../environments/processes/services.ts';
import { pick } from '../generators/load.ts';

/** The number of makers and checkers that work at the same time. */
const CALLERS = 12;

/** Requests for more than this amount need an approval, in minor units of USD. */
const OVER = 1_000;

const KILLS_PER_LEDGER = 4;

/** The minimum number of requests between two kills. */
const BETWEEN_KILLS = 60;
const QUICK_BETWEEN_KILLS = 25;

/**
 * The longest time until the background job has carried out all approved requests after the last kill, in milliseconds.
 */
const SETTLED_WITHIN = 60_000;

const RULES = [
  { operation: 'create_withdrawal', over: OVER, currency: 'USD' },
  { operation: 'create_transfer', over: OVER, currency: 'USD' },
];

type Person = { readonly name: string; readonly key: string };

const PEOPLE = ['operator', 'treasurer', 'support'] as const;

/** People who ask for withdrawals and loads, and decide on each other's requests, while services are killed. */
class Office {
  readonly asked: AskedFor[] = [];
  readonly #services: TwoServices;
  readonly #tally: Tally;
  readonly #random: () => number;
  readonly #name: string;
  #people: readonly Person[] = [];
  #isOpen = true;

  constructor(services: TwoServices, tally: Tally, random: () => number, name: string) {
    this.#services = services;
    this.#tally = tally;
    this.#random = random;
    this.#name = name;
  }

  /** Creates a key for each person, and the rules. While a sandbox has no keys, this needs no approval. */
  async open(): Promise<void> {
    const { url } = this.#services.owner;
    const send = async (path: string, body: object): Promise<RawResponse['fields']> => {
      const { status, fields, text } = await sendRaw(url, { path, body });
      if (status >= 300) throw new Error(`${path} returned ${text}`);
      return fields;
    };
    const people: Person[] = [];
    for (const name of PEOPLE) {
      const { person_id } = await send(OPERATIONS.sign_in_as.path, { person: name });
      const body = { name, person_id, all_programs: true, role: 'administrator' };
      people.push({ name, key: String((await send(OPERATIONS.create_key.path, body)).key) });
    }
    this.#people = people;
    await send(OPERATIONS.change_approval_policy.path, { rules: RULES });
    // The other process reads the new rules within a second.
    await pause(1_100);
  }

  /** Lets everyone work until `close`. */
  async work(): Promise<void> {
    const callers = Array.from({ length: CALLERS }, async () => {
      while (this.#isOpen) {
        const act = this.#random();
        if (act < 0.5) await this.#ask();
        else if (act < 0.97) await this.#decide();
        else await this.#throwSwitch();
      }
    });
    await Promise.all(callers);
  }

  close(): void {
    this.#isOpen = false;
  }

  /** Sends a new request, or an earlier one again. */
  async #ask(): Promise<void> {
    const earlier = this.#random() < 0.3 ? this.asked.at(-1 - Math.floor(this.#random() * 20)) : undefined;
    const maker = this.#people.find(({ name }) => name === earlier?.maker) ?? pick(this.#people, this.#random);
    const amount = Math.ceil(this.#random() * 3 * OVER);
    const key = `${this.#name}-${this.asked.length}-${amount}`;
    const one: AskedFor = earlier ?? { key, maker: maker.name, amount, approvalId: undefined, acknowledged: undefined };
    if (earlier === undefined) this.asked.push(one);
    const response = await this.#send(maker, requestOf(one));
    if (response?.status === 202) one.approvalId = String(response.fields.approval_id);
    if (response?.status === 201 && one.amount > OVER && one.approvalId === undefined) {
      this.#tally.violate(one.key, ['was carried out at once']);
    }
    if (response !== undefined) this.#tally.add(`asked_${response.status}`);
  }

  async #decide(): Promise<void> {
    const open = this.asked.filter(
      ({ approvalId, acknowledged }) => approvalId !== undefined && acknowledged === undefined,
    );
    const one = open.at(Math.floor(this.#random() * open.length));
    if (one === undefined) return pause(5);
    const checker = pick(this.#people, this.#random);
    const what = pick(['approve', 'approve', 'approve', 'reject', 'withdraw'], this.#random);
    const path = `${OPERATIONS.list_approvals.path}/${one.approvalId}/${what}`;
    const response = await this.#send(checker, {
      path,
      body: what === 'withdraw' ? undefined : { reason: 'a campaign' },
    });
    if (response === undefined) return;
    const isOwn = checker.name === one.maker;
    this.#tally.add(`${what}_${isOwn ? 'own_' : ''}${response.status}`);
    if (response.status !== 200) return;
    if ((what === 'withdraw') !== isOwn) this.#tally.violate(one.key, [`${checker.name} could ${what} it`]);
    one.acknowledged = String(response.fields.status);
  }

  /** Disables transfers for a moment. Approvals then stay pending. */
  async #throwSwitch(): Promise<void> {
    const [someone] = this.#people;
    if (someone === undefined) return;
    const path = OPERATIONS.change_switch.path;
    await this.#send(someone, { path, body: { disabled: true, reason: 'a campaign' } });
    await pause(this.#random() * 40);
    while ((await this.#send(someone, { path, body: { disabled: false } })) === undefined) await pause(20);
  }

  /** Sends a request to one of the services. Returns undefined if there is no response, or if it leaves the outcome open. */
  async #send({ key }: Person, request: RawRequest): Promise<RawResponse | undefined> {
    const headers = { ...request.headers, Authorization: `Bearer ${key}` };
    try {
      const response = await sendRaw(pick(this.#services.urls, this.#random), { ...request, headers });
      if (response.status < 500) return response;
      this.#tally.add('faults');
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
      this.#tally.add('no_response');
    }
    await pause(20);
    return undefined;
  }
}

/** Every third request is a load of a card, which the switch can disable. */
function requestOf({ key, amount }: AskedFor): RawRequest {
  const headers = { 'Idempotency-Key': key, 'Program-Id': DEMO_PROGRAM };
  const body = { amount, reference: key };
  if (amount % 3 === 0)
    return { path: OPERATIONS.create_transfer.path, headers, body: { ...body, card_id: 'card_active' } };
  return { path: OPERATIONS.create_withdrawal.path.replace('{program_id}', DEMO_PROGRAM), headers, body };
}

const READ_APPROVALS = `select 'apr_' || replace(approval_id::text, '-', '') as "approvalId", idempotency_key as key, status,
    maker.name as maker, decider.name as decider
  from approval join api_key as maker on maker.key_id = requested_by left join api_key as decider on decider.key_id = decided_by`;

const READ_MOVEMENTS = `select reference as key, amount::int from funding_movement where reference is not null
  union all select reference, amount::int from transfer where reference is not null`;

function compare(services: TwoServices, office: Office): Promise<readonly string[]> {
  return onConnection({ connectionString: services.databaseUrl }, async (client) => {
    for (const end = performance.now() + SETTLED_WITHIN; performance.now() < end; await pause(200)) {
      const { rows } = await client.query("select 1 from approval where status = 'approved' limit 1");
      if (rows.length === 0) break;
    }
    const { rows: approvals } = await client.query<FoundApproval>(READ_APPROVALS);
    const { rows: movements } = await client.query<FoundMovement>(READ_MOVEMENTS);
    return checkApprovals(office.asked, approvals, movements, OVER);
  });
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  let kills = 0;
  const between = setting.isQuick === true ? QUICK_BETWEEN_KILLS : BETWEEN_KILLS;
  const runOn = (ledger: Ledger): Promise<void> =>
    withTwoServices(setting, tally, ledger.number, {}, async (services, found) => {
      const random = streamOf(setting.seed, ledger.number);
      const office = new Office(services, found, random, `ledger-${ledger.number}`);
      await office.open();
      const working = office.work();
      for (let kill = 1; kill <= ledger.attacks && !found.isFull; kill += 1) {
        const wanted = office.asked.length + between;
        while (office.asked.length < wanted) await pause(20);
        const witness = { expectDeath: () => undefined, moved: () => undefined };
        await services.kill(chooseVictims(kill, random), random, found, witness);
        setting.progress(++kills, `${found.count('violations')} violations`);
      }
      office.close();
      await working;
      found.violate(`ledger ${ledger.number}`, await oncePostgresIsBack(() => compare(services, office)));
      found.add('asked', office.asked.length);
    });
  await overLedgers(setting, tally, KILLS_PER_LEDGER, runOn);
  return tally.findings({ callers: CALLERS, processes: 2 });
}
