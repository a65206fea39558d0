import { describe, expect, it } from '@jest/globals';
import { DocumentJudge } from './document.js';

const plant = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
const judge = new DocumentJudge({
  servers: [{ url: 'http://shop/v3' }],
  paths: {
    '/plant/{plantId}': {
      get: {
        operationId: 'getPlant',
        responses: {
          '200': {
            headers: { ETag: { required: true, schema: { type: 'string', pattern: '^"' } } },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Plant' } } },
          },
          '304': {},
        },
      },
    },
    '/plant/findByTags': { get: { operationId: 'findPlantsByTags', responses: {} } },
    '/livez': { servers: [{ url: 'http://shop' }], get: { operationId: 'live', responses: {} } },
  },
  components: { schemas: { Plant: plant }, responses: { 'route-not-found': {}, 'method-not-allowed': {} } },
});

const json: Record<string, string> = { 'content-type': 'application/json; charset=utf-8', etag: '"1"' };
const faultsOf = (body: unknown, { status = 200, headers = json, method = 'GET', path = '/v3/plant/1' } = {}) =>
  judge.faultsOf(method, path, { status, headers: new Headers(headers), body });

describe('the judge of answers', () => {
  it('accepts what the document says', () => {
    expect(faultsOf({ id: 1 })).toEqual([]);
    expect(faultsOf('', { status: 304 })).toEqual([]);
    expect(faultsOf('', { method: 'HEAD' })).toEqual([]);
    expect(faultsOf('', { method: 'HEAD', status: 405, headers: { allow: 'GET' } })).toEqual([]);
    expect(faultsOf('', { method: 'HEAD', status: 404, path: '/v3/nothing' })).toEqual([]);
  });

  it.each([
    ['another status', faultsOf({ id: 1 }, { status: 201 }), /does not document 201/],
    ['a member of another type', faultsOf({ id: '1' }), /\/id must be integer/],
    ['a member that is missing', faultsOf({}), /required property 'id'/],
    ['a member that is not named', faultsOf({ id: 1, secret: 'x' }), /additional properties.*secret/],
    ['a header that is missing', faultsOf({ id: 1 }, { headers: { 'content-type': 'application/json' } }), /ETag is missing/],
    ['a header of another form', faultsOf({ id: 1 }, { headers: { ...json, etag: '1' } }), /header ETag/],
    ['another Content-Type', faultsOf('x', { headers: { ...json, 'content-type': 'text/html' } }), /text\/html is not documented/],
    ['a body where there is none', faultsOf('x', { status: 304 }), /there is a body/],
    ['the answers of a more exact path', faultsOf([], { path: '/v3/plant/findByTags' }), /findPlantsByTags does not document 200/],
    ['a success of a method that is not there', faultsOf({ id: 1 }, { method: 'PUT' }), /not documented/],
    ['a success of a path that is not there', faultsOf({}, { path: '/v3/nothing' }), /not documented/],
    ['HEAD that is not allowed without saying what is', faultsOf('', { method: 'HEAD', status: 405, headers: {} }), /Allow is missing/],
    ['what is served outside of the prefix', faultsOf({}, { path: '/livez' }), /live does not document 200/],
  ])('does not accept %s', (_, faults, expected) => {
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(expected);
  });
});
