import { describe, expect, it } from '@jest/globals';
import { parse } from './event-source.js';
import { adviceIn, isFinal, reconnectMs } from './reconnect.js';

describe('reconnecting', () => {
  it('waits as long as the stream advises', () => {
    expect(adviceIn('going away; reconnect-after-ms=700')).toBe(700);
    expect(adviceIn('going away')).toBeUndefined();
    expect(reconnectMs({ code: 4200, retryAfterMs: 700 }, 5, 0.9)).toBe(700);
  });

  it('does not wait when the credential expires, or after a slow reader', () => {
    expect([4201, 1000].map((code) => reconnectMs({ code }, 0, 0.9))).toEqual([0, 0]);
    expect(reconnectMs({ code: 4201 }, 1, 1)).toBe(10_000);
  });

  it('otherwise waits a random time of up to 5 s, doubled after each failed attempt, up to 30 s', () => {
    expect([0, 1, 2, 3, 60].map((failures) => reconnectMs({ code: 1006 }, failures, 1))).toEqual([5_000, 10_000, 20_000, 30_000, 30_000]);
    expect(reconnectMs({ code: 1006 }, 3, 0)).toBe(0);
  });

  it('ends when the credential is revoked, or may not read events', () => {
    expect([4001, 4003, 4100, 4101, 4200, 4201, 1006, 1011].filter(isFinal)).toEqual([4001, 4003]);
  });
});

describe('Server-Sent Events', () => {
  it('are parsed into id, event and data; comments and retries are ignored', () => {
    const { messages, unread } = parse('retry: 1200\n\n:\n\nid: c1\ndata: {"a":1}\n\nevent: close\ndata: {"code":4200}\nretry: 5\n\nid: c2\nda');
    expect(messages).toEqual([
      { id: 'c1', event: 'message', data: '{"a":1}' },
      { id: undefined, event: 'close', data: '{"code":4200}' },
    ]);
    expect(unread).toBe('id: c2\nda');
  });

  it('may be split anywhere, with any line ending', () => {
    const text = 'id: c1\r\ndata: one\r\ndata: two\r\n\r\ndata:three\r\n\r\n';
    for (let cut = 0; cut <= text.length; cut += 1) {
      const first = parse(text.slice(0, cut));
      const second = parse(first.unread + text.slice(cut));
      expect([...first.messages, ...second.messages].map(({ data }) => data)).toEqual(['one\ntwo', 'three']);
    }
  });
});
