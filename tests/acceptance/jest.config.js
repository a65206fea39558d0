import { project } from '../../jest.base.js';

export default {
  ...project('acceptance'),
  // The tests that kill services come last: the others share the shop with nobody.
  maxWorkers: 1,
  testSequencer: '<rootDir>/outage-last.cjs',
};
