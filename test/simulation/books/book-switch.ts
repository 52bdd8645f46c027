import type { Ask, TransferType } from '../ask.ts';

/** The switch of the serial books. */
export class BookSwitch {
  /** Until when, by scope. */
  readonly #disabled = new Map<string, number>();

  change({ scope, program, disabled, until }: Extract<Ask, { does: 'change_switch' }>): void {
    const key = scope === 'service' ? scope : `${scope} ${program}`;
    if (disabled) this.#disabled.set(key, until ?? Number.POSITIVE_INFINITY);
    else this.#disabled.delete(key);
  }

  isDisabled(program: number, type: TransferType, at: number): boolean {
    const isIn = (scope: string): boolean => (this.#disabled.get(scope) ?? 0) > at;
    return isIn('service') || isIn(`program ${program}`) || isIn(`${type} ${program}`);
  }
}
