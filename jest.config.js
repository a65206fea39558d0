import { limitMs } from './jest.base.js';

export default {
  projects: ['<rootDir>/libs/*', '<rootDir>/apps/*', '<rootDir>/tests/chaos'],
  // Jest takes it from here only, when it runs several projects.
  testTimeout: limitMs,
};
