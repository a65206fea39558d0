// `npm run bench -- --layers`, in two processes: the gateway's cost of a request, and with `--store` the store's cost of an order,
// without sockets, NATS and other services.
const measure = process.argv.includes('--store') ? (await import('./store.mjs')).measureStore : (await import('./layers.mjs')).measureLayers;
const { bare, whole, parts } = await measure((text) => console.log(text));

/** @param {string} what @param {import('./cost.mjs').Cost} cost */
const line = (what, { us, bytes }) => `${what.padEnd(72)} ${us.toFixed(2).padStart(8)} ${(us / bare.us).toFixed(2).padStart(6)} ${`${bytes}`.padStart(8)}`;

console.log(`
${'once'.padEnd(72)} ${'µs CPU'.padStart(8)} ${'× bare'.padStart(6)} ${'bytes'.padStart(8)}
${line('bare Fastify, a constant', bare)}
${whole.map(({ what, cost }) => line(what, cost)).join('\n')}

${parts.map(({ what, cost }) => line(what, cost)).join('\n')}`);
process.exit(0);
