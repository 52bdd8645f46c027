/** Whether a test tries all of its cases, as in `npm run verify`, which sets FAULTS=all. Otherwise it tries a selection. */
export const isThorough = process.env.FAULTS === 'all';
