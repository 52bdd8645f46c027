/**
 * What an open overview asks again and again, and how often at most. `test/console/all-screens/budgets.test.ts` compares it
 * with what the page really asks.
 */
export const POLLS: readonly { readonly path: string; readonly everyMilliseconds: number }[] = [
  { path: '/api/v0.1/operator/overview', everyMilliseconds: 2_000 },
  { path: '/api/v0.1/operator/switch', everyMilliseconds: 5_000 },
];
