import { CARD_MOVES, CARD_RULES, CARD_STATUSES, type CardStatus, cardStatusOn } from '../../domain/cards/card.ts';
import { type Area, arrow, drawing, group, note, type Point, stateBox } from './drawing.ts';

const BOXES: Readonly<Record<CardStatus, Area>> = {
  preactive: { x: 92, y: 290, width: 124, height: 64 },
  active: { x: 262, y: 242, width: 124, height: 56 },
  inactive: { x: 262, y: 352, width: 124, height: 56 },
  expired: { x: 476, y: 290, width: 124, height: 64 },
  lost: { x: 130, y: 504, width: 150, height: 60 },
  fraud: { x: 372, y: 504, width: 150, height: 60 },
  stolen: { x: 668, y: 306, width: 130, height: 64 },
  closed: { x: 862, y: 306, width: 116, height: 64 },
};

/** A frame around states, and what they share. */
type Frame = Area & { readonly says: string; readonly states: readonly CardStatus[] };

const USED: Frame = { x: 250, y: 230, width: 148, height: 190, says: '', states: ['active', 'inactive'] };
const DATED: Frame = {
  x: 76,
  y: 200,
  width: 334,
  height: 232,
  says: 'expires by itself after its last day',
  states: ['preactive', ...USED.states],
};
const BLOCKABLE: Frame = {
  x: 60,
  y: 164,
  width: 554,
  height: 284,
  says: 'can be reported lost, or blocked for suspected fraud',
  states: [...DATED.states, 'expired'],
};
const STEALABLE: Frame = {
  x: 44,
  y: 128,
  width: 586,
  height: 454,
  says: 'can be reported stolen',
  states: [...BLOCKABLE.states, 'lost', 'fraud'],
};
const CLOSABLE: Frame = {
  x: 28,
  y: 92,
  width: 788,
  height: 506,
  says: 'can be closed',
  states: [...STEALABLE.states, 'stolen'],
};

/** The outermost first. */
const FRAMES: readonly Frame[] = [CLOSABLE, STEALABLE, BLOCKABLE, DATED, USED];

/** An arrow: out of each of some states into any of others. */
type Move = {
  readonly from: readonly CardStatus[];
  readonly to: readonly CardStatus[];
  readonly along: readonly Point[];
  readonly bothWays?: true;
};

const MOVES: readonly Move[] = [
  {
    from: ['preactive'],
    to: USED.states,
    along: [
      [216, 322],
      [250, 322],
    ],
  },
  {
    from: ['active'],
    to: ['inactive'],
    bothWays: true,
    along: [
      [324, 298],
      [324, 352],
    ],
  },
  {
    from: BLOCKABLE.states,
    to: ['lost'],
    along: [
      [170, 448],
      [170, 504],
    ],
  },
  {
    from: ['lost'],
    to: USED.states,
    along: [
      [268, 504],
      [268, 420],
    ],
  },
  {
    from: BLOCKABLE.states,
    to: ['fraud'],
    along: [
      [482, 448],
      [482, 504],
    ],
  },
  {
    from: ['fraud'],
    to: USED.states,
    along: [
      [384, 504],
      [384, 420],
    ],
  },
  {
    from: ['lost'],
    to: ['fraud'],
    along: [
      [280, 534],
      [372, 534],
    ],
  },
  {
    from: STEALABLE.states,
    to: ['stolen'],
    along: [
      [630, 338],
      [668, 338],
    ],
  },
  {
    from: CLOSABLE.states,
    to: ['closed'],
    along: [
      [816, 338],
      [862, 338],
    ],
  },
];

/** docs/reference/card-states.svg: the states that a card can be given, and what each lets through. */
export function cardDrawing(): string {
  insistOnMoves();
  insistOnDates();
  return drawing(
    { width: 1000, height: 664 },
    {
      title: 'The states of a card',
      subtitle: 'Frames hold states that share a move: an arrow from a frame leads out of each state in it.',
      description: CARD_STATUSES.map((status) => `${status}: ${CARD_MOVES[status].join(', ') || 'final'}.`).join(' '),
    },
    [
      ...FRAMES.map(group),
      ...FRAMES.map(({ x, y, says }) => note([x + 16, y + 22], [says])),
      ...MOVES.map(({ along, bothWays }) => arrow(along, 'caller', bothWays)),
      ...expiry(),
      note([276, 482], ['found again']),
      note([392, 482], ['cleared']),
      ...CARD_STATUSES.map((status) =>
        stateBox(BOXES[status], status, [moneyThrough(status)], CARD_MOVES[status].length === 0),
      ),
      ...legend(),
    ],
  );
}

function expiry(): readonly string[] {
  return [
    arrow(
      [
        [410, 308],
        [476, 308],
      ],
      'time',
    ),
    arrow(
      [
        [476, 338],
        [410, 338],
      ],
      'caller',
    ),
    note([418, 298], ['by date']),
    note([418, 358], ['given a', 'later day']),
  ];
}

function legend(): readonly string[] {
  return [
    arrow(
      [
        [40, 630],
        [80, 630],
      ],
      'caller',
    ),
    note([92, 634], ['update_card']),
    arrow(
      [
        [206, 630],
        [246, 630],
      ],
      'time',
    ),
    note([258, 634], ['it comes with time']),
    '<rect class="state final" x="412" y="622" width="34" height="16" rx="5"/>',
    note([458, 634], ['final']),
  ];
}

function moneyThrough(status: CardStatus): string {
  const { moneyIn, moneyOut } = CARD_RULES[status];
  if (moneyIn && moneyOut) return 'money in and out';
  if (moneyIn) return 'money in only';
  return moneyOut ? 'money out only' : 'no money moves';
}

/** The arrows, taken apart, are the moves of the domain: none is missing and none too many. */
function insistOnMoves(): void {
  const drawn = MOVES.flatMap(({ from, to, bothWays }) => [
    ...pairs(from, to),
    ...(bothWays === true ? pairs(to, from) : []),
  ]);
  const real = CARD_STATUSES.flatMap((from) => CARD_MOVES[from].map((to) => `${from} to ${to}`));
  const missing = real.find((move) => !drawn.includes(move));
  if (missing !== undefined) throw new Error(`the move ${missing} is not drawn`);
  const extra = drawn.find((move, at) => !real.includes(move) || drawn.indexOf(move) !== at);
  if (extra !== undefined) throw new Error(`the move ${extra} is drawn, but there is none, or it is drawn twice`);
}

function pairs(from: readonly CardStatus[], to: readonly CardStatus[]): readonly string[] {
  return from.flatMap((one) => to.filter((other) => other !== one).map((other) => `${one} to ${other}`));
}

/** What expires by its date is what stands in the frame that says so. */
function insistOnDates(): void {
  const expiring = CARD_STATUSES.filter(
    (status) => status !== 'expired' && cardStatusOn({ status, expiresOn: '2026-01-01' }, '2026-01-02') === 'expired',
  );
  if ([...expiring].sort().join() !== [...DATED.states].sort().join()) {
    throw new Error(`by their date expire ${expiring.join(', ')}, but the drawing has ${DATED.states.join(', ')}`);
  }
}
