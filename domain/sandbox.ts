/** Inner UUID of the demo program: a constant, so that the examples work in every sandbox. */
export const DEMO_PROGRAM_ID = '01900000-0000-7000-8000-0000000000de';

/** The id of the connector to the simulator, which every sandbox has. */
export const SIMULATOR_ID = 'simulator';

/** The people whose identity can be used to sign in to a sandbox without a provider, by their id at the provider. */
export const SANDBOX_PEOPLE = {
  operator: { name: 'Olivia Park', email: 'olivia@example.com', role: 'operator' },
  treasurer: { name: 'Tariq Haddad', email: 'tariq@example.com', role: 'treasurer' },
  approver: { name: 'Amara Nwosu', email: 'amara@example.com', role: 'approver' },
  support: { name: 'Sofia Lindqvist', email: 'sofia@example.com', role: 'support' },
} as const;
