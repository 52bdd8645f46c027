import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import type { Random } from './random.ts';

/** What a request must be answered with: a success, a refusal, or either. */
export type Expectation = 'success' | 'refusal' | 'either';

/** A request in parts that can be changed one by one. Texts are sent as UTF-8, headers as Latin 1. */
export type Draft = {
  readonly operation: OperationId;
  method: string;
  target: string;
  version: string;
  headers: [name: string, value: string][];
  /** Name and value of each member as JSON text; undefined for a request without a body. */
  members: [name: string, value: string][] | undefined;
  /** Text around and between the members. */
  open: string;
  comma: string;
  colon: string;
  close: string;
  /** Changes the body's bytes last of all. */
  patches: ((body: Buffer) => Buffer)[];
  isChunked: boolean;
  expectation: Expectation;
  /** Names of the changes after which no success may come, and of the others. */
  readonly faults: string[];
  readonly changes: string[];
  /** Card numbers that stand somewhere in it. */
  readonly planted: string[];
  /** Whether the connection may end with the answer. */
  closes: boolean;
  /** What moves if it succeeds. */
  amount: number | undefined;
};

/** Cards that the campaign makes for itself. */
export const CARDS = Array.from({ length: 8 }, (_, at) => `fuzz-${at}`);

const DEMO_PROGRAM = 'prog_019000000000700080000000000000de';
const text = (value: string): string => JSON.stringify(value);

/** How often each kind of request is made. */
const KINDS: readonly (readonly [weight: number, make: (random: Random, unique: string) => Draft])[] = [
  [50, newLoad],
  [8, newOtherTransfer],
  [6, newBatch],
  [6, (random, unique) => ({ ...newLoad(random, unique), ...asOperation('explain_transfer') })],
  [6, newDeposit],
  [3, newWithdrawal],
  [4, newCard],
  [1, newKey],
  [1, newProgram],
  [15, newReading],
];

const TOTAL = KINDS.reduce((sum, [weight]) => sum + weight, 0);

/** A request with nothing wrong; `unique` keeps its keys and names from those of all others. */
export function newDraft(random: Random, unique: string): Draft {
  let place = random.below(TOTAL);
  for (const [weight, make] of KINDS) {
    if (place < weight) return make(random, unique);
    place -= weight;
  }
  return newLoad(random, unique);
}

function asOperation(operation: OperationId): Pick<Draft, 'operation' | 'method' | 'target'> {
  const { method, path } = OPERATIONS[operation];
  return { operation, method, target: path.replace('{program_id}', DEMO_PROGRAM) };
}

function draft(operation: OperationId, members?: Readonly<Record<string, string>>): Draft {
  return {
    ...asOperation(operation),
    version: 'HTTP/1.1',
    headers: [
      ['Host', 'localhost'],
      ...(members === undefined ? [] : [['Content-Type', 'application/json'] as [string, string]]),
    ],
    members: members === undefined ? undefined : Object.entries(members),
    open: '{',
    comma: ',',
    colon: ':',
    close: '}',
    patches: [],
    isChunked: false,
    expectation: 'success',
    faults: [],
    changes: [],
    planted: [],
    closes: false,
    amount: undefined,
  };
}

function newLoad(random: Random, unique: string): Draft {
  const amount = 1 + random.below(500);
  const made = draft('create_transfer', { amount: String(amount), card_id: text(random.pick(CARDS)) });
  if (random.chance(0.3)) made.members?.push(['type', text('load')]);
  if (random.chance(0.3)) made.members?.push(['description', text(random.pick(['a gift', 'zum Geburtstag 🎁', 'é']))]);
  if (random.chance(0.2)) made.members?.push(['reference', text(`reference ${unique}`)]);
  if (random.chance(0.2)) made.members?.push(['metadata', '{"order":"A-1","note":"x"}']);
  if (random.chance(0.2)) made.members?.push(['currency', text('USD')]);
  if (random.chance(0.4)) made.headers.push(['Idempotency-Key', unique]);
  return { ...made, amount };
}

/** Whether there is enough to take depends on what came before. */
function newOtherTransfer(random: Random, unique: string): Draft {
  const made = newLoad(random, unique);
  const [card = CARDS[0], other = CARDS[1]] = random.chance(0.5) ? CARDS : [...CARDS].reverse();
  const isUnload = random.chance(0.5);
  const members = made.members?.filter(([name]) => !['type', 'card_id'].includes(name)) ?? [];
  members.push(['card_id', text(card ?? '')], ['type', text(isUnload ? 'unload' : 'card_to_card')]);
  if (!isUnload) members.push(['destination_card_id', text(other ?? '')]);
  return { ...made, members, expectation: 'either' };
}

/** Every row is good; what is wrong with rows is the business of single transfers. */
function newBatch(random: Random, unique: string): Draft {
  const rows = Array.from({ length: 1 + random.below(3) }, (_, at) => {
    const row = { idempotency_key: `${unique}-${at}`, amount: 1 + random.below(500), card_id: random.pick(CARDS) };
    return JSON.stringify(row);
  });
  return draft('create_transfer_batch', { transfers: `[${rows.join(',')}]` });
}

function newDeposit(random: Random, unique: string): Draft {
  const made = draft('create_deposit', { amount: String(1 + random.below(500)) });
  made.headers.push(['Idempotency-Key', unique]);
  return made;
}

function newWithdrawal(random: Random, unique: string): Draft {
  return { ...newDeposit(random, unique), ...asOperation('create_withdrawal') };
}

function newCard(random: Random, unique: string): Draft {
  const made = draft('create_card', random.chance(0.5) ? { card_id: text(`card-${unique}`) } : {});
  if (random.chance(0.5)) made.members?.push(['last_four', text(random.digits(4))]);
  if (random.chance(0.3)) made.members?.push(['expires_on', text('2099-12-31')]);
  return made;
}

function newKey(_random: Random, unique: string): Draft {
  return draft('create_key', { name: text(unique) });
}

function newProgram(random: Random, unique: string): Draft {
  return draft('create_program', { name: text(unique), currency: text(random.pick(['USD', 'EUR', 'JPY'])) });
}

function newReading(random: Random): Draft {
  const operation = random.pick([
    'list_transfers',
    'list_cards',
    'get_card',
    'get_program',
    'list_programs',
    'list_keys',
    'get_switch',
    'list_errors',
    'get_transfer',
    'get_error',
  ] as const);
  const made = draft(operation);
  if (operation === 'get_card') made.target = made.target.replace('{card_id}', random.pick(CARDS));
  if (operation === 'get_transfer' || operation === 'get_error') {
    made.target = made.target.replace(/\{.*\}/, random.pick(['tr_missing', 'x', 'req_1']));
    made.expectation = 'refusal';
  }
  if (operation.startsWith('list_') && random.chance(0.5)) made.target += `?limit=${1 + random.below(5)}`;
  return made;
}

/** The request as it goes over the wire. */
export function encode(made: Draft): Buffer {
  const { method, target, version, headers, members, isChunked } = made;
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  const body = members === undefined ? undefined : bodyOf(made, members);
  if (body !== undefined)
    lines.push(isChunked ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${body.length}\r\n`);
  const head = Buffer.from(`${method} ${target} ${version}\r\n${lines.join('')}\r\n`, 'latin1');
  if (body === undefined) return head;
  return Buffer.concat(isChunked ? [head, ...chunksOf(body)] : [head, body]);
}

function bodyOf({ open, comma, colon, close, patches }: Draft, members: readonly [string, string][]): Buffer {
  const inner = members.map(([name, value]) => `${nameText(name)}${colon}${value}`).join(comma);
  return patches.reduce<Buffer>((body, patch) => patch(body), Buffer.from(`${open}${inner}${close}`));
}

/** A name that is no JSON text yet becomes one; one in quotes is sent as it is. */
function nameText(name: string): string {
  return name.startsWith('"') ? name : JSON.stringify(name);
}

function chunksOf(body: Buffer): readonly Buffer[] {
  const size = Math.max(1, Math.ceil(body.length / 3));
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    chunks.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return [...chunks, Buffer.from('0\r\n\r\n')];
}
