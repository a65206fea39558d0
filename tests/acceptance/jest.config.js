import { project } from '../../jest.base.js';

export default {
  ...project('acceptance'),
  // One file at a time, since all share one shop; files that kill services come last.
  maxWorkers: 1,
  testSequencer: '<rootDir>/outage-last.cjs',
};
