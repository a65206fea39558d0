export default {
  projects: ['<rootDir>/libs/*', '<rootDir>/apps/*'],
};
