import { followGuide } from '../guide-trial.ts';

// The reader's folder has no service, so doctor checks the service at the URL.
followGuide('command-line', { fails: /--amount 10\.00$|--card card_empty --amount/ });
