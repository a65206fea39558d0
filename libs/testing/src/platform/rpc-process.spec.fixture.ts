import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

// One end of calls in a process of its own, on a host whose clock differs: `node rpc-process.spec.fixture.js <part> <nats> <ahead ms>`.
// As `workshop` it says `ready`, then `work <name>` for each job that it carries out. As `customer` it reads `<name> <budget ms>` and
// says `<name> done` or `<name> <code>`. Both read `step <ms>`, which sets the clock. Test code only.

const [, , part = '', natsUrl = '', ahead = '0'] = process.argv;
const realNow = Date.now.bind(Date);
const say = (line: string): void => void writeSync(1, `${line}\n`);

let aheadMs = Number(ahead);
Date.now = () => realNow() + aheadMs;
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + aheadMs });
// After that: the process clock takes its origin when it is loaded.
const { Customer, work, Workshop } = await import('./workshop.js');
const { contextFor } = await import('../service.js');

const customer = part === 'customer' ? await Customer.arrive(natsUrl) : undefined;
if (!customer) await Workshop.open(natsUrl, { work: ({ name }) => (say(`work ${name}`), { done: name }) });
say('ready');

for await (const line of createInterface({ input: process.stdin })) {
  const [name = '', number] = line.split(' ');
  if (name === 'step') aheadMs += Number(number);
  else void customer?.client.call(work, { name }, contextFor(undefined, Number(number))).then(
    () => say(`${name} done`),
    (error: unknown) => say(`${name} ${(error as { code?: string }).code}`),
  );
}
