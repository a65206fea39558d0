import { describe, expect, it } from '@jest/globals';
import { checkMediaType } from './headers.js';

describe('the media type of a body', () => {
  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"', 'application/json ; v=1'])(
    'may be %s where JSON is expected',
    (header) => {
      expect(() => checkMediaType(header, 'json')).not.toThrow();
    },
  );

  it.each([undefined, '', 'text/plain', 'application/jsonx', 'application/json; charset=latin1', 'application/json, text/plain', 'application/x-www-form-urlencoded'])(
    'must not be %s where JSON is expected',
    (header) => {
      expect(() => checkMediaType(header, 'json')).toThrow(expect.objectContaining({ code: 'unsupported-media-type' }));
    },
  );

  it('must be a form where a form is expected', () => {
    expect(() => checkMediaType('application/x-www-form-urlencoded', 'form')).not.toThrow();
    expect(() => checkMediaType('application/json', 'form')).toThrow('application/x-www-form-urlencoded');
  });

  it('must be multipart where a file is expected', () => {
    expect(() => checkMediaType('multipart/form-data; boundary=x', 'multipart')).not.toThrow();
    expect(() => checkMediaType('multipart/mixed; boundary=x', 'multipart')).toThrow('multipart/form-data');
  });
});
