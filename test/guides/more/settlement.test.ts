import { followGuide } from '../guide-trial.ts';

followGuide('settlement');
