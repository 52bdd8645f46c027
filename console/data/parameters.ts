import type { ComponentType } from 'preact';

/** The values of the parameters in a path, by name. */
export type Parameters = Readonly<Record<string, string>>;

/** A screen gets the parameters of its path, and reads everything else with hooks. */
export type Screen = ComponentType<{ readonly parameters: Parameters }>;
