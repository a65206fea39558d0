// The interface of Swagger's Petstore v3 (1.0.27) with the noun pet replaced by plant, and without its descriptions.

const int64 = { type: 'integer', format: 'int64' };
const int32 = { type: 'integer', format: 'int32' };
const text = { type: 'string' };
const plantStatus = { type: 'string', enum: ['available', 'pending', 'sold'] };
const object = (properties: object, required?: readonly string[]): object => ({ type: 'object', properties, ...(required && { required }) });
const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` });
const listOf = (items: object): object => ({ type: 'array', items });

const schemas = {
  Order: object({
    id: int64,
    plantId: int64,
    quantity: int32,
    shipDate: { type: 'string', format: 'date-time' },
    status: { type: 'string', enum: ['placed', 'approved', 'delivered'] },
    complete: { type: 'boolean' },
  }),
  Category: object({ id: int64, name: text }),
  User: object({ id: int64, username: text, firstName: text, lastName: text, email: text, password: text, phone: text, userStatus: int32 }),
  Tag: object({ id: int64, name: text }),
  Plant: object(
    { id: int64, name: text, category: ref('Category'), photoUrls: listOf(text), tags: listOf(ref('Tag')), status: plantStatus },
    ['name', 'photoUrls'],
  ),
  ApiResponse: object({ code: int32, type: text, message: text }),
  Error: object({ code: text, message: text }, ['code', 'message']),
};

const json = 'application/json';
const xml = 'application/xml';
const form = 'application/x-www-form-urlencoded';
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
  readonly description?: string;
}
const content = (schema: object, ...types: string[]): Content => ({ content: Object.fromEntries(types.map((type) => [type, { schema }])) });

type Place = 'path' | 'query' | 'header';
const parameter = (place: Place, name: string, schema: object = text): object => ({ name, in: place, required: place === 'path', schema });
const exploded = (name: string, schema: object): object => ({ ...parameter('query', name, schema), explode: true });

interface Operation {
  readonly operationId: string;
  readonly responses: { readonly 200: Content; readonly [status: string]: object };
  readonly [member: string]: unknown;
}
export interface PetstoreDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly [member: string]: unknown;
}

/** @param errors statuses that the operation names; each has `default` as well */
const responses = (success: Content & { readonly headers?: object }, ...errors: number[]): Operation['responses'] => ({
  200: { description: '', ...success },
  ...Object.fromEntries(errors.map((status) => [status, { description: '' }])),
  default: { description: '', ...content(ref('Error'), json) },
});

const oauth = { petstore_auth: ['write:plants', 'read:plants'] };
const key = { api_key: [] };

interface Parts {
  readonly parameters?: readonly object[];
  readonly body?: object;
  readonly security?: readonly object[];
}
const operation = (operationId: string, answers: Operation['responses'], { parameters, body, security }: Parts = {}): Operation => ({
  operationId,
  tags: ['petstore'],
  ...(parameters && { parameters }),
  ...(body && { requestBody: body }),
  responses: answers,
  ...(security && { security }),
});

const plantBody = { required: true, ...content(ref('Plant'), json, xml, form) };
const onePlant = content(ref('Plant'), json, xml);
const plants = content(listOf(ref('Plant')), json, xml);
const plantId = parameter('path', 'plantId', int64);
const orderId = parameter('path', 'orderId', int64);
const username = parameter('path', 'username');
const userBody = content(ref('User'), json, xml, form);
const oneUser = content(ref('User'), json, xml);

/** Returns the document for a server at `url`. */
export const petstoreDocument = (url: string): PetstoreDocument => ({
  openapi: '3.0.4',
  info: { title: 'Petstore v3, of plants', version: '1.0.27' },
  servers: [{ url }],
  paths: {
    '/plant': {
      put: operation('updatePlant', responses(onePlant, 400, 404, 422), { body: plantBody, security: [oauth] }),
      post: operation('addPlant', responses(onePlant, 400, 422), { body: plantBody, security: [oauth] }),
    },
    '/plant/findByStatus': {
      get: operation('findPlantsByStatus', responses(plants, 400), {
        parameters: [exploded('status', { ...plantStatus, default: 'available' })],
        security: [oauth],
      }),
    },
    '/plant/findByTags': {
      get: operation('findPlantsByTags', responses(plants, 400), { parameters: [exploded('tags', listOf(text))], security: [oauth] }),
    },
    '/plant/{plantId}': {
      get: operation('getPlantById', responses(onePlant, 400, 404), { parameters: [plantId], security: [key, oauth] }),
      post: operation('updatePlantWithForm', responses(onePlant, 400), {
        parameters: [plantId, parameter('query', 'name'), parameter('query', 'status')],
        security: [oauth],
      }),
      delete: operation('deletePlant', responses({}, 400), { parameters: [parameter('header', 'api_key'), plantId], security: [oauth] }),
    },
    '/plant/{plantId}/uploadImage': {
      post: operation('uploadFile', responses(content(ref('ApiResponse'), json), 400, 404), {
        parameters: [plantId, parameter('query', 'additionalMetadata')],
        body: content({ type: 'string', format: 'binary' }, 'application/octet-stream'),
        security: [oauth],
      }),
    },
    '/store/inventory': {
      get: operation('getInventory', responses(content({ type: 'object', additionalProperties: int32 }, json)), { security: [key] }),
    },
    '/store/order': {
      post: operation('placeOrder', responses(content(ref('Order'), json), 400, 422), { body: content(ref('Order'), json, xml, form) }),
    },
    '/store/order/{orderId}': {
      get: operation('getOrderById', responses(content(ref('Order'), json, xml), 400, 404), { parameters: [orderId] }),
      delete: operation('deleteOrder', responses({}, 400, 404), { parameters: [orderId] }),
    },
    '/user': {
      post: operation('createUser', responses(oneUser), { body: userBody }),
    },
    '/user/createWithList': {
      post: operation('createUsersWithListInput', responses(oneUser), { body: content(listOf(ref('User')), json) }),
    },
    '/user/login': {
      get: operation(
        'loginUser',
        responses(
          {
            headers: { 'X-Rate-Limit': { schema: int32 }, 'X-Expires-After': { schema: { type: 'string', format: 'date-time' } } },
            ...content(text, xml, json),
          },
          400,
        ),
        { parameters: [parameter('query', 'username'), parameter('query', 'password')] },
      ),
    },
    '/user/logout': {
      get: operation('logoutUser', responses({})),
    },
    '/user/{username}': {
      get: operation('getUserByName', responses(oneUser, 400, 404), { parameters: [username] }),
      put: operation('updateUser', responses({}), { parameters: [username], body: userBody }),
      delete: operation('deleteUser', responses({}, 400, 404), { parameters: [username] }),
    },
  },
  components: {
    schemas,
    securitySchemes: {
      petstore_auth: {
        type: 'oauth2',
        flows: {
          implicit: {
            authorizationUrl: 'https://petstore3.swagger.io/oauth/authorize',
            scopes: { 'write:plants': '', 'read:plants': '' },
          },
        },
      },
      api_key: { type: 'apiKey', name: 'api_key', in: 'header' },
    },
  },
});
