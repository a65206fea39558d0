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

describe('the validation of answers against the document', () => {
  it('accepts documented answers', () => {
    expect(faultsOf({ id: 1 })).toEqual([]);
    expect(faultsOf('', { status: 304 })).toEqual([]);
    expect(faultsOf('', { method: 'HEAD' })).toEqual([]);
    expect(faultsOf('', { method: 'HEAD', status: 405, headers: { allow: 'GET' } })).toEqual([]);
    expect(faultsOf('', { method: 'HEAD', status: 404, path: '/v3/nothing' })).toEqual([]);
  });

  it.each([
    ['an undocumented status', faultsOf({ id: 1 }, { status: 201 }), /does not document 201/],
    ['a member with a wrong type', faultsOf({ id: '1' }), /\/id must be integer/],
    ['a missing member', faultsOf({}), /required property 'id'/],
    ['an undocumented member', faultsOf({ id: 1, secret: 'x' }), /additional properties.*secret/],
    ['a missing header', faultsOf({ id: 1 }, { headers: { 'content-type': 'application/json' } }), /ETag is missing/],
    ['a header with a wrong format', faultsOf({ id: 1 }, { headers: { ...json, etag: '1' } }), /header ETag/],
    ['an undocumented Content-Type', faultsOf('x', { headers: { ...json, 'content-type': 'text/html' } }), /text\/html is not documented/],
    ['an undocumented body', faultsOf('x', { status: 304 }), /body is not documented/],
    ['an answer of a more specific path', faultsOf([], { path: '/v3/plant/findByTags' }), /findPlantsByTags does not document 200/],
    ['a success of an undocumented method', faultsOf({ id: 1 }, { method: 'PUT' }), /not documented/],
    ['a success of an undocumented path', faultsOf({}, { path: '/v3/nothing' }), /not documented/],
    ['405 to HEAD without Allow', faultsOf('', { method: 'HEAD', status: 405, headers: {} }), /Allow is missing/],
    ['an undocumented answer outside the prefix', faultsOf({}, { path: '/livez' }), /live does not document 200/],
  ])('rejects %s', (_, faults, expected) => {
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(expected);
  });
});
