import { followGuide } from '../guide-trial.ts';

// No service runs in the reader's folder, so doctor checks the service at the URL.
followGuide('command-line', { fails: /--amount 10\.00$|--card card_empty --amount/ });
