/**
 * Flags of Node for every service, in images too (deploy/Dockerfile). V8's memory reducer collects the heap of an idle process several
 * times, and with it code and the shapes of objects that optimised code depends on. The next load then compiles everything again and
 * collects a small heap often: for minutes, a request costs a quarter to twice as much as under continuous load.
 * So an idle process keeps the memory of its last load. Only the command line can turn it off: it exists before any code runs.
 */
export const NODE_FLAGS = ['--no-memory-reducer'];
