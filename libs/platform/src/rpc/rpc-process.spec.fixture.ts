import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

// One end of RPC calls in its own process, on a host whose clock differs: `node rpc-process.spec.fixture.js <role> <nats> <ahead ms>`.
// As `stub` it prints `ready`, then `work <name>` for each job that it handles. As `caller` it reads `<name> <budget ms>` and prints
// `<name> done` or `<name> <code>`. Both read `step <ms>`, which sets the clock. Test code only.

const [, , role = '', natsUrl = '', ahead = '0'] = process.argv;
const realNow = Date.now.bind(Date);
const print = (line: string): void => void writeSync(1, `${line}\n`);

let aheadMs = Number(ahead);
Date.now = () => realNow() + aheadMs;
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + aheadMs });
// Imported only now: the process clock reads its origin when it is loaded.
const { StubService, TestClient, writeJob } = await import('./stub-service.spec.fixture.js');
const { contextFor } = await import('./context.spec.fixture.js');

const caller = role === 'caller' ? await TestClient.connect(natsUrl) : undefined;
if (!caller) await StubService.start(natsUrl, { writeJob: ({ name }) => (print(`work ${name}`), { done: name }) });
print('ready');

for await (const line of createInterface({ input: process.stdin })) {
  const [name = '', number] = line.split(' ');
  if (name === 'step') aheadMs += Number(number);
  else void caller?.client.call(writeJob, { name }, contextFor(Number(number))).then(
    () => print(`${name} done`),
    (error: unknown) => print(`${name} ${(error as { code?: string }).code}`),
  );
}
