/** A request that needs an approval, as its sender knows it. Its key is also the reference of the movement that it creates. */
export type AskedFor = {
  readonly key: string;
  readonly maker: string;
  readonly amount: number;
  /** The approval in the 202 response, or undefined while no response has arrived. */
  approvalId: string | undefined;
  /** The status in the response to a decision that was acknowledged. */
  acknowledged: string | undefined;
};

/** An approval in the database, with the people behind the keys. */
export type FoundApproval = {
  readonly approvalId: string;
  readonly key: string;
  readonly status: string;
  readonly maker: string;
  readonly decider: string | null;
};

/** A withdrawal or a load in the ledger. */
export type FoundMovement = { readonly key: string; readonly amount: number };

/** The statuses in which nothing may have moved. */
const UNMOVED = ['pending', 'failed', 'rejected', 'withdrawn', 'expired'];

/**
 * Compares the requests and the decisions with the ledger: nothing above `over` moves without an approval by a second
 * person, nothing moves twice, and every acknowledged decision is kept.
 */
export function checkApprovals(
  asked: readonly AskedFor[],
  approvals: readonly FoundApproval[],
  movements: readonly FoundMovement[],
  over: number,
): readonly string[] {
  const problems: string[] = [];
  const byKey = new Map(approvals.map((approval) => [approval.key, approval]));
  if (byKey.size < approvals.length) problems.push('a request has two approvals');
  const moved = new Map<string, number>();
  for (const { key, amount } of movements) {
    moved.set(key, (moved.get(key) ?? 0) + 1);
    if (moved.get(key) === 2) problems.push(`${key} moved twice`);
    if (amount <= over) continue;
    const approval = byKey.get(key);
    if (approval === undefined) problems.push(`${key} moved ${amount} without an approval`);
    else if (approval.status !== 'carried_out')
      problems.push(`${key} moved, but its approval has the status ${approval.status}`);
  }
  for (const { key, status, maker, decider } of approvals) {
    const hasMoved = moved.has(key);
    if (status === 'carried_out' && !hasMoved) problems.push(`${key} has the status carried_out, but moved nothing`);
    if (status === 'approved') problems.push(`${key} is approved, but was not carried out`);
    if (UNMOVED.includes(status) && hasMoved) problems.push(`${key} moved, but is ${status}`);
    const isGiven = status === 'carried_out' || status === 'failed';
    if (isGiven && decider === null) problems.push(`${key} was carried out, but no one approved it`);
    if (isGiven && decider === maker) problems.push(`${key} was approved by ${decider}, who requested it`);
  }
  for (const { key, approvalId, acknowledged, amount } of asked) {
    const found = byKey.get(key);
    if (approvalId !== undefined && found?.approvalId !== approvalId)
      problems.push(`${key} lost its approval ${approvalId}`);
    if (amount <= over && found !== undefined) problems.push(`${key} has an approval that it does not need`);
    // The job carries out an approved request, or stores that it was refused, so its status has changed since.
    const isKept = acknowledged === 'approved' ? found?.status !== 'pending' : found?.status === acknowledged;
    if (acknowledged !== undefined && !isKept) problems.push(`${key} was ${acknowledged}, but is ${found?.status}`);
  }
  return problems;
}
