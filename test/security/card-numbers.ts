/** The first digits of each network's numbers, and their lengths. */
const BEGINNINGS: readonly (readonly [beginning: string, length: number])[] = [
  ...([13, 16, 19] as const).map((length) => ['4', length] as const),
  ...['51', '52', '53', '54', '55', '2221', '2500', '2720'].map((beginning) => [beginning, 16] as const),
  ...['34', '37'].map((beginning) => [beginning, 15] as const),
  ...['300', '305', '36', '38'].map((beginning) => [beginning, 14] as const),
  ...['6011', '622126', '644', '65', '3528', '3589', '62', '2200', '2204'].map((one) => [one, 16] as const),
  ...['81', '82', '8600', '9860', '9792', '9704', '9682'].map((beginning) => [beginning, 16] as const),
  ...['5018', '5020', '6304', '6759', '6761'].flatMap((one) => [13, 16, 19].map((length) => [one, length] as const)),
];

const SEPARATORS = ['', '', ' ', '-', '.', ' - '];

/** An unassigned card number, as digits and as written in some text. */
export type PlantedNumber = { readonly digits: string; readonly written: string };

/** Returns numbers of every network, in every notation. The same count always gives the same numbers. */
export function plantedNumbers(count: number): readonly PlantedNumber[] {
  const random = randomFrom(20_261_121);
  const made = new Set<string>();
  const numbers: PlantedNumber[] = [];
  while (numbers.length < count) {
    const at = numbers.length;
    const [beginning, length] = BEGINNINGS[at % BEGINNINGS.length] ?? ['4', 16];
    let payload = beginning;
    while (payload.length < length - 1) payload += String(random() % 10);
    const digits = payload + checkDigit(payload);
    if (made.has(digits)) continue;
    made.add(digits);
    numbers.push({ digits, written: grouped(digits, SEPARATORS[random() % SEPARATORS.length] ?? '') });
  }
  return numbers;
}

/** Groups digits by four, or as American Express and Diners Club print them. */
function grouped(digits: string, separator: string): string {
  const pattern = digits.length === 15 || digits.length === 14 ? /^(.{4})(.{6})(.*)$/ : undefined;
  const groups = pattern === undefined ? digits.match(/.{1,4}/g) : pattern.exec(digits)?.slice(1);
  return (groups ?? [digits]).join(separator);
}

function checkDigit(payload: string): string {
  const doubled = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];
  const sum = [...payload].reduce((total, character, index) => {
    const digit = Number(character);
    return total + ((payload.length - index) % 2 === 1 ? (doubled[digit] ?? 0) : digit);
  }, 0);
  return String((10 - (sum % 10)) % 10);
}

/**
 * Generates integers below 2^31 from the upper bits of a linear congruential generator. The same seed gives the same
 * sequence.
 */
function randomFrom(seed: number): () => number {
  let state = BigInt(seed);
  return () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffff_ffff_ffff_ffffn;
    return Number(state >> 33n);
  };
}

const LEAST = 13;

/** Finds planted numbers in the data of a service. */
export class NumberSearch {
  readonly #byBeginning = new Map<string, string[]>();

  constructor(numbers: readonly string[]) {
    for (const digits of numbers) {
      const beginning = digits.slice(0, LEAST);
      this.#byBeginning.set(beginning, [...(this.#byBeginning.get(beginning) ?? []), digits]);
    }
  }

  /**
   * Finds planted numbers in some text: as digits, in groups with up to three characters between them, or escaped as in a URL or
   * in JSON. A number inside a longer run of digits also counts. Bytes are read as Latin-1. Returns each number with the text
   * around it.
   */
  findIn(text: string): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    this.#search(text, found);
    if (text.includes('%')) this.#search(decoded(text, /%([0-9a-f]{2})/gi), found);
    if (text.includes('\\u00')) this.#search(decoded(text, /\\u00([0-9a-f]{2})/gi), found);
    return found;
  }

  #search(text: string, found: Map<string, string>): void {
    for (const { 0: run, index } of text.matchAll(/[0-9](?:[^0-9a-zA-Z]{0,3}[0-9]){12,}/g)) {
      const digits = run.replaceAll(/[^0-9]/g, '');
      for (let at = 0; at + LEAST <= digits.length; at += 1) {
        for (const number of this.#byBeginning.get(digits.slice(at, at + LEAST)) ?? []) {
          if (digits.startsWith(number, at)) found.set(number, text.slice(Math.max(0, index - 80), index + 40));
        }
      }
    }
  }
}

function decoded(text: string, escapes: RegExp): string {
  return text.replaceAll(escapes, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
