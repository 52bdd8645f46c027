import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Reads a project file by its path from the root. */
export const readProjectFile = (path: string): string => readFileSync(resolve(root, path), 'utf8');

type Panel = {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
};

/** An expression of the dashboard and its panel. */
export type DashboardExpression = { readonly row: string; readonly panel: string; readonly expression: string };

/** Returns every expression of the dashboard, in order. */
export function readDashboard(): readonly DashboardExpression[] {
  const { panels } = JSON.parse(readProjectFile('ops/grafana.json')) as { readonly panels: readonly Panel[] };
  let row = '';
  return panels.flatMap(({ title, type, targets = [] }) => {
    if (type === 'row') row = title;
    return targets.map(({ expr: expression }) => ({ row, panel: title, expression }));
  });
}

/** A selector in an expression: a metric's name, and conditions for its labels. */
export type Selector = {
  readonly name: string;
  readonly matchers: readonly { readonly label: string; readonly operator: string; readonly value: string }[];
};

/** Returns the service's metrics that the expressions use. Leaves out recording rules, whose names contain colons. */
export function selectorsIn(text: string): readonly Selector[] {
  const found = text.matchAll(/\b(transfer_service_[a-z0-9_]+)(?![a-z0-9_:])(?:\{([^}]*)\})?/g);
  return [...found].map(([, name = '', labels = '']) => ({
    name,
    matchers: [...labels.matchAll(/([a-z_]+)(=~|!~|!=|=)"([^"]*)"/g)]
      .map(([, label = '', operator = '', value = '']) => ({ label, operator, value }))
      // Prometheus adds these labels.
      .filter(({ label }) => label !== 'job' && label !== 'instance'),
  }));
}

/** One line of a page of metrics. */
export type Series = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

export function readPage(text: string): readonly Series[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, label = '', of = '']) => [label, of] as const);
      return { name, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

/** Returns whether a page has a series that matches a selector. */
export function isOnPage({ name, matchers }: Selector, page: readonly Series[]): boolean {
  return page.some((series) => {
    if (series.name !== name) return false;
    return matchers.every(({ label, operator, value }) => {
      const found = series.labels[label];
      if (found === undefined) return false;
      const matches = operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(found) : found === value;
      return operator.startsWith('!') ? !matches : matches;
    });
  });
}

/** Returns the names of the metrics on a page, without the suffixes of histogram series. */
export function namesOn(text: string): readonly string[] {
  return [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
}
