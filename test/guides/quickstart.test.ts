import { followGuide } from './guide-trial.ts';

followGuide('quickstart', { startsService: true, usesNpm: true });
