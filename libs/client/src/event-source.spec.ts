import { expect, it } from '@jest/globals';
import { readEventSource } from './event-source.js';

it('passes the id of a message as its cursor', async () => {
  const got: unknown[] = [];
  const receiver = { onOpen: () => undefined, onText: (...given: unknown[]) => got.push(given) > 0 };
  await readEventSource(new Response('id: c1\ndata: {}\n\n'), new AbortController().signal, async () => undefined, receiver);
  expect(got).toEqual([['{}', 'c1']]);
});
