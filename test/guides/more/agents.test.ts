import { followGuide } from '../guide-trial.ts';

followGuide('agents');
