import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import { CredentialChecker } from '@plant-shop/credentials/credential-checker';
import type { PresentedCredentials } from '@plant-shop/credentials/presented-credentials';
import { CodedError, overloaded } from '@plant-shop/platform/errors';
import { networkOf } from '@plant-shop/platform/http/request';
import { NOTIFICATIONS_OPTIONS, type NotificationsOptions } from '../../options.js';

/** The part of the open files that clients may use; the rest is for databases, NATS, receivers of webhooks and probes. */
const clientPart = 0.8;
/** From this part on, connections are closed before they send a request. */
const closedPart = 0.9;

/** Returns how many stream clients a process with this limit of open files can have. */
export const clientsWithin = (openFiles: number): number => Math.max(1, Math.floor(openFiles * clientPart));

/**
 * Limits the sockets of the stream's port, so that the process never runs out of files, and that one network cannot take all with
 * connections whose user is not known: those without a request, before the check of the credential, and between two requests.
 */
@Injectable()
export class SocketLimits {
  private open = 0;
  /** Sockets whose user is not known, with their network. */
  private readonly unknown = new Map<Socket, string>();
  private readonly byNetwork = new Map<string, number>();
  private readonly maxOpen: number;
  private readonly maxPerNetwork: number;
  private readonly hardLimit: number;

  constructor(
    private readonly credentials: CredentialChecker,
    @Inject(NOTIFICATIONS_OPTIONS) { stream }: NotificationsOptions,
  ) {
    this.maxOpen = clientsWithin(stream.openFiles);
    this.maxPerNetwork = stream.maxUnknownPerNetwork;
    this.hardLimit = Math.ceil(stream.openFiles * closedPart);
  }

  watch(server: Server): void {
    if (this.hardLimit !== Infinity) server.maxConnections = this.hardLimit;
    // One function for all sockets: a closure for each would cost memory.
    const remove = (socket: Socket): void => {
      this.open--;
      this.forget(socket);
    };
    function removeThis(this: Socket): void {
      remove(this);
    }
    server.on('connection', (socket: Socket) => {
      this.open++;
      this.release(socket);
      socket.once('close', removeThis);
      // They may never send a request that could be answered.
      if (this.countOf(socket) > 2 * this.maxPerNetwork) socket.destroy();
    });
  }

  /** @throws CodedError `overloaded`, `too-many-requests` unless the credentials were checked lately */
  check(socket: Socket, presented: PresentedCredentials): void {
    if (this.open > this.maxOpen) throw overloaded('This replica of the stream');
    if (this.countOf(socket) <= this.maxPerNetwork || this.credentials.findCached(presented)) return;
    throw new CodedError('too-many-requests', 'Your network has too many connections whose credentials are not checked yet. Try again.', { retryAfter: 1 });
  }

  /** Call when the user of the socket is known, and counted. */
  settle(socket: Socket): void {
    this.forget(socket);
  }

  /** Call when the socket waits for its next request. */
  release(socket: Socket): void {
    if (socket.destroyed || this.unknown.has(socket)) return;
    const network = networkOf(socket.remoteAddress ?? '');
    this.unknown.set(socket, network);
    this.byNetwork.set(network, (this.byNetwork.get(network) ?? 0) + 1);
  }

  private forget(socket: Socket): void {
    const network = this.unknown.get(socket);
    if (network === undefined) return;
    this.unknown.delete(socket);
    const left = (this.byNetwork.get(network) ?? 1) - 1;
    if (left > 0) this.byNetwork.set(network, left);
    else this.byNetwork.delete(network);
  }

  /** The number of sockets of the same network whose users are not known; 0 if this one's is. */
  private countOf(socket: Socket): number {
    const network = this.unknown.get(socket);
    return network === undefined ? 0 : (this.byNetwork.get(network) ?? 0);
  }
}
