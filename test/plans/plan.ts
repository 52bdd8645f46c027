import { GROWING } from './fill.ts';

/** A node of a plan, as EXPLAIN (FORMAT JSON) gives it. */
export type Plan = {
  readonly 'Node Type': string;
  readonly 'Total Cost': number;
  /** From PostgreSQL 18 on: of a kind that a setting rules out, and without an alternative. */
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

/** What the policy of the rows' programs adds to a scan: it throws nothing away that the statement had asked for. */
const POLICY = /\(?COALESCE\(\(program_id = ANY \((?:\(InitPlan \d+\)\.col1|\$\d+)\)\), false\)\)?/g;

/** Both directions that there are: PostgreSQL before 17 may look at them row by row, and no row has another one. */
const BOTH_DIRECTIONS = /\(?direction = ANY \('\{in,out\}'::text\[\]\)\)?/g;

function filterOf({ Filter }: Plan): string {
  return (Filter ?? '').replace(POLICY, '').replace(BOTH_DIRECTIONS, '').replace(/ AND /g, '');
}

function isGrowing(plan: Plan): boolean {
  return GROWING.includes(plan['Relation Name'] ?? '');
}

const nameOf = (plan: Plan): string => `${plan['Node Type']} ${plan['Index Name'] ?? plan['Relation Name'] ?? ''}`;

/** Growing tables that are read whole. */
export function wholeReads(plan: Plan): readonly string[] {
  return nodesOf(plan)
    .filter((node) => node['Node Type'] === 'Seq Scan' && isGrowing(node))
    .map(nameOf);
}

/** Above it a plan is for a report, or has a node that a setting rules out: before PostgreSQL 18 that adds 1e10. */
const MOST_COST = 1_000_000;

/**
 * What a plan under {@link WRITER_SETTINGS} must not have: a table, however small, that is read whole because there is
 * no other way, and a cost that makes PostgreSQL compile the plan where `jit` is on.
 */
export function forbiddenReads(plan: Plan): readonly string[] {
  return nodesOf(plan)
    .filter((node) => node.Disabled === true || node['Node Type'] === 'Seq Scan' || node['Total Cost'] > MOST_COST)
    .map((node) => `${nameOf(node)}, cost ${node['Total Cost']}`);
}

/** Relations of which a plan reads rows, each as often as it does. */
export function relationsRead(plan: Plan): readonly string[] {
  return nodesOf(plan).flatMap((node) => node['Relation Name'] ?? []);
}

/** Scans of growing tables that read rows and then throw some away: a probe of the wrong index. */
export function halfProbes(plan: Plan): readonly string[] {
  return nodesOf(plan)
    .filter((node) => isGrowing(node) && !/^\(*\)*$/.test(filterOf(node)))
    .map((node) => `${nameOf(node)}: ${node.Filter}`);
}

/** Scans of growing tables that do not go along an index in its order, and so cannot stop when there is enough. */
export function endlessReads(plan: Plan): readonly string[] {
  const unordered = nodesOf(plan)
    .filter((node) => isGrowing(node) && !/^Index (Only )?Scan$/.test(node['Node Type']))
    .map(nameOf);
  return [...unordered, ...nodesOf(plan).filter(sortsAll).map(nameOf)];
}

/** Whether a node sorts what comes from a growing table without a bound. */
function sortsAll(plan: Plan): boolean {
  return /Sort$/.test(plan['Node Type']) && rowsOf(plan).some(isUnbounded);
}

function isUnbounded(plan: Plan): boolean {
  if (plan['Node Type'] === 'Limit' || plan['Node Type'] === 'CTE Scan') return false;
  return isGrowing(plan) || rowsOf(plan).some(isUnbounded);
}

/** The nodes that a node has its rows from; not those that a value is looked up by. */
function rowsOf(plan: Plan): readonly Plan[] {
  return (plan.Plans ?? []).filter((inner) => !/^(Init|Sub)Plan$/.test(inner['Parent Relationship'] ?? ''));
}
