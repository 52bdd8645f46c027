import { GROWING } from './fill.ts';

/** A node of a plan from EXPLAIN (FORMAT JSON). */
export type Plan = {
  readonly 'Node Type': string;
  readonly 'Total Cost': number;
  /** Since PostgreSQL 18: whether a setting excludes this kind of node, but no alternative exists. */
  readonly Disabled?: boolean;
  readonly 'Parent Relationship'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly Plan[];
};

function nodesOf(plan: Plan): readonly Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Matches the filter of the programs' policy. It discards no rows that the statement has requested. */
const POLICY = /\(?COALESCE\(\(program_id = ANY \((?:\(InitPlan \d+\)\.col1|\$\d+)\)\), false\)\)?/g;

/**
 * Matches a filter that allows both directions. There are no others, so it discards nothing. PostgreSQL before 17 may
 * check it row by row.
 */
const BOTH_DIRECTIONS = /\(?direction = ANY \('\{in,out\}'::text\[\]\)\)?/g;

function filterOf({ Filter }: Plan): string {
  return (Filter ?? '').replace(POLICY, '').replace(BOTH_DIRECTIONS, '').replace(/ AND /g, '');
}

function isGrowing(plan: Plan): boolean {
  return GROWING.includes(plan['Relation Name'] ?? '');
}

const nameOf = (plan: Plan): string => `${plan['Node Type']} ${plan['Index Name'] ?? plan['Relation Name'] ?? ''}`;

/** Returns the growing tables that are read in full. */
export function wholeReads(plan: Plan): readonly string[] {
  return nodesOf(plan)
    .filter((node) => node['Node Type'] === 'Seq Scan' && isGrowing(node))
    .map(nameOf);
}

/**
 * The highest allowed cost. Only the plan of a report costs more, or a plan with a node that a setting excludes. Before
 * PostgreSQL 18, such a node adds 1e10.
 */
const MOST_COST = 1_000_000;

/**
 * Returns the faults of a plan under {@link WRITER_SETTINGS}: a table of any size that is read in full because
 * PostgreSQL has no other way, and a cost at which PostgreSQL would compile the plan if `jit` were on.
 */
export function forbiddenReads(plan: Plan): readonly string[] {
  return nodesOf(plan)
    .filter((node) => node.Disabled === true || node['Node Type'] === 'Seq Scan' || node['Total Cost'] > MOST_COST)
    .map((node) => `${nameOf(node)}, cost ${node['Total Cost']}`);
}

/** Returns the relations that a plan reads, including repetitions. */
export function relationsRead(plan: Plan): readonly string[] {
  return nodesOf(plan).flatMap((node) => node['Relation Name'] ?? []);
}

/** Returns the scans of growing tables that discard rows, which means that they use the wrong index. */
export function halfProbes(plan: Plan): readonly string[] {
  return nodesOf(plan)
    .filter((node) => isGrowing(node) && !/^\(*\)*$/.test(filterOf(node)))
    .map((node) => `${nameOf(node)}: ${node.Filter}`);
}

/** Returns the scans of growing tables that do not follow the order of an index, and therefore cannot stop early. */
export function endlessReads(plan: Plan): readonly string[] {
  const unordered = nodesOf(plan)
    .filter((node) => isGrowing(node) && !/^Index (Only )?Scan$/.test(node['Node Type']))
    .map(nameOf);
  return [...unordered, ...nodesOf(plan).filter(sortsAll).map(nameOf)];
}

/** Returns whether a node sorts rows of a growing table without a limit. */
function sortsAll(plan: Plan): boolean {
  return /Sort$/.test(plan['Node Type']) && rowsOf(plan).some(isUnbounded);
}

function isUnbounded(plan: Plan): boolean {
  if (plan['Node Type'] === 'Limit' || plan['Node Type'] === 'CTE Scan') return false;
  return isGrowing(plan) || rowsOf(plan).some(isUnbounded);
}

/** Returns the nodes that supply a node's rows, without the nodes that compute single values. */
function rowsOf(plan: Plan): readonly Plan[] {
  return (plan.Plans ?? []).filter((inner) => !/^(Init|Sub)Plan$/.test(inner['Parent Relationship'] ?? ''));
}
