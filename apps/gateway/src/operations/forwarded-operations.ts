import { Inject, Injectable } from '@nestjs/common';
import type { ClientOperation } from '@plant-shop/contracts/client-operation';
import { clientOperations, sandboxOperations } from '@plant-shop/contracts/client-operations';
import { type FieldSchema, schemaOfClass } from '@plant-shop/contracts/schema';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GATEWAY_OPTIONS, type GatewayOptions } from '../config.js';
import { CachedReads } from '../reads/cached-reads.js';
import { pageOf, pathId, pathText, queryFlag, queryId, queryList, queryPairs, queryText, requiredQueryIds, requiredQueryList } from '../http/input.js';
import { encodedHeader } from '../http/headers.js';
import { clientAddress } from '../http/request-authenticator.js';
import { isPaged, routeSpecOf } from '../http/route.js';
import { Routes } from '../http/route-checks.js';
import { type PageQuery, RpcForwarder, sendApiResponse } from '../http/rpc-forwarder.js';

type Call = Operation<object, unknown>;
type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * Serves the declared operations that need no handler of their own: parameters become members of the payload, and the
 * service's answer becomes the response. Handlers and readers are made when the gateway starts. These are plain routes, as
 * Nest controllers would add nothing but their own layer.
 */
@Injectable()
export class ForwardedOperations {
  constructor(
    private readonly forwarder: RpcForwarder,
    private readonly reads: CachedReads,
    private readonly routes: Routes,
    @Inject(GATEWAY_OPTIONS) private readonly options: GatewayOptions,
  ) {}

  /** Call after the routes of controllers and uploads. */
  register(instance: FastifyInstance): void {
    instance.register((child, _, done) => {
      const served = new Set(this.routes.served.map(({ spec }) => spec.operation));
      for (const operation of [...clientOperations, ...(this.options.sandbox ? sandboxOperations : [])]) {
        if (served.has(operation.name)) continue;
        const handle = this.handlerOf(operation);
        child.route({
          method: operation.method,
          url: operation.url,
          config: { spec: routeSpecOf(operation) },
          handler: (request, reply) => {
            // Handlers send their response themselves, so Fastify gets no promise of one.
            handle(request, reply).catch((error: unknown) => reply.send(error));
          },
        });
      }
      done();
    });
  }

  private handlerOf(operation: ClientOperation): Handler {
    const { forwarder, reads } = this;
    const { answer, shared, calls } = operation;
    const [call] = calls;
    if (!call || calls.length > 1) throw noHandler(operation);
    const parametersOf = parameterReader([...pathAndOwnReaders(operation, call), ...queryReaders(operation, call)]);
    if (answer.kind === 'forwarded' && shared === undefined && !isPaged(operation)) {
      return (request, reply) => forwarder.forward(request, reply, call, parametersOf(request));
    }
    if (answer.kind === 'apiResponse' && answer.member !== undefined) return this.apiResponseSender(call, parametersOf, answer.member);
    if (answer.kind !== 'forwarded') throw noHandler(operation);
    if (shared === 'coalesced') return reads.coalescing(call);
    if (isPaged(operation)) return this.pageSender(operation, call);
    return (request, reply) => reads.sendCached(request, reply, call, parametersOf(request));
  }

  /** @param member the member of the answer that is the response's message */
  private apiResponseSender(call: Call, parametersOf: (request: FastifyRequest) => Values, member: string): Handler {
    return async (request, reply) => {
      const answer = (await this.forwarder.call(request, call, parametersOf(request))) as Readonly<Record<string, string | number>>;
      sendApiResponse(reply, String(answer[member]));
    };
  }

  /** Separates path and query, because the link to the next page repeats the query. */
  private pageSender(operation: ClientOperation, call: Call): Handler {
    const inPath = parameterReader(pathAndOwnReaders(operation, call));
    const inQuery = parameterReader(queryReaders(operation, call));
    const isCached = operation.shared === 'cached';
    return (request, reply) => {
      const query = inQuery(request);
      const parameters = { ...inPath(request), ...query };
      return isCached
        ? this.reads.sendCached(request, reply, call, parameters, query as PageQuery)
        : this.forwarder.forwardPage(request, reply, call, parameters, query as PageQuery);
    };
  }
}

const noHandler = ({ name }: ClientOperation): Error => new Error(`${name} cannot be forwarded: bind a handler to it with @Serves`);

type Values = Record<string, unknown>;
/** Copies members of the payload from a request. */
type Reader = (request: FastifyRequest, values: Values) => void;

const parameterReader =
  (readers: readonly Reader[]) =>
  (request: FastifyRequest): Values => {
    const values: Values = {};
    for (const read of readers) read(request, values);
    return values;
  };

/** The path's parameters, and what payloads have members for: the presented session, the client's address, the current password and code. */
function pathAndOwnReaders({ url }: ClientOperation, { payload }: Call): Reader[] {
  const { properties } = schemaOfClass(payload);
  const readers = [...url.matchAll(/:(\w+)/g)].map(([, name = '']): Reader => {
    const read = properties[name]?.type === 'integer' ? pathId : pathText;
    return (request, values) => {
      values[name] = read(request, name);
    };
  });
  if ('ownSession' in properties) {
    readers.push((request, values) => {
      values['ownSession'] = request.authentication?.sessionDigest;
    });
  }
  if ('currentPassword' in properties) {
    readers.push((request, values) => {
      values['currentPassword'] = encodedHeader(request, 'Current-Password');
      values['currentCode'] = encodedHeader(request, 'Current-Code');
    });
  }
  if ('address' in properties) {
    readers.push((request, values) => {
      values['address'] = clientAddress(request);
    });
  }
  return readers;
}

/** Those of `query` that are present. */
function queryReaders({ query = [], required = {} }: ClientOperation, { payload }: Call): Reader[] {
  const { properties } = schemaOfClass(payload);
  const readers = query
    .filter((name) => name !== 'limit' && name !== 'cursor')
    .map((name): Reader => {
      const read = readerOf(name, properties[name], required[name]);
      return (request, values) => {
        const value = read(request);
        if (value !== undefined) values[name] = value;
      };
    });
  return query.includes('cursor') ? [...readers, (request, values) => Object.assign(values, pageOf(request))] : readers;
}

function readerOf(name: string, { type, items }: FieldSchema = {}, must: string | undefined): (request: FastifyRequest) => unknown {
  if (items?.type === 'integer' && must !== undefined) return (request) => requiredQueryIds(request, name, must);
  if (type === 'array') {
    const kind = { ofTexts: items?.['enum'] === undefined };
    return must === undefined ? (request) => queryList(request, name, kind) : (request) => requiredQueryList(request, name, kind, must);
  }
  if (type === 'boolean') return (request) => queryFlag(request, name);
  if (type === 'object') return (request) => queryPairs(request, name);
  return type === 'integer' ? (request) => queryId(request, name) : (request) => queryText(request, name);
}
