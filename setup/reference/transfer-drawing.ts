import {
  isFinal,
  TRANSFER_MOVES,
  TRANSFER_STATUSES,
  type TransferCommand,
  type TransferMove,
  type TransferStatus,
} from '../../domain/transfers/transfer.ts';
import {
  type Area,
  arrow,
  drawing,
  note,
  type Point,
  pill,
  startDot,
  stateBox,
  type Tone,
  wrapped,
} from './drawing.ts';

const START: Point = [52, 136];

/** Where each state stands and what it means for the money. */
const STATES: Readonly<Record<TransferStatus, Area & { readonly caption: readonly string[] }>> = {
  scheduled: { x: 160, y: 446, width: 170, height: 100, caption: ['nothing is held yet'] },
  pending: { x: 410, y: 316, width: 160, height: 76, caption: ['the money is held'] },
  completed: { x: 780, y: 110, width: 180, height: 156, caption: ['the money has moved'] },
  expired: { x: 780, y: 324, width: 180, height: 236, caption: ['nothing has moved'] },
  canceled: { x: 640, y: 412, width: 120, height: 96, caption: ['nothing', 'has moved'] },
  failed: { x: 780, y: 586, width: 180, height: 60, caption: ['nothing has moved'] },
};

/** How a move is drawn: along which points, where its command stands, and where what belongs to it begins. */
type Route = {
  readonly along: readonly Point[];
  readonly command: Point;
  readonly when: Point;
  /** Characters of a line of it. */
  readonly width: number;
  readonly anchor?: 'end';
};

/** The way of each move, by its states and its command. */
const ROUTES: Readonly<Record<string, Route>> = {
  'start create completed': {
    along: [START, [780, 136]],
    command: [112, 136],
    when: [80, 164],
    width: 60,
  },
  'start create pending': {
    along: [START, [52, 340], [410, 340]],
    command: [112, 340],
    when: [206, 311],
    width: 20,
  },
  'start create scheduled': {
    along: [START, [52, 496], [160, 496]],
    command: [104, 496],
    when: [68, 524],
    width: 14,
  },
  'scheduled execute completed': {
    along: [
      [190, 446],
      [190, 188],
      [780, 188],
    ],
    command: [268, 188],
    when: [232, 216],
    width: 60,
  },
  'scheduled execute pending': {
    along: [
      [290, 446],
      [290, 368],
      [410, 368],
    ],
    command: [346, 368],
    when: [304, 396],
    width: 17,
  },
  'pending capture completed': {
    along: [
      [500, 316],
      [500, 240],
      [780, 240],
    ],
    command: [576, 240],
    when: [540, 268],
    width: 60,
  },
  'pending expire expired': {
    along: [
      [570, 354],
      [780, 354],
    ],
    command: [620, 354],
    when: [588, 382],
    width: 26,
  },
  'pending cancel canceled': {
    along: [
      [516, 392],
      [516, 436],
      [640, 436],
    ],
    command: [574, 436],
    when: [542, 461],
    width: 14,
  },
  'scheduled cancel canceled': {
    along: [
      [330, 484],
      [640, 484],
    ],
    command: [400, 484],
    when: [368, 509],
    width: 60,
  },
  'scheduled execute expired': {
    along: [
      [330, 532],
      [780, 532],
    ],
    command: [404, 532],
    when: [368, 560],
    width: 60,
  },
  'scheduled execute failed': {
    along: [
      [290, 546],
      [290, 616],
      [780, 616],
    ],
    command: [404, 616],
    when: [368, 644],
    width: 60,
  },
  'completed reverse completed': {
    along: [
      [825, 110],
      [825, 74],
      [915, 74],
      [915, 110],
    ],
    command: [870, 74],
    when: [812, 78],
    width: 60,
    anchor: 'end',
  },
};

/** What is done by time; a caller commands the rest. */
const BY_TIME: readonly TransferCommand[] = ['execute', 'expire'];

/** docs/reference/transfer-states.svg: the state machine of a transfer. */
export function transferDrawing(): string {
  const nameOf = (move: TransferMove): string => `${move.from ?? 'start'} ${move.command} ${move.to}`;
  const names = TRANSFER_MOVES.map(nameOf);
  const unknown = Object.keys(ROUTES).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`'${unknown}' is drawn, but it is no move of a transfer`);
  const moves = TRANSFER_MOVES.map((move) => {
    const route = ROUTES[nameOf(move)];
    if (route === undefined) throw new Error(`'${nameOf(move)}' has no place in the drawing; give it a route`);
    return { move, route, tone: toneOf(move.command) };
  });
  const sentences = TRANSFER_MOVES.map(({ from, command, to }) => `${command}: ${from ?? 'nothing'} to ${to}.`);
  return drawing(
    { width: 1000, height: 690 },
    {
      title: 'The states of a transfer',
      subtitle: 'Every move there is; anything else is refused with invalid_transfer_status.',
      description: sentences.join(' '),
    },
    [
      ...moves.map(({ route, tone }) => arrow(route.along, tone)),
      startDot(START),
      ...TRANSFER_STATUSES.map((status) => stateBox(STATES[status], status, STATES[status].caption, isFinal(status))),
      ...moves.map(({ move, route, tone }) => pill(route.command, move.command, tone)),
      ...moves.map(({ move, route }) => note(route.when, wrapped(move.when, route.width), route.anchor)),
      ...legend(),
    ],
  );
}

function toneOf(command: TransferCommand): Tone {
  return BY_TIME.includes(command) ? 'time' : 'caller';
}

function legend(): readonly string[] {
  return [
    arrow(
      [
        [40, 606],
        [80, 606],
      ],
      'caller',
    ),
    note([92, 610], ['a caller commands it']),
    arrow(
      [
        [40, 630],
        [80, 630],
      ],
      'time',
    ),
    note([92, 634], ['it comes with time']),
    '<rect class="state final" x="42" y="646" width="34" height="16" rx="5"/>',
    note([92, 658], ['final']),
  ];
}
