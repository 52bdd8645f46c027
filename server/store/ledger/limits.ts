import {
  type DirectionLimits,
  LIMIT_NAMES,
  type LimitName,
  type Limits,
  limitsNothing,
} from '../../../domain/ledger/limits.ts';

/** Limits as they are stored and answered: whole numbers under the names of the contract. */
export type StoredLimits = {
  readonly in?: Readonly<Partial<Record<LimitName, number>>>;
  readonly out?: Readonly<Partial<Record<LimitName, number>>>;
  readonly maximum_balance?: number;
};

/** Limits from a jsonb column; null where there are none. */
export function toLimits(stored: unknown): Limits | null {
  if (stored === null || stored === undefined) return null;
  const { in: incoming, out, maximum_balance: most } = stored as StoredLimits;
  const maximumBalance = most === undefined ? null : BigInt(most);
  return { in: toDirection(incoming), out: toDirection(out), maximumBalance };
}

/** Limits as a value of a jsonb column, and as they are answered; null where nothing is limited. */
export function fromLimits(limits: Limits | null): StoredLimits | null {
  if (limits === null || limitsNothing(limits)) return null;
  return {
    ...(Object.keys(limits.in).length === 0 ? {} : { in: fromDirection(limits.in) }),
    ...(Object.keys(limits.out).length === 0 ? {} : { out: fromDirection(limits.out) }),
    ...(limits.maximumBalance === null ? {} : { maximum_balance: Number(limits.maximumBalance) }),
  };
}

/** In the order of the contract: `jsonb` keeps an order of its own. */
function toDirection(stored: StoredLimits['in']): DirectionLimits {
  const limits: { [Name in LimitName]?: bigint } = {};
  for (const name of Object.keys(LIMIT_NAMES) as LimitName[]) {
    const value = stored?.[name];
    if (value !== undefined) limits[name] = BigInt(value);
  }
  return limits;
}

function fromDirection(limits: DirectionLimits): Partial<Record<LimitName, number>> {
  return Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, Number(value)]));
}
