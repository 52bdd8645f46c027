import { followGuide } from '../guide-trial.ts';

followGuide('upgrades', { startsService: true });
