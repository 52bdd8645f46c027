// Builds and installs both tarballs for the suites that use them: node test/packages/pack.ts
import { packedSdk, packedService } from './packed.ts';

await Promise.all([packedService(), packedSdk()]);
