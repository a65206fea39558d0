import { expect, it } from '@jest/globals';
import { readEventSource } from './event-source.js';

it('passes the id of a message as its cursor, and an id alone as the cursor of an idle stream', async () => {
  const got: unknown[] = [];
  const receiver = { onOpen: () => undefined, onText: (...given: unknown[]) => got.push(given) > 0, onCursor: (cursor: string) => got.push(cursor) };
  await readEventSource(new Response('id: c1\ndata: {}\n\n:\n\nid: c2\n\n'), new AbortController().signal, async () => undefined, receiver);
  expect(got).toEqual([['{}', 'c1'], 'c2']);
});
