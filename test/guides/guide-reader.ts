/** The guides that show fields of responses. `api-guides.test.ts` runs them with this reader. */
export const GUIDES_BY_MEMBER: readonly string[] = ['cards', 'events', 'limits', 'transfers'];

/** A command in a guide, and the response that the guide shows. */
export type GuideStep = {
  readonly line: number;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** The response that the guide shows, or an empty string if it shows none. */
  readonly shown: string;
};

/** Returns the commands in a guide's listings, in order, with shell variables filled in. */
export function readGuide(text: string): readonly GuideStep[] {
  const variables = new Map<string, string>();
  return listingsOf(text).flatMap(({ lines, line }) => stepsOf(lines, line, variables));
}

function listingsOf(text: string): readonly { readonly lines: readonly string[]; readonly line: number }[] {
  const all = text.split('\n');
  const fences = all.flatMap((one, at) => (one.startsWith('```') ? [at] : []));
  return fences.flatMap((at, index) => {
    const end = fences[index + 1];
    return index % 2 === 0 && end !== undefined ? [{ lines: all.slice(at + 1, end), line: at + 2 }] : [];
  });
}

function stepsOf(lines: readonly string[], line: number, variables: Map<string, string>): readonly GuideStep[] {
  const steps: GuideStep[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const text = lines[at] ?? '';
    const [, name, value] = /^([A-Z]+)=(\S+)$/.exec(text) ?? [];
    if (name !== undefined && value !== undefined) variables.set(name, value);
    if (!/^(\$ )?curl /.test(text)) continue;
    let command = text.replace(/^\$ /, '');
    const begun = at;
    while (!isWhole(command)) {
      at += 1;
      command += `\n${lines[at]}`;
    }
    const rest = lines.slice(at + 1);
    const next = rest.findIndex((one) => /^(\$ )?curl /.test(one));
    const shown = rest.slice(0, next === -1 ? rest.length : next).join('\n');
    steps.push({ line: line + begun, ...requestOf(command, variables), shown: shown.trim() });
  }
  return steps;
}

function isWhole(command: string): boolean {
  return (command.match(/'/g)?.length ?? 0) % 2 === 0 && (command.match(/"/g)?.length ?? 0) % 2 === 0;
}

function requestOf(command: string, variables: ReadonlyMap<string, string>): Omit<GuideStep, 'line' | 'shown'> {
  const words = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? filled(double ?? bare ?? '', variables),
  );
  const optionOf = (option: string) => (words.includes(option) ? words[words.indexOf(option) + 1] : undefined);
  const url = words.find((word) => word.startsWith('http://'));
  if (url === undefined) throw new Error(`no address in: ${command}`);
  const body = optionOf('-d');
  const headers = Object.fromEntries(
    words.flatMap((word, at): [string, string][] => {
      const [name = '', value = ''] = words[at - 1] === '-H' ? word.split(': ') : [];
      return name === '' ? [] : [[name, value]];
    }),
  );
  return { method: optionOf('-X') ?? (body === undefined ? 'GET' : 'POST'), url, headers, body };
}

function filled(word: string, variables: ReadonlyMap<string, string>): string {
  return word.replaceAll(/\$([A-Z]+)/g, (_whole, name: string) => {
    const value = variables.get(name);
    if (value === undefined) throw new Error(`the guide sets no ${name}`);
    return value;
  });
}
