import { followGuide } from '../guide-trial.ts';

followGuide('retention');
