/** Inner UUID of the demo program: a constant, so that the examples work in every sandbox. */
export const DEMO_PROGRAM_ID = '01900000-0000-7000-8000-0000000000de';

/** The id of the connector to the simulator, which every sandbox has. */
export const SIMULATOR_ID = 'simulator';
