import { followGuide } from '../guide-trial.ts';

followGuide('move-in', { fails: /move-in check wrong\.csv/ });
