// `npm run bench -- --layers`, in a separate process: the gateway's cost of a request without sockets, NATS and other services.
import { measureLayers } from './layers.mjs';

const { bare, whole, parts } = await measureLayers((text) => console.log(text));

/** @param {string} what @param {import('./cost.mjs').Cost} cost */
const line = (what, { us, bytes }) => `${what.padEnd(72)} ${us.toFixed(2).padStart(8)} ${(us / bare.us).toFixed(2).padStart(6)} ${`${bytes}`.padStart(8)}`;

console.log(`
${'once'.padEnd(72)} ${'µs CPU'.padStart(8)} ${'× bare'.padStart(6)} ${'bytes'.padStart(8)}
${line('bare Fastify, a constant', bare)}
${whole.map(({ what, cost }) => line(what, cost)).join('\n')}

${parts.map(({ what, cost }) => line(what, cost)).join('\n')}`);
process.exit(0);
