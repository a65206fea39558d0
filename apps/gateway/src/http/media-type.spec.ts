import { describe, expect, it } from '@jest/globals';
import { checkMediaType } from './headers.js';

describe('the media type of a body', () => {
  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"', 'application/json ; v=1'])(
    'may be %s where JSON is expected',
    (header) => {
      expect(() => checkMediaType({ 'content-type': header }, 'application/json')).not.toThrow();
    },
  );

  it.each([undefined, '', 'text/plain', 'application/jsonx', 'application/json; charset=latin1', 'application/json, text/plain', 'application/x-www-form-urlencoded'])(
    'must not be %s where JSON is expected',
    (header) => {
      expect(() => checkMediaType({ 'content-type': header }, 'application/json')).toThrow(expect.objectContaining({ code: 'unsupported-media-type' }));
    },
  );

  it('must be a merge patch where one is expected, and the refusal says so in a header', () => {
    expect(() => checkMediaType({ 'content-type': 'application/merge-patch+json; charset=utf-8' }, 'application/merge-patch+json')).not.toThrow();
    const refusal = expect.objectContaining({ code: 'unsupported-media-type', headers: { 'accept-patch': 'application/merge-patch+json' } });
    for (const type of ['application/json', 'application/json-patch+json']) expect(() => checkMediaType({ 'content-type': type }, 'application/merge-patch+json')).toThrow(refusal);
  });

  it('must be a form where a form is expected', () => {
    expect(() => checkMediaType({ 'content-type': 'application/x-www-form-urlencoded' }, 'application/x-www-form-urlencoded')).not.toThrow();
    expect(() => checkMediaType({ 'content-type': 'application/json' }, 'application/x-www-form-urlencoded')).toThrow('application/x-www-form-urlencoded');
  });

  it('must be multipart where a file is expected', () => {
    expect(() => checkMediaType({ 'content-type': 'multipart/form-data; boundary=x' }, 'multipart/form-data')).not.toThrow();
    expect(() => checkMediaType({ 'content-type': 'multipart/mixed; boundary=x' }, 'multipart/form-data')).toThrow('multipart/form-data');
  });

  it.each(['gzip', 'GZIP', 'br', 'deflate', 'gzip, gzip', 'identity, gzip', 'x', ''])('is refused with the coding %p, whatever the body', (coding) => {
    for (const [type, header = type] of [['application/json'], ['application/x-ndjson'], ['multipart/form-data', 'multipart/form-data; boundary=x'], ['application/x-www-form-urlencoded']] as const) {
      expect(() => checkMediaType({ 'content-type': header, 'content-encoding': coding }, type)).toThrow(
        expect.objectContaining({ code: 'unsupported-media-type', headers: { 'accept-encoding': 'identity' } }),
      );
    }
  });

  it('may be followed by the coding that is none', () => {
    expect(() => checkMediaType({ 'content-type': 'application/json', 'content-encoding': 'Identity' }, 'application/json')).not.toThrow();
  });
});
