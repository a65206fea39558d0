import { project } from '../../jest.base.js';

export default project('service-testing');
