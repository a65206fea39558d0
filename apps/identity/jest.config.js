import { project } from '../../jest.base.js';

// Passwords are hashed and pages walked through on real servers, on machines that do other things as well.
export default { ...project('identity'), testTimeout: 20_000 };
