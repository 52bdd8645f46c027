import { describe, expect, test } from 'vitest';
import { CARD_MOVES, CARD_RULES, CARD_STATUSES, type CardStatus, cardRefusal, cardStatusOn } from '../cards/card.ts';
import { SHARED_CODES } from '../error-codes.ts';
import {
  allows,
  isFinal,
  statusAt,
  TRANSFER_MOVES,
  TRANSFER_STATUSES,
  type TransferCommand,
  type TransferStatus,
} from './transfer.ts';

function reachedFrom<State>(
  beginnings: readonly State[],
  next: (state: State) => readonly State[],
): ReadonlySet<State> {
  const reached = new Set(beginnings);
  // The iteration over a set includes elements that are added during it.
  for (const state of reached) for (const to of next(state)) reached.add(to);
  return reached;
}

describe('the state machine of a transfer', () => {
  const COMMANDS: readonly TransferCommand[] = [
    'create',
    'execute',
    'capture',
    'cancel',
    'expire',
    'report',
    'reverse',
  ];
  const FINAL: readonly TransferStatus[] = ['completed', 'failed', 'canceled', 'expired'];
  const movesFrom = (from: TransferStatus | null) => TRANSFER_MOVES.filter((move) => move.from === from);

  test('leads to every state, begins only with create, and uses every command', () => {
    const reached = reachedFrom(
      movesFrom(null).map(({ to }) => to),
      (from) => movesFrom(from).map(({ to }) => to),
    );
    expect([...reached].sort()).toEqual([...TRANSFER_STATUSES].sort());
    expect(TRANSFER_MOVES.every(({ from, command }) => (from === null) === (command === 'create'))).toBe(true);
    expect(COMMANDS.filter((command) => TRANSFER_MOVES.some((move) => move.command === command))).toEqual(COMMANDS);
  });

  test('lists each move once, with a description', () => {
    const moves = TRANSFER_MOVES.map(({ from, command, to }) => `${from} ${command} ${to}`);
    expect(new Set(moves).size).toBe(moves.length);
    for (const { when } of TRANSFER_MOVES) expect(when).not.toBe('');
  });

  test('has four final states', () => {
    expect(TRANSFER_STATUSES.filter(isFinal)).toEqual(TRANSFER_STATUSES.filter((status) => FINAL.includes(status)));
    for (const from of FINAL) for (const { to } of movesFrom(from)) expect(to).toBe(from);
  });

  test('can always reach a final state', () => {
    for (const status of TRANSFER_STATUSES) {
      const reached = reachedFrom([status], (from) => movesFrom(from).map(({ to }) => to));
      expect([...reached].some(isFinal), status).toBe(true);
    }
  });

  test('allows the moves of its table, and none for a failed, canceled or expired transfer', () => {
    for (const status of TRANSFER_STATUSES) {
      for (const command of COMMANDS) {
        expect(allows(status, command)).toBe(movesFrom(status).some((move) => move.command === command));
      }
    }
    for (const status of ['failed', 'canceled', 'expired'] as const) {
      expect(COMMANDS.filter((command) => allows(status, command))).toEqual([]);
    }
  });

  test('treats a hold as expired from the moment of its expires_at', () => {
    for (const status of TRANSFER_STATUSES) {
      expect(statusAt({ status, expiresAt: 1000 }, 999)).toBe(status);
      expect(statusAt({ status, expiresAt: 1000 }, 1000)).toBe(status === 'pending' ? 'expired' : status);
      expect(statusAt({ status, expiresAt: null }, 1000)).toBe(status);
    }
  });
});

describe('the states of a card', () => {
  const next = (from: CardStatus): readonly CardStatus[] => CARD_MOVES[from];

  test('allow money in and out as their table says, and refuse everything else with an error code from the catalog', () => {
    for (const status of CARD_STATUSES) {
      const rule = CARD_RULES[status];
      expect(cardRefusal(status, 'in') === null).toBe(rule.moneyIn);
      expect(cardRefusal(status, 'out') === null).toBe(rule.moneyOut);
      if (rule.code !== null) expect(SHARED_CODES).toContain(rule.code);
    }
  });

  test('do not include expired and preactive among the statuses that can be requested', () => {
    for (const from of CARD_STATUSES) {
      expect(CARD_MOVES[from]).not.toContain('expired');
      expect(CARD_MOVES[from]).not.toContain('preactive');
      expect(CARD_MOVES[from]).not.toContain(from);
      expect(new Set(CARD_MOVES[from]).size).toBe(CARD_MOVES[from].length);
    }
  });

  test('lead from active to every other state and from every state to closed, which is final', () => {
    const others = CARD_STATUSES.filter((status) => status !== 'expired' && status !== 'preactive');
    expect([...reachedFrom(['active'], next)].sort()).toEqual([...others].sort());
    expect(CARD_MOVES.closed).toEqual([]);
    for (const from of others) if (from !== 'closed') expect(CARD_MOVES[from]).toContain('closed');
  });

  test('never lead from stolen to a state that accepts money', () => {
    const reached = [...reachedFrom<CardStatus>(['stolen'], next)];
    expect(reached.filter((status) => CARD_RULES[status].moneyIn)).toEqual([]);
    expect(reached.filter((status) => CARD_MOVES[status].includes('active'))).toEqual([]);
  });

  test("become expired on the day after the card's last day, if the card was still usable", () => {
    const used: readonly CardStatus[] = ['preactive', 'active', 'inactive'];
    for (const status of CARD_STATUSES) {
      expect(cardStatusOn({ status, expiresOn: '2026-01-01' }, '2026-01-01')).toBe(status);
      expect(cardStatusOn({ status, expiresOn: null }, '2026-01-01')).toBe(status);
      const after = cardStatusOn({ status, expiresOn: '2025-12-31' }, '2026-01-01');
      expect(after).toBe(used.includes(status) ? 'expired' : status);
    }
  });
});
