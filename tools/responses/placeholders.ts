/** Values that differ from run to run, by kind. The first group is replaced. */
const RANDOM: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['key', /\b(ts_[0-9A-Za-z]{10,}(?:_[0-9A-Za-z]+)*)/g],
  ['secret', /\b(whsec_[0-9A-Za-z+/=_-]+)/g],
  ['$', /\b((?:[a-z]+)_[0-9a-f]{32}(?:[._-][0-9a-f]+)?)\b/g],
  ['cursor', /(?<="(?:next_)?cursor":")([^"<]+)/g],
  ['uuid', /\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/g],
  ['hash', /\b([0-9a-f]{64})\b/g],
  ['hex', /\b([0-9a-f]{32})\b/g],
  ['session', /(?<=console(?:-\d+)?=)([0-9A-Za-z_.-]{10,})/g],
];

/** Times, except the start of a day, which requests and limits contain and which is the same all day long. */
const MOMENT = /\b\d{4}-\d\d-\d\dT(?!00:00:00(?:\.000)?Z)\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const DATE_OF_HTTP = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/g;
const NUMBERS_OF_A_RUN =
  /("(?:[a-z_]*(?:milliseconds|seconds|seconds_apart|bytes|process_id)|idle|in_use|p\d+)":)[\d.]+/g;
/** The relay numbers the service's own events at any time. */
const POSITION = /\bat position \d+\b/g;
/** Keys of the transfers that requests need: `openNeeds` in test/fuzz/needs.ts. */
const NEED = /\bneed-\d{13}-/g;

/** Replaces random values by placeholders, numbered by kind in the order in which they appear. */
export class Placeholders {
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #port: string;

  /** `port` is that of the service, which its URLs contain. */
  constructor(port: number) {
    this.#port = `:${port}`;
  }

  in(text: string): string {
    let replaced = text;
    for (const [kind, pattern] of RANDOM) replaced = replaced.replace(pattern, (value) => this.#of(kind, value));
    return replaced
      .replace(MOMENT, '<moment>')
      .replace(DATE_OF_HTTP, '<date>')
      .replace(NUMBERS_OF_A_RUN, '$1"<number>"')
      .replace(POSITION, 'at position <number>')
      .replace(NEED, 'need-<start>-')
      .replaceAll(this.#port, ':<port>');
  }

  #of(kind: string, value: string): string {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const name = kind === '$' ? value.slice(0, value.indexOf('_')) : kind;
    const number = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, number);
    const placeholder = `<${name} ${number}>`;
    this.#known.set(value, placeholder);
    return placeholder;
  }
}
