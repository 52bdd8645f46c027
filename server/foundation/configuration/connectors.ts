import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fromWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { REVERSALS, type Traits, WHEN_DOWN } from '../../../domain/processors/order.ts';
import { type ConnectorSettings, openConnectorRules } from '../connector-settings.ts';
import { findNetworkProblem } from '../networks.ts';
import { withoutSecrets } from '../redaction.ts';
import { isSigningSecret, SECRET_RULE } from '../signature.ts';
import { codeOf } from '../startup-problem.ts';
import { CERTIFICATES, type Kind, quoted, type Surroundings } from './values.ts';

export type Connectors = { readonly path: string; readonly connectors: readonly ConnectorSettings[] };

/**
 * Returns whether a card program (inner UUID) may have cards at a connector. If the settings list no programs, every program may.
 */
export function admits(connector: Pick<ConnectorSettings, 'programIds'> | undefined, programId: string): boolean {
  return connector?.programIds?.includes(programId) ?? true;
}

/** Reserved ids, with their meaning. */
const RESERVED_IDS: ReadonlyMap<unknown, string> = new Map([
  ['simulator', 'the simulator of a sandbox'],
  ['other', 'metrics of connectors that are not in the settings'],
]);

/** Far more than the number of processors that card programs have. */
const MAX_CONNECTORS = 50;
const MAX_NETWORKS = 50;
const MAX_PROGRAMS = 1_000;

/** A new secret, and the previous one until the adapter has the new one. */
const MAX_SECRETS = 2;

const DAY_SECONDS = 86_400;

type TraitRow<Value> = {
  readonly name: string;
  readonly fallback: Value;
  /** The allowed values, with the unit, worded to follow "must be" in a message. */
  readonly allowed: string;
  readonly isValid: (value: unknown) => boolean;
  readonly purpose: string;
};

function flag(name: string, fallback: boolean, purpose: string): TraitRow<boolean> {
  return { name, fallback, purpose, allowed: 'true or false', isValid: (value) => typeof value === 'boolean' };
}

type Range = { readonly unit: string; readonly min: number; readonly max: number };

function number(name: string, fallback: number, { unit, min, max }: Range, purpose: string): TraitRow<number> {
  const isValid = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  return { name, fallback, purpose, allowed: `a number of ${unit} from ${min} to ${max}`, isValid };
}

function word<const Word extends string>(
  name: string,
  fallback: Word,
  words: readonly Word[],
  purpose: string,
): TraitRow<Word> {
  const isValid = (value: unknown): boolean => words.some((one) => one === value);
  return { name, fallback, purpose, allowed: `one of: ${words.join(', ')}`, isValid };
}

/** A trait that is a number or null. `nothing` describes the meaning of null. */
function numberOrNull(
  name: string,
  fallback: number | null,
  { unit, min, max }: Range,
  nothing: string,
  purpose: string,
): TraitRow<number | null> {
  const { allowed, isValid } = number(name, 0, { unit, min, max }, purpose);
  return {
    ...{ name, fallback, purpose, allowed: `${allowed}, or null (${nothing})` },
    isValid: (value) => value === null || isValid(value),
  };
}

const KEY_MEMORY: Range = { unit: 'seconds', min: 1, max: 3_650 * DAY_SECONDS };

/**
 * The traits, in the order of the documentation. With the defaults, a processor never gets an order twice, and an order is never
 * wrongly considered undone.
 */
export const TRAITS = {
  hasInquiry: flag('has_inquiry', true, 'whether the processor can look up an order by its `attempt_id`'),
  canResend: flag(
    'can_resend',
    false,
    'whether the processor executes an order only once, even if the order is sent again with the same `attempt_id`; needs ' +
      '`key_memory_seconds`',
  ),
  keyMemorySeconds: numberOrNull(
    'key_memory_seconds',
    null,
    KEY_MEMORY,
    'forever',
    'how long the processor recognizes an `attempt_id`; after that time, the service does not send the order again',
  ),
  settleDelaySeconds: number(
    'settle_delay_seconds',
    // The wait that Mastercard Send requires from its users.
    40,
    { unit: 'seconds', min: 0, max: DAY_SECONDS },
    'how long it may take until an inquiry finds a sent order',
  ),
  notFoundFinalSeconds: number(
    'not_found_final_seconds',
    900,
    { unit: 'seconds', min: 0, max: 7 * DAY_SECONDS },
    'how long after an order is sent the answer `not_found` becomes final',
  ),
  reversal: word(
    'reversal',
    'none',
    REVERSALS,
    'whether the processor undoes orders: `none`: never; `request`: it may refuse; `advice`: it must accept',
  ),
  readySeconds: number(
    'ready_seconds',
    60,
    { unit: 'seconds', min: 1, max: DAY_SECONDS },
    'how long an order may wait until it is sent for the first time; after that time, its transfer fails',
  ),
  whenDown: word(
    'when_down',
    'refuse',
    WHEN_DOWN,
    'what happens to a new transfer while the connector is known to be down: `refuse`: it is refused; `queue`: it waits',
  ),
  maxInFlight: number(
    'max_in_flight',
    16,
    { unit: 'requests', min: 1, max: 256 },
    'maximum number of simultaneous requests to the adapter from each process of the service',
  ),
  settledWithinHours: numberOrNull(
    'settled_within_hours',
    48,
    { unit: 'hours', min: 1, max: 720 },
    'no check',
    'how long after its approval an order may take to appear in a settlement file; checked from the first imported file on',
  ),
} as const satisfies { readonly [Trait in keyof Traits]: TraitRow<Traits[Trait]> };

const FILE_FIELDS = ['connectors'];
const FIELDS = ['connector_id', 'url', 'ca_file', 'secret_variable', 'allowed_networks', 'program_ids', 'traits'];

export const CONNECTORS: Kind<Connectors> = {
  allowed: 'a file of connectors in JSON',
  parse: (text, refuse, around) => {
    const path = resolve(text);
    const content = readFile(path, refuse);
    if (!isObject(content)) throw refuse('that file must contain a JSON object');
    refuseUnknown(content, FILE_FIELDS, (problem) => refuse(`that file ${problem}`));
    const { connectors } = content;
    if (!Array.isArray(connectors) || connectors.length > MAX_CONNECTORS) {
      throw refuse(`in that file 'connectors' must be an array of at most ${MAX_CONNECTORS} connectors`);
    }
    const read = connectors.map((connector, index) => readConnector(connector, index, refuse, around));
    const ids = read.map(({ connectorId }) => connectorId);
    const twice = ids.find((id, index) => ids.indexOf(id) !== index);
    if (twice !== undefined) throw refuse(`two connectors in that file have the 'connector_id' ${quoted(twice)}`);
    return { path, connectors: read };
  },
};

type Refuse = (problem: string) => Error;
type Fields = Readonly<Record<string, unknown>>;

/** Reads the content of the file. Messages do not quote it, because it may contain a secret by mistake. */
function readFile(path: string, refuse: Refuse): unknown {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    throw refuse(`that file cannot be read: ${codeOf(error) ?? String(error)}`);
  }
  try {
    return parseJson(content);
  } catch (error) {
    const [place = ''] = /at position [0-9]+/.exec(String(error)) ?? [];
    throw refuse(`that file is not valid JSON${place === '' ? '' : `: the error is ${place}`}`);
  }
}

function readConnector(value: unknown, index: number, refuse: Refuse, around: Surroundings): ConnectorSettings {
  if (!isObject(value)) throw refuse(`in that file connectors[${index}] must be an object`);
  const { connector_id: id, url, ca_file, secret_variable, allowed_networks = [], program_ids, traits = {} } = value;
  const isId = typeof id === 'string' && /^[a-z][a-z0-9_-]{0,31}$/.test(id);
  const name = isId ? `the connector ${quoted(id)}` : `connectors[${index}]`;
  const inConnector: Refuse = (problem) => refuse(`in that file ${name} ${problem}`);
  refuseUnknown(value, FIELDS, inConnector);
  const wrong = (field: string, problem: string): Error => inConnector(`has an invalid '${field}': ${problem}`);
  if (!isId) {
    throw wrong('connector_id', 'it must be 1 to 32 lower-case letters, digits, _ and -, and begin with a letter');
  }
  const reservedFor = RESERVED_IDS.get(id);
  if (reservedFor !== undefined) throw wrong('connector_id', `that id is reserved for ${reservedFor}`);
  const allowedNetworks = readNetworks(allowed_networks, wrong);
  const { mode } = around;
  if (typeof url !== 'string') throw wrong('url', 'it must be a URL that begins with https://');
  const problem = openConnectorRules({ mode, allowedNetworks }).findUrlProblem(url);
  if (problem !== undefined) throw wrong('url', problem);
  return {
    connectorId: id,
    mode,
    url: url.replace(/\/+$/, ''),
    allowedNetworks,
    programIds: readPrograms(program_ids, wrong),
    ca: readCertificates(ca_file, wrong, around),
    secrets: readSecrets(secret_variable, wrong, around),
    traits: readTraits(traits, inConnector, wrong),
  };
}

type Wrong = (field: string, problem: string) => Error;

function readNetworks(value: unknown, wrong: Wrong): readonly string[] {
  if (!Array.isArray(value) || value.length > MAX_NETWORKS) {
    throw wrong('allowed_networks', `it must be an array of at most ${MAX_NETWORKS} addresses and networks`);
  }
  return value.map((network: unknown) => {
    if (typeof network !== 'string') throw wrong('allowed_networks', 'its items must be strings');
    const problem = findNetworkProblem(network);
    if (problem !== undefined) throw wrong('allowed_networks', `${quoted(network)} ${problem}`);
    return network;
  });
}

/** Reads the card programs that may have cards of the connector. Undefined for all. */
function readPrograms(value: unknown, wrong: Wrong): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length > MAX_PROGRAMS) {
    throw wrong('program_ids', `it must be an array of at most ${MAX_PROGRAMS} ids of card programs`);
  }
  return value.map((id: unknown) => {
    const programId = typeof id === 'string' ? fromWireId('prog', id) : undefined;
    if (programId === undefined) throw wrong('program_ids', "its items must be ids such as 'prog_' and 32 hex digits");
    return programId;
  });
}

function readCertificates(value: unknown, wrong: Wrong, around: Surroundings): string | null {
  if (value === undefined) return null;
  const problem = 'it must be the path of a file of certificates in PEM format';
  const refuse = (found: string): Error => wrong('ca_file', `${problem}, but ${found}`);
  const read = typeof value === 'string' ? CERTIFICATES.parse(value, refuse, around) : undefined;
  if (read === undefined) throw wrong('ca_file', problem);
  return read.certificates;
}

/** Reads the secrets in the named variables. Messages do not quote an invalid name, because it may be a secret by mistake. */
function readSecrets(value: unknown, wrong: Wrong, { readVariable }: Surroundings): readonly string[] {
  const names: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isList = names.length > 0 && names.length <= MAX_SECRETS && new Set(names).size === names.length;
  if (!isList || !names.every(isVariable)) {
    const rule = 'it must be the name of an environment variable in capital letters, digits and _';
    throw wrong('secret_variable', `${rule}, or an array of one or two such names`);
  }
  return names.map((name) => {
    const secret = readVariable(name);
    if (secret === '') throw wrong('secret_variable', `neither ${name} nor ${name}_FILE is set`);
    if (!isSigningSecret(secret)) throw wrong('secret_variable', `the value of ${name} must be ${SECRET_RULE}`);
    return secret;
  });
}

function isVariable(name: unknown): name is string {
  return typeof name === 'string' && /^[A-Z][A-Z0-9_]{0,99}$/.test(name);
}

function readTraits(value: unknown, refuse: Refuse, wrong: Wrong): Traits {
  if (!isObject(value)) throw wrong('traits', 'it must be an object');
  const rows = Object.entries<TraitRow<unknown>>(TRAITS);
  const names = rows.map(([, { name }]) => name);
  refuseUnknown(value, names, refuse, 'traits.');
  const traits = Object.fromEntries(
    rows.map(([trait, { name, fallback, allowed, isValid }]) => {
      const set = value[name];
      if (set === undefined) return [trait, fallback];
      if (!isValid(set)) throw wrong(`traits.${name}`, `it must be ${allowed}`);
      return [trait, set];
    }),
  ) as Traits;
  // There is no default, because a wrong guess could cause a second payment.
  if (traits.canResend && value[TRAITS.keyMemorySeconds.name] === undefined) {
    throw wrong('traits.key_memory_seconds', 'it must be set if can_resend is true');
  }
  return traits;
}

function refuseUnknown(value: Fields, known: readonly string[], refuse: Refuse, within = ''): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const fields = known.map((name) => `'${within}${name}'`).join(', ');
  throw refuse(`has the unknown field ${quoted(withoutSecrets(`${within}${unknown}`))}; the fields are ${fields}`);
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
