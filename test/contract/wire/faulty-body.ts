import type { Random } from '../../harness/random.ts';
import { bare, type Draft } from './draft.ts';
import type { Change } from './harmless.ts';

/** Values that are not amounts, although each of them is accepted by some lenient parser. */
const BAD_AMOUNTS = [
  ...['0', '-0', '-1', '85.5', '0.1', '1.0', '1e3', '1E2', '1e999', '-1e999', '1e-1', '1000000000000', '0e1'],
  ...['9007199254740993', '99999999999999999999', '1'.repeat(400), '01', '+1', '.5', '5.', '0x10', '1_000', '1,000'],
  ...[
    '"85.50"',
    '"1e3"',
    '" 5"',
    '"5 "',
    '"+5"',
    '"-5"',
    '"0x10"',
    '"007"',
    '"１２"',
    '"1,000"',
    '"Infinity"',
    '"5\\n"',
  ],
  ...['NaN', 'Infinity', '-Infinity', 'null', '""', 'true', '[]', '{}', '[5]', '{"amount":5}', '"five"', "'5'"],
] as const;

/**
 * Returns whether the amount is a JSON number or a string. If so, explain_transfer explains it instead of refusing it.
 */
const isAmountOfForm = (text: string): boolean => /^-?(0|[1-9]\d*)(\.\d+)?([eE]-?\d+)?$|^"[^"]+"$/.test(text);

/** More than the maximum body size of any request except a batch. */
const LARGE_BODY_BYTES = 1_000_000;

const schemaOf = ({ operation }: Draft) => operation.body;
const member = ({ members }: Draft, name: string) => members?.find(([known]) => bare(known) === name);
const requiredOf = (made: Draft): readonly string[] => schemaOf(made)?.required ?? [];
const namesOf = (made: Draft): readonly string[] => Object.keys(schemaOf(made)?.properties ?? {});

function patch(name: string, change: (body: Buffer, random: Random) => Buffer): Change {
  return {
    name,
    apply: (made, random) => {
      if (made.members === undefined) return false;
      made.patches.push((body) => change(body, random));
      return true;
    },
  };
}

/** Adds a member with an unknown name, which makes every body invalid. */
function strange(name: string, make: (random: Random) => readonly [name: string, value: string]): Change {
  return {
    name,
    apply: ({ members }, random) => members !== undefined && members.push([...make(random)]) > 0,
  };
}

const insertAt = (body: Buffer, at: number, bytes: Buffer): Buffer =>
  Buffer.concat([body.subarray(0, at), bytes, body.subarray(at)]);

/**
 * Byte sequences that are not UTF-8: a stray continuation byte, overlong forms, a surrogate, a character beyond
 * Unicode, a truncated sequence.
 */
const NOT_UTF8 = ['ff', '80', 'c080', 'c1bf', 'e08080', 'eda080', 'edbfbf', 'f4908080', 'f8888080', 'c3', 'e282'];
const LONE = ['\\ud800', '\\udc00', '\\ud800\\ud800', '\\udfff\\ud800', 'a\\udbffb', '\\uD83D'];

/** Faults in the JSON text. No parser may ignore them. */
const OF_TEXT: readonly Change[] = [
  patch('bytes that are not UTF-8', (body, random) =>
    insertAt(body, placeInString(body, random), Buffer.from(random.pick(NOT_UTF8), 'hex')),
  ),
  patch('a raw control character in a string', (body, random) => {
    const at = placeInString(body, random);
    // Position 0 is outside all strings. There, 10 and 13 would be white space.
    return insertAt(body, at, Buffer.from([at === 0 ? 1 : random.pick([0, 1, 7, 10, 13, 31])]));
  }),
  strange('half a surrogate pair', (random) => ['lone', `"${random.pick(LONE)}"`]),
  strange('half a surrogate pair in a name', (random) => [`"${random.pick(LONE)}"`, '1']),
  strange('an escaped NUL', (random) =>
    random.pick([
      ['nul', '"a\\u0000b"'],
      ['"\\u0000"', '1'],
    ] as const),
  ),
  strange('a bad escape', (random) => [
    'escape',
    random.pick(['"\\x41"', '"\\u12"', '"\\u00zz"', '"\\"', '"\\U0041"']),
  ]),
  strange('deep nesting', (random) => {
    const depth = random.pick([32, 40, 500, 3000]);
    return [
      'deep',
      random.chance(0.5) ? `${'['.repeat(depth)}${']'.repeat(depth)}` : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    ];
  }),
  strange('__proto__', () => ['__proto__', '{"amount":1}']),
  strange('an invalid number', (random) => [
    'number',
    random.pick(['01', '1.', '.1', '0x1', 'NaN', '--1', '1e', '+1']),
  ]),
  strange('an invalid word', (random) => ['word', random.pick(['True', 'nul', 'undefined', 'yes', 'nil'])]),
  patch('text after the end', (body, random) =>
    Buffer.concat([body, Buffer.from(random.pick(['x', '{}', ',', ']', '\0', '}', ' 1', '\v', ';']))]),
  ),
  patch('a missing end', (body) => body.subarray(0, body.lastIndexOf('}'))),
  patch('a trailing comma', (body) => Buffer.from(body.toString('latin1').replace(/\}(\s*)$/, ',}$1'), 'latin1')),
  patch('a comment', (body, random) =>
    insertAt(body, body.indexOf('{') + 1, Buffer.from(random.pick(['/* x */', '// x\n', '# x\n']))),
  ),
  patch('a body that is not an object', (_body, random) =>
    Buffer.from(random.pick(['[]', 'null', '5', '"x"', 'true', '[{"amount":1,"card_id":"first"}]', 'amount=1'])),
  ),
  patch('UTF-16', (body) => Buffer.from(`\ufeff${body.toString('latin1')}`, 'utf16le')),
  patch('single quotes', (body) => {
    const changed = Buffer.from(body.toString('latin1').replaceAll('"', "'"), 'latin1');
    return changed.equals(body) ? Buffer.from("{'a':1}") : changed;
  }),
];

/** Returns a random position at the start of a string in the body, or 0 if it has no string. */
function placeInString(body: Buffer, random: Random): number {
  const places: number[] = [];
  let isInside = false;
  for (let at = 0; at < body.length; at += 1) {
    if (body[at] === 0x5c) at += 1;
    else if (body[at] === 0x22) {
      isInside = !isInside;
      if (isInside) places.push(at + 1);
    }
  }
  return places.length === 0 ? 0 : random.pick(places);
}

/** Members of create_transfer with values that it refuses. */
const REFUSED_VALUES = [
  ['scheduled_for', '"2100-01-01T00:00:00Z"'],
  ['scheduled_for', '"2001-01-01T00:00:00Z"'],
  ['scheduled_for', '"tomorrow"'],
  ['scheduled_for', '1893456000'],
  ['expires_at', '"2100-01-01T00:00:00Z"'],
  ['expires_at', '"2001-01-01T00:00:00Z"'],
  ['expires_at', '"2030-02-30T00:00:00Z"'],
  ['capture', '"later"'],
  ['capture', 'true'],
  ['currency', '"usd"'],
  ['currency', '"XXY"'],
  ['type', '"gift"'],
  ['destination_card_id', '"first"'],
] as const;

/** The values above that explain_transfer explains instead of refusing. */
const EXPLAINED: ReadonlySet<string> = new Set(
  REFUSED_VALUES.filter(
    ([name, value]) => /^"2[01]0.-01/.test(value) || (name === 'currency' && value === '"XXY"'),
  ).map(([name, value]) => `${name} ${value}`),
);

/** Invalid objects, by member. */
const OBJECTS = [
  ['metadata', '{"a":1e999}'],
  ['metadata', '{"":"x"}'],
  ['metadata', `{"a":"${'x'.repeat(501)}"}`],
  ['metadata', '["a"]'],
  ['limits', '{"in":{"dailyAmount":1}}'],
  ['limits', '{"in":{"daily_amount":1.5}}'],
  ['limits', '{"out":{"daily_count":-1}}'],
  ['limits', '{"in":{"minimum_amount":2,"maximum_amount":1}}'],
  ['limits', '{"maximum_balance":"5"}'],
  ['limits', '""'],
  ['limits', '{"in":""}'],
  ['limits', '[]'],
] as const;

/** Sets a member. Returns false for a request without a body. */
function replace(made: Draft, name: string, value: string): boolean {
  if (made.members === undefined) return false;
  made.members = [...made.members.filter(([known]) => bare(known) !== name), [name, value]];
  return true;
}

const OF_MEMBERS: readonly Change[] = [
  {
    name: 'a member that occurs twice',
    apply: ({ members }, random) => {
      if (members === undefined || members.length === 0) return false;
      const [name, value] = random.pick(members);
      const plain = bare(name);
      const again = random.chance(0.3)
        ? `"\\u${plain.charCodeAt(0).toString(16).padStart(4, '0')}${plain.slice(1)}"`
        : plain;
      members.push([plain === '' ? '' : again, random.chance(0.5) ? value : '1']);
      return true;
    },
  },
  {
    name: 'a missing required member',
    apply: (made, random) => {
      const required = requiredOf(made);
      if (required.length === 0) return false;
      const missing = random.pick(required);
      // In a merge patch, null removes the member, so null is not a fault.
      const text = random.pick(made.method === 'PATCH' ? [undefined, '""'] : [undefined, 'null', '""']);
      made.members = made.members?.filter(([name]) => bare(name) !== missing);
      if (text !== undefined) made.members?.push([missing, text]);
      return true;
    },
  },
  {
    name: 'an empty member whose omission would let the request do more',
    apply: (made, random) => {
      const omitted = schemaOf(made)?.['x-if-omitted'];
      if (omitted === undefined) return false;
      return replace(made, random.pick(Object.keys(omitted)), random.pick(['null', '""']));
    },
  },
  {
    name: 'a bad amount',
    apply: (made, random) => {
      const amount = member(made, 'amount');
      if (amount === undefined) return false;
      const isExplained = made.operation.id === 'explain_transfer';
      amount[1] = random.pick(BAD_AMOUNTS.filter((text) => !(isExplained && isAmountOfForm(text))));
      return true;
    },
  },
  {
    name: 'a member of the wrong type',
    apply: (made, random) => {
      const strings = made.members?.filter(([, value]) => value.startsWith('"') && value !== '""') ?? [];
      const known = strings.filter(([name]) => namesOf(made).includes(bare(name)) && bare(name) !== 'amount');
      if (known.length === 0) return false;
      random.pick(known)[1] = random.pick(['1', 'true', 'false', '[]', '{}', '["x"]', '1e999']);
      return true;
    },
  },
  {
    name: 'a misspelled name',
    apply: (made, random) => {
      const names = namesOf(made).filter((name) => name !== 'metadata');
      if (made.members === undefined || names.length === 0) return false;
      const name = random.pick(names);
      const camel = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      const variants = [name.toUpperCase(), `${name}_`, ` ${name}`, `${name[0]?.toUpperCase()}${name.slice(1)}`];
      made.members.push([random.pick(camel === name ? variants : [...variants, camel]), '"x"']);
      return true;
    },
  },
  {
    name: 'a value that create_transfer refuses',
    apply: (made, random) => {
      if (!['create_transfer', 'explain_transfer'].includes(made.operation.id)) return false;
      const [name, value] = random.pick(REFUSED_VALUES);
      if (made.operation.id === 'explain_transfer' && EXPLAINED.has(`${name} ${value}`)) return false;
      if (name === 'destination_card_id' && member(made, 'type')?.[1] === '"card_to_card"') return false;
      return replace(made, name, value);
    },
  },
  {
    name: 'invalid metadata or limits',
    apply: (made, random) => {
      const [name, value] = random.pick(OBJECTS);
      if (!namesOf(made).includes(name)) return false;
      return replace(made, name, value);
    },
  },
  {
    name: 'a card that does not exist',
    apply: (made, random) => {
      const card = member(made, 'card_id');
      if (card === undefined || made.operation.id !== 'create_transfer') return false;
      const names = [
        'missing-99',
        'FIRST',
        ' first',
        'first ',
        'first\\u200b',
        "' or '1'='1",
        '../first',
        'y'.repeat(255),
      ];
      card[1] = `"${random.pick(names)}"`;
      return true;
    },
  },
  {
    name: 'a text that is too long',
    apply: (made, random) => {
      const texts = Object.entries(schemaOf(made)?.properties ?? {}).filter(([, { type, maxLength, enum: listed }]) => {
        return type === 'string' && maxLength !== undefined && listed === undefined;
      });
      if (texts.length === 0) return false;
      const [name, { maxLength = 0 }] = random.pick(texts);
      return replace(made, name, JSON.stringify('é'.repeat(maxLength + 1)));
    },
  },
  {
    name: 'a body that is too large',
    apply: (made) => {
      if (made.members === undefined || made.operation.id === 'create_transfer_batch') return false;
      made.patches.push((body) => Buffer.concat([body, Buffer.alloc(LARGE_BODY_BYTES, ' ')]));
      return true;
    },
  },
];

/** Changes to a body that the service must refuse. */
export const FAULTY_BODY: readonly Change[] = [...OF_TEXT, ...OF_MEMBERS];
