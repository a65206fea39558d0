// Makes a Postman collection of the OpenAPI document. Run from top to bottom (by Postman or newman) against a shop with demo credentials,
// it creates what it reads, and removes what can be removed at the end.

/** @typedef {Record<string, any>} Json */

/**
 * Folders in the order in which their requests need each other; what deletes and cancels is in a last one. Operations of a sandbox are left out:
 * resetting one would delete what the others have made.
 */
const FOLDERS = ['Users', 'Plants', 'Store', 'Webhooks', 'OAuth', 'Shop'];
/** Problems with these statuses depend on the state of the shop; others show that the request itself is wrong. */
const INTENDED = [404, 409, 410, 412];

/** @param {Json} openapi */
export function postmanCollection(openapi) {
  const requests = Object.entries(openapi['paths']).flatMap(([path, item]) =>
    Object.entries(item).filter(([, { operationId }]) => operationId).map(([method, operation]) => requestOf(openapi, { path, method, operation, isUnprefixed: item.servers !== undefined })));
  const kept = requests.filter(({ removes }) => !removes);
  const removing = requests.filter(({ removes }) => removes).sort((a, b) => b.depth - a.depth);
  const items = (/** @type {typeof requests} */ some) => some.map(({ item }) => item);
  return {
    info: {
      name: openapi['info'].title,
      description:
        'Generated from openapi.json. From top to bottom it runs against a shop that `npm start` started, and removes what can be removed again. Never run all of it ' +
        'against a shop with real data: it also imports a plant, and completes a refund.',
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'apikey', apikey: [{ key: 'key', value: 'api_key' }, { key: 'value', value: '{{apiKey}}' }, { key: 'in', value: 'header' }] },
    variable: Object.entries({ url: new URL(openapi['servers'][0].url).origin, apiKey: 'special-key', password: 'correct horse battery', ...defaultsOf(openapi) }).map(([key, value]) => ({ key, value: String(value) })),
    event: [testOf([
      `const intended = ${JSON.stringify(intendedCodes(openapi))};`,
      "const code = pm.response.code < 400 ? 'success' : pm.response.json().code;",
      "pm.test('succeeds, or is refused for an intended reason', () => pm.expect(code).to.be.oneOf(['success', ...intended]));",
    ])],
    item: [
      ...FOLDERS.map((tag) => ({ name: tag, description: openapi['tags'].find((/** @type {Json} */ one) => one['name'] === tag).description, item: items(kept.filter((one) => one.tag === tag)) })),
      { name: 'Delete and cancel', item: items(removing) },
    ],
  };
}

/** @param {Json} openapi @param {{ path: string, method: string, operation: Json, isUnprefixed: boolean }} one */
function requestOf(openapi, { path, method, operation, isUnprefixed }) {
  const parameters = (operation['parameters'] ?? []).map((/** @type {Json} */ one) => (one['$ref'] ? openapi['components'].parameters[one['$ref'].split('/').at(-1)] : one));
  const within = (/** @type {string} */ place) => parameters.filter((/** @type {Json} */ one) => one['in'] === place);
  const segments = [...(isUnprefixed ? [] : ['v3']), ...path.slice(1).split('/').map((one) => one.replace(/^\{(.+)\}$/, ':$1'))];
  const query = within('query').map((/** @type {Json} */ one) => ({ ...pairOf(one), ...(one['required'] ? {} : { disabled: true }) }));
  const header = within('header').map((/** @type {Json} */ { name, description }) => {
    const isKey = name === 'Idempotency-Key';
    return { key: name, value: isKey ? '{{$guid}}' : '', description, ...(isKey ? {} : { disabled: true }) };
  });
  const [type, media] = Object.entries(operation['requestBody']?.content ?? {})[0] ?? [];
  const saved = savedBy(openapi, path, method, operation);
  return {
    tag: operation['tags'][0],
    removes: method === 'delete' || operation['operationId'] === 'logout',
    depth: segments.length,
    item: {
      name: operation['summary'],
      ...(saved.length > 0 && { event: [testOf(saved)] }),
      request: {
        method: method.toUpperCase(),
        ...(operation['security'].length === 0 && { auth: { type: 'noauth' } }),
        header: [...header, ...(type && type !== 'multipart/form-data' ? [{ key: 'Content-Type', value: type }] : [])],
        url: {
          raw: `{{url}}/${segments.join('/')}`,
          host: ['{{url}}'],
          path: segments,
          ...(query.length > 0 && { query }),
          variable: within('path').map((/** @type {Json} */ { name }) => ({ key: name, value: `{{${name}}}` })),
        },
        ...(type && { body: bodyOf(type, /** @type {Json} */ (media), !path.includes('{')) }),
        description: operation['description'] ?? '',
      },
    },
  };
}

/** @param {Json} parameter */
function pairOf({ name, schema, example = schema.examples?.[0], description = '' }) {
  if (['username', 'password'].includes(name)) return { key: name, value: `{{${name}}}`, description };
  if (typeof example === 'object' && !Array.isArray(example)) return { key: `${name}[${Object.keys(example)[0]}]`, value: Object.values(example)[0], description };
  return { key: name, value: String(name === 'ids' || name === 'plantId' ? '{{plantId}}' : (example ?? '')), description };
}

/** @param {string} type @param {Json} media @param {boolean} isCreating whether it has no ids in its path */
function bodyOf(type, { schema, example }, isCreating) {
  if (type === 'multipart/form-data') {
    const fields = Object.entries(schema.properties).map(([key, one]) => (one.format === 'binary' ? { key, type: 'text', value: 'a leaf', fileName: 'leaf.txt', contentType: 'text/plain' } : { key, type: 'text', value: one.examples[0] }));
    return { mode: 'formdata', formdata: fields };
  }
  if (type === 'application/x-www-form-urlencoded') return { mode: 'urlencoded', urlencoded: Object.entries(example).map(([key, value]) => ({ key, value: key === 'status' ? 'available' : String(value) })) };
  if (typeof example === 'string') return { mode: 'raw', raw: example };
  return { mode: 'raw', raw: withVariables(JSON.stringify(example, null, 2), isCreating), options: { raw: { language: 'json' } } };
}

/** Replaces what the shop knows by other names, what it accepts once, and what would prevent the requests below. @param {string} json @param {boolean} isCreating */
function withVariables(json, isCreating) {
  return json
    .replaceAll(/("(?:plantId|id)": )100000000[12]\b/g, '$1{{plantId}}')
    .replaceAll(/("plantId": )7/g, '$1{{plantId}}')
    .replaceAll(/("username": )"\w+"/g, `$1"${isCreating ? 'ada-{{$timestamp}}' : '{{username}}'}"`)
    .replaceAll('"state": "disabled"', '"state": "enabled"')
    .replaceAll(/("password": )"[^"]+"/g, '$1"{{password}}"')
    .replaceAll(/("(?:externalId|reference)": "\w+)[-_][^"]+"/g, '$1-{{$guid}}"');
}

/** Returns the script that keeps the ids in an answer, for the requests below it. @param {Json} openapi @param {string} path @param {string} method @param {Json} operation */
function savedBy(openapi, path, method, operation) {
  const inner = Object.keys(openapi['paths']).find((one) => one.startsWith(`${path}/{`) && one.endsWith('}'));
  const isCreated = method === 'post';
  if (operation['operationId'] === 'uploadImage') return ["if (pm.response.code === 200) pm.collectionVariables.set('imageId', pm.response.json().imageUrl.split('/').pop());"];
  if (inner === undefined || (method === 'get' ? openapi['paths'][path].post !== undefined : !isCreated)) return [];
  const name = inner.slice(path.length + 2, -1);
  return [
    `const found = pm.response.code === 200 && pm.response.json()${isCreated ? '' : '[0]'};`,
    `if (found) pm.collectionVariables.set('${name}', found.${name} ?? found.id);`,
  ];
}

/**
 * Returns the variables of paths. Those of what a request creates are empty until then, so that no other plant or user is deleted; the
 * others are examples. @param {Json} openapi
 */
function defaultsOf(openapi) {
  const parameters = Object.values(openapi['paths']).flatMap((item) => Object.values(item).flatMap((operation) => operation.parameters ?? []));
  const isCreated = (/** @type {string} */ name) => Object.entries(openapi['paths']).some(([path, { post }]) => post !== undefined && openapi['paths'][`${path}/{${name}}`] !== undefined);
  return Object.fromEntries(parameters.filter((one) => one.in === 'path').map(({ name, example }) => [name, isCreated(name) || name === 'imageId' ? '' : example]));
}

/** @param {Json} openapi */
function intendedCodes(openapi) {
  const responses = /** @type {Json[]} */ (Object.values(openapi['components'].responses));
  const examples = responses.flatMap((one) => Object.values(one['content']?.['application/problem+json']?.examples ?? {}).map(({ value }) => value));
  const found = examples.filter(({ status, code }) => INTENDED.includes(status) && code !== 'route-not-found').map(({ code }) => code);
  return [...new Set([...found, 'recent-login-required'])].sort();
}

/** @param {readonly string[]} exec */
const testOf = (exec) => ({ listen: 'test', script: { type: 'text/javascript', exec } });
