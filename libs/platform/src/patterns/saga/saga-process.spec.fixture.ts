import { Closings, connect, type Point } from './saga.spec.fixture.js';

// Closes a job in its own process, which kills itself at a point: `node saga-process.spec.fixture.js <database> <job> <point>`. Test
// code only.

const [, , url = '', job, point] = process.argv;
const closings = new Closings(await connect(url, 2), (at: Point) => {
  if (at === point) process.kill(process.pid, 'SIGKILL');
});
await closings.request(Number(job));
