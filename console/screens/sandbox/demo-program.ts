/** The card program that every sandbox begins with; its id is the same in each. The seeded cards are in no other one. */
export const DEMO_PROGRAM_ID = 'prog_019000000000700080000000000000de';
